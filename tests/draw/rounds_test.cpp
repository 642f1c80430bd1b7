#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "toric/algorithms/registry.hpp"
#include "toric/draw/draw_rounds.hpp"
#include "toric/draw/message_rounds.hpp"
#include "toric/ir/builder.hpp"
#include "toric/topology/grid_shape.hpp"

#include "topology/hand_made.hpp"
#include "topology/picture.hpp"

namespace toric {
namespace {

using test::Picture;

Schedule built(std::string_view algorithm, Rank ranks, const Topology* topology = nullptr, const Shape* shape = nullptr) {
  Request request;
  request.ranks = ranks;
  request.topology = topology;
  request.shape = shape;
  const Algorithm* found = find_algorithm(algorithm);
  EXPECT_NE(found, nullptr) << algorithm;
  Result<Schedule> schedule = build_schedule(*found, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return *schedule;
}

std::map<int, int> messages_by_round(const MessageRounds& all) {
  std::map<int, int> count;
  for (const Message& message : all.messages) ++count[message.round];
  return count;
}

TEST(MessageRounds, AChain) {
  Builder b({.what = Collective::broadcast, .ranks = 4, .root = 0, .place = {}});
  b.send(0, 1, 0);
  b.send(1, 2, 0);
  b.send(2, 3, 0);
  const Result<Schedule> schedule = b.finish();
  ASSERT_TRUE(schedule.ok());
  const MessageRounds all = message_rounds(*schedule);
  ASSERT_EQ(all.messages.size(), 3U);
  EXPECT_EQ(all.rounds, 3);
  EXPECT_EQ(all.unplaced, 0U);
  for (int i = 0; i < 3; ++i) {
    const Message& message = all.messages[static_cast<std::size_t>(i)];
    EXPECT_EQ(message.from, i);
    EXPECT_EQ(message.to, i + 1);
    EXPECT_EQ(message.round, i + 1);
    EXPECT_EQ(message.first, 0U);
    EXPECT_EQ(message.count, 1U);
    EXPECT_FALSE(message.reduces);
  }
}

TEST(MessageRounds, StepsOfOneLaneComeOneAfterTheOtherAndThoseOfSeveralTogether) {
  for (const bool apart : {false, true}) {
    Builder b({.what = Collective::broadcast, .ranks = 3, .root = 0, .place = {}});
    b.send(0, 1, 0);
    if (apart) b.channel(1);
    b.send(0, 2, 0);
    const Result<Schedule> schedule = b.finish();
    ASSERT_TRUE(schedule.ok());
    EXPECT_EQ(message_rounds(*schedule).rounds, apart ? 1 : 2);
  }
}

TEST(MessageRounds, ALocalStepPassesTheOrderOn) {
  // Rank 1 receives, copies, sends on: the send has no dependency on the receive but through the copy.
  Schedule schedule;
  schedule.what = Collective::broadcast;
  schedule.ranks = 3;
  schedule.root = 0;
  schedule.chunks = 1;
  schedule.scratch_chunks = 1;
  schedule.programs.resize(3);
  schedule.programs[0].steps = {{Op::send, Buf::input, Buf::input, 0, 0, 0, 1, 0, 0, 1, 0, 0}};
  schedule.programs[1].steps = {{Op::recv, Buf::input, Buf::scratch, 0, 1, 0, 0, 0, 0, 1, 0, 0},
                                {Op::copy, Buf::scratch, Buf::output, 0, 2, 0, -1, 0, 0, 1, 0, 1},
                                {Op::send, Buf::output, Buf::input, 0, 0, 0, 2, 0, 0, 1, 1, 1}};
  schedule.programs[1].deps = {{0}, {1}};
  schedule.programs[2].steps = {{Op::recv, Buf::input, Buf::output, 0, 1, 0, 1, 0, 0, 1, 0, 0}};
  ASSERT_TRUE(check_structure(schedule).ok()) << check_structure(schedule).text();
  const std::map<int, int> expected = {{1, 1}, {2, 1}};
  EXPECT_EQ(messages_by_round(message_rounds(schedule)), expected);
}

TEST(MessageRounds, ARingHasTwiceOneLessThanItsRanks) {
  const MessageRounds all = message_rounds(built("ring", 8));
  EXPECT_EQ(all.rounds, 14);
  for (const auto& [round, count] : messages_by_round(all)) EXPECT_EQ(count, 8) << round;
  for (const Message& message : all.messages) {
    EXPECT_EQ(message.to, (message.from + 1) % 8);
    EXPECT_EQ(message.reduces, message.round <= 7);
  }
}

TEST(MessageRounds, RecursiveDoublingMeetsThePartnerAtTwiceTheDistance) {
  const MessageRounds all = message_rounds(built("recursive_doubling", 8));
  EXPECT_EQ(all.rounds, 3);
  ASSERT_EQ(all.messages.size(), 24U);
  for (const Message& message : all.messages) EXPECT_EQ(message.from ^ message.to, 1 << (message.round - 1));
}

TEST(MessageRounds, WhatHasNoPartnerOrWaitsForEverIsCounted) {
  Schedule schedule = built("ring", 4);
  // Rank 2 does nothing. Rank 3 sends its own chunk to 0, and 0 its own and that one to 1; the rest waits for rank 2.
  schedule.programs[2] = {};
  const MessageRounds all = message_rounds(schedule);
  ASSERT_EQ(all.messages.size(), 3U);
  const std::map<int, int> expected = {{1, 2}, {2, 1}};
  EXPECT_EQ(messages_by_round(all), expected);
  EXPECT_EQ(all.unplaced, 3U * 12U - 2U * 3U);
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  EXPECT_TRUE(Picture(draw_rounds(schedule, topology, test::flat_shape(8), 1)).says("30 sends and receives have no partner"));
  schedule.programs.pop_back();
  EXPECT_TRUE(message_rounds(schedule).messages.empty()) << "not well formed";
}

/// The same by another way: rounds are raised until nothing asks for more.
std::map<int, int> rounds_by_raising(const Schedule& schedule) {
  struct End {
    Rank rank;
    std::size_t step;
  };
  std::map<std::tuple<Rank, Rank, int>, std::vector<End>> sends, receives;
  std::vector<std::vector<int>> round;
  for (Rank rank = 0; rank < schedule.ranks; ++rank) {
    const std::vector<Step>& steps = schedule.programs[static_cast<std::size_t>(rank)].steps;
    round.emplace_back(steps.size(), 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (is_send(steps[i].op)) sends[{rank, steps[i].peer, steps[i].channel}].push_back({rank, i});
      if (is_receive(steps[i].op)) receives[{steps[i].peer, rank, steps[i].channel}].push_back({rank, i});
    }
  }
  const auto at = [&](const End& end) -> int& { return round[static_cast<std::size_t>(end.rank)][end.step]; };
  const auto before = [&](const End& end) {
    const Program& program = schedule.programs[static_cast<std::size_t>(end.rank)];
    int most = 0;
    for (std::size_t i = 0; i < end.step; ++i)
      if (program.steps[i].lane == program.steps[end.step].lane) most = std::max(most, at({end.rank, i}));
    for (const Dep& dep : program.deps_of(program.steps[end.step])) most = std::max(most, at({end.rank, dep.step}));
    return most;
  };
  std::map<int, int> count;
  for (bool again = true; again;) {
    again = false;
    count.clear();
    for (const auto& [port, ends] : sends)
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const End other = receives.at(port).at(i);
        const int wanted = std::max(before(ends[i]), before(other)) + 1;
        again = again || at(ends[i]) != wanted;
        at(ends[i]) = at(other) = wanted;
        ++count[wanted];
      }
    for (Rank rank = 0; rank < schedule.ranks; ++rank)
      for (std::size_t i = 0; i < round[static_cast<std::size_t>(rank)].size(); ++i)
        if (is_local(schedule.programs[static_cast<std::size_t>(rank)].steps[i].op) && at({rank, i}) != before({rank, i})) {
          at({rank, i}) = before({rank, i});
          again = true;
        }
  }
  return count;
}

TEST(MessageRounds, AgreeWithRaisingForEveryAlgorithm) {
  int seen = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : algorithm.collectives)
      for (const Rank ranks : {3, 4, 7, 8}) {
        Request request;
        request.collective = collective;
        request.ranks = ranks;
        request.root = is_rooted(collective) ? ranks - 1 : -1;
        request.pieces = 2;
        if (!algorithm.fits(request)) continue;
        const Result<Schedule> schedule = build_schedule(algorithm, request);
        ASSERT_TRUE(schedule.ok()) << algorithm.name;
        EXPECT_EQ(messages_by_round(message_rounds(*schedule)), rounds_by_raising(*schedule)) << algorithm.name << " " << ranks;
        ++seen;
      }
  EXPECT_GT(seen, 30);
}

TEST(DrawRounds, AnArrowForEachMessageOfTheRound) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const Schedule schedule = built("ring", 8);
  for (const int round : {1, 14}) {
    const Picture picture(draw_rounds(schedule, topology, test::flat_shape(8), round));
    picture.expect_tidy();
    std::set<std::pair<int, int>> arrows;
    for (const pugi::xml_node& group : picture.groups("message"))
      arrows.emplace(group.attribute("data-from").as_int(), group.attribute("data-to").as_int());
    const std::set<std::pair<int, int>> expected = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 0}};
    EXPECT_EQ(arrows, expected);
    EXPECT_TRUE(picture.says("round " + std::to_string(round) + " of 14: 8 messages"));
  }
}

