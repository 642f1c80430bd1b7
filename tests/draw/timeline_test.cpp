#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "toric/draw/draw_timeline.hpp"
#include "toric/ir/builder.hpp"
#include "toric/simulate/simulator.hpp"

#include "topology/picture.hpp"

namespace toric {
namespace {

using test::Box;
using test::Picture;

/// Rank 0 sends chunk 0 to all others, one after the other.
Schedule fan(Rank ranks) {
  Builder b({.what = Collective::broadcast, .ranks = ranks, .root = 0, .place = {}});
  for (Rank rank = 1; rank < ranks; ++rank) b.send(0, rank, 0);
  Result<Schedule> schedule = b.finish();
  EXPECT_TRUE(schedule.ok());
  return *schedule;
}

/// The n-th message takes the n-th millisecond.
Simulation simulated(const Schedule& schedule) {
  Simulation simulation;
  for (Rank rank = 1; rank < schedule.ranks; ++rank) {
    const double begin = 1e-3 * (rank - 1), end = 1e-3 * rank;
    std::uint32_t send = 0;
    while (schedule.programs[0].steps[send].op != Op::send || schedule.programs[0].steps[send].peer != rank) ++send;
    simulation.timeline.push_back({0, send, begin, end});
    simulation.timeline.push_back({rank, 0, begin, end});
    simulation.seconds = end;
  }
  return simulation;
}

TEST(DrawTimeline, ABoxForEachTransferAtItsTime) {
  const Schedule schedule = fan(4);
  const Picture picture(draw_timeline(schedule, simulated(schedule)));
  picture.expect_tidy();
  const auto boxes = picture.groups("transfer");
  ASSERT_EQ(boxes.size(), 6U);
  double unit = 0;
  for (const pugi::xml_node& box : boxes) {
    const Box place = Picture::box_of(box.child("rect"));
    const double begin = box.attribute("data-begin").as_double(), end = box.attribute("data-end").as_double();
    if (unit == 0) unit = (place.right - place.left) / (end - begin);
    EXPECT_NEAR(place.left, begin * unit, 0.05);
    EXPECT_NEAR(place.right, end * unit, 0.05);
  }
  // Sends are in one row, the receives of three ranks in one each below.
  EXPECT_EQ(Picture::box_of(boxes[0].child("rect")).top, Picture::box_of(boxes[2].child("rect")).top);
  EXPECT_LT(Picture::box_of(boxes[2].child("rect")).bottom, Picture::box_of(boxes[3].child("rect")).top);
  EXPECT_LT(Picture::box_of(boxes[3].child("rect")).bottom, Picture::box_of(boxes[4].child("rect")).top);
}

TEST(DrawTimeline, LabelsNameOperationPeerAndChunks) {
  const Schedule schedule = fan(4);
  const Picture picture(draw_timeline(schedule, simulated(schedule)));
  EXPECT_TRUE(picture.says("send to 3, chunk 0"));
  EXPECT_TRUE(picture.says("recv from 0, chunk 0"));
  for (const char* row : {"rank 0", "rank 1", "rank 2", "rank 3", "lane 0", "lane 1"}) EXPECT_TRUE(picture.says(row)) << row;
}

TEST(DrawTimeline, TheAxisIsInRoundNumbers) {
  const Schedule schedule = fan(4);
  const Picture picture(draw_timeline(schedule, simulated(schedule)));
  // Three milliseconds in about ten: steps of 0.5.
  const auto ticks = picture.groups("tick");
  ASSERT_EQ(ticks.size(), 7U);
  const double zero = ticks.front().child("text").attribute("x").as_double(), end = ticks.back().child("text").attribute("x").as_double();
  const Box last = Picture::box_of(picture.groups("transfer").back().child("rect"));
  EXPECT_NEAR(last.right, end, 0.05) << "ends at 3 ms";
  EXPECT_NEAR(last.left, zero + (end - zero) * 2 / 3, 0.05) << "begins at 2 ms";
  EXPECT_GT(end - zero, 800);
  EXPECT_LT(end - zero, 1600) << "as wide as a screen";
  for (const char* text : {"0 ms", "0.5 ms", "1.5 ms", "3 ms"}) EXPECT_TRUE(picture.says(text)) << text;
  EXPECT_TRUE(picture.says("broadcast of 4 ranks: 3 ms"));
}

TEST(DrawTimeline, MicrosecondsWhereItIsShort) {
  const Schedule schedule = fan(2);
  Simulation simulation;
  simulation.seconds = 40e-6;
  simulation.timeline = {{0, 0, 0, 40e-6}, {1, 0, 0, 40e-6}};
  const Picture picture(draw_timeline(schedule, simulation));
  EXPECT_EQ(picture.groups("tick").size(), 9U) << "0, 5 to 40";
  EXPECT_TRUE(picture.says("35 us"));
}

TEST(DrawTimeline, RowsBeyondTheLimitAreCounted) {
  const Schedule schedule = fan(60);
  const Picture picture(draw_timeline(schedule, simulated(schedule)));
  picture.expect_tidy();
  EXPECT_TRUE(picture.says("48 of 60 rows are drawn: 12 lanes are left out"));
  EXPECT_EQ(picture.groups("transfer").size(), 59U + 47U) << "all sends of rank 0, the receives of ranks 1 to 47";
}

TEST(DrawTimeline, NothingAndNonsenseAreNoCrash) {
  const Schedule schedule = fan(3);
  EXPECT_TRUE(Picture(draw_timeline(schedule, Simulation())).says("no timeline was recorded"));
  Simulation simulation;
  simulation.timeline = {{7, 0, 0, 1}, {-1, 0, 0, 1}, {0, 99, 0, 1}, {1, 0, 0, std::nan("")}, {1, 0, std::nan(""), 1}, {1, 0, 0, 0}};
  const Picture picture(draw_timeline(schedule, simulation));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("transfer").size(), 1U) << "the one step that there is, of no time";
}

TEST(DrawTimeline, TheSamePictureEveryTime) {
  const Schedule schedule = fan(5);
  EXPECT_EQ(draw_timeline(schedule, simulated(schedule)), draw_timeline(schedule, simulated(schedule)));
}

}  // namespace
}  // namespace toric