TEST(DrawRounds, ARoundThatIsNotThereIsSaid) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  for (const int round : {0, 15, -1}) {
    const Picture picture(draw_rounds(built("ring", 8), topology, test::flat_shape(8), round));
    EXPECT_TRUE(picture.groups("message").empty());
    EXPECT_TRUE(picture.says("there is no round " + std::to_string(round)));
  }
}

/// A message between neighbours of a grid starts at the border of one cell and its head ends at the border of the other.
TEST(DrawRounds, ArrowsOfATorusLieOnItsLinks) {
  const Shape shape = torus_shape({4, 4});
  const Topology topology = test::chips_in(shape);
  const Picture picture(draw_rounds(built("torus", 16, &topology, &shape), topology, shape, 1));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("message").size(), 64U) << "each chip to its four neighbours";
  std::map<std::string, std::string> colours;  // of each channel
  for (const pugi::xml_node& group : picture.groups("message")) {
    const int from = group.attribute("data-from").as_int(), to = group.attribute("data-to").as_int();
    const std::string colour = group.child("path").attribute("stroke").value();
    EXPECT_EQ(colours.try_emplace(group.attribute("data-channel").value(), colour).first->second, colour);
    if (to != from + 1) continue;
    const std::vector<double> line = test::numbers_in(group.child("path").attribute("d").value());
    const std::vector<double> head = test::numbers_in(group.child("polygon").attribute("points").value());
    EXPECT_NEAR(line[0], picture.node_box(from + 1).right, 0.01);
    EXPECT_NEAR(head[0], picture.node_box(to + 1).left, 0.01);
    EXPECT_GT(head[0], head[2]) << "the tip is ahead of the other corners";
  }
  EXPECT_EQ(colours.size(), 4U);
  std::set<std::string> different;
  for (const auto& [channel, colour] : colours) different.insert(colour);
  EXPECT_EQ(different.size(), 4U);
  std::set<std::string> explained;
  for (const pugi::xml_node& entry : picture.groups("legend")) {
    explained.insert(entry.child("path").attribute("stroke").value());
    EXPECT_STREQ(entry.child("polygon").attribute("fill").value(), entry.child("path").attribute("stroke").value());
  }
  EXPECT_EQ(explained, different);
}

TEST(DrawRounds, ThreeDimensions) {
  const Shape shape = torus_shape({4, 4, 4});
  const Topology topology = test::chips_in(shape);
  const Picture picture(draw_rounds(built("torus", 64, &topology, &shape), topology, shape, 1));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("message").size(), 6U * 64U);
}

TEST(DrawRounds, MessagesOfHostsThatAreLeftOutAreCounted) {
  Topology topology;
  for (int host = 0; host < 6; ++host) test::add_big_host(topology, "host " + std::to_string(host));
  topology.rank_everything();
  const Picture picture(draw_rounds(built("ring", 48), topology, test::flat_shape(48), 1));
  picture.expect_tidy();
  const std::size_t drawn = picture.groups("message").size();
  EXPECT_GT(drawn, 0U);
  EXPECT_TRUE(picture.says(std::to_string(48 - drawn) + " messages of this round are not drawn"));
}

TEST(DrawRounds, MoreRanksThanTheTopologyHasIsNoCrash) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const Picture picture(draw_rounds(built("ring", 12), topology, test::flat_shape(8), 1));
  EXPECT_EQ(picture.groups("message").size(), 7U);
  Picture(draw_rounds(built("ring", 12), Topology(), Shape(), 1)).expect_tidy();
}

TEST(DrawRounds, TheSamePictureEveryTime) {
  const Shape shape = torus_shape({4, 2});
  const Topology topology = test::chips_in(shape);
  const Schedule schedule = built("torus", 8, &topology, &shape);
  EXPECT_EQ(draw_rounds(schedule, topology, shape, 2), draw_rounds(schedule, topology, shape, 2));
}

}  // namespace
}  // namespace toric
