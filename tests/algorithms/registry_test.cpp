// The registry itself, and build_schedule.
#include <set>

#include "every.hpp"

namespace toric {
namespace {

bool same(const Step& a, const Step& b) {
  return a.op == b.op && a.src_buf == b.src_buf && a.dst_buf == b.dst_buf && a.flags == b.flags && a.lane == b.lane &&
         a.channel == b.channel && a.peer == b.peer && a.src_first == b.src_first && a.dst_first == b.dst_first && a.count == b.count;
}

bool same(const Program& a, const Program& b) {
  if (a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const auto left = a.deps_of(a.steps[i]), right = b.deps_of(b.steps[i]);
    const bool same_deps = std::equal(left.begin(), left.end(), right.begin(), right.end(), [](Dep x, Dep y) { return x.step == y.step; });
    if (!same(a.steps[i], b.steps[i]) || !same_deps) return false;
  }
  return true;
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name << " is there twice";
    EXPECT_EQ(find_algorithm(algorithm.name), &algorithm);
    EXPECT_EQ(algorithm.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << algorithm.name;
    EXPECT_FALSE(algorithm.when.empty()) << algorithm.name;
    EXPECT_FALSE(algorithm.reference.empty()) << algorithm.name;
    EXPECT_FALSE(algorithm.collectives.empty()) << algorithm.name;
  }
  for (const char* name :
       {"ring", "bidirectional_ring", "direct", "two_shot", "binomial_tree", "recursive_doubling", "halving_doubling", "dissemination"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(find_algorithm("rings"), nullptr);
  EXPECT_EQ(find_algorithm(""), nullptr);
}

TEST(Registry, OffersWhatItLists) {
  const auto offers = [](const char* name, Collective collective) { return find_algorithm(name)->offers(collective); };
  EXPECT_TRUE(offers("ring", Collective::broadcast));
  EXPECT_FALSE(offers("ring", Collective::barrier));
  EXPECT_TRUE(offers("dissemination", Collective::barrier));
  EXPECT_FALSE(offers("dissemination", Collective::all_reduce));
  EXPECT_TRUE(offers("halving_doubling", Collective::reduce_scatter));
  EXPECT_FALSE(offers("halving_doubling", Collective::all_gather));
}

TEST(Registry, EveryCollectiveOfTheTrainingLoopIsServedForAnyRanks) {
  for (Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::barrier})
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
      int serving = 0;
      for (const Algorithm& algorithm : algorithms())
        serving += algorithm.offers(collective) && algorithm.fits(test::request_for(collective, ranks, 0)) ? 1 : 0;
      EXPECT_GT(serving, 0) << name_of(collective) << " on " << ranks << " ranks";
    }
}

TEST(Registry, ChunkCountsAreSane) {
  test::for_each_offer([](const Algorithm& algorithm, Collective collective) {
    for (Rank ranks = 1; ranks <= 64; ++ranks)
      for (std::uint32_t pieces : {1u, 4u}) {
        const Request request = test::request_for(collective, ranks, is_rooted(collective) ? 0 : -1, pieces);
        const std::uint32_t chunks = algorithm.chunks(request);
        EXPECT_GE(chunks, 1u) << test::label(algorithm, request);
        EXPECT_LE(chunks, 2u * static_cast<std::uint32_t>(ranks)) << test::label(algorithm, request);
        if (has_blocks(collective)) {
          EXPECT_EQ(chunks % static_cast<std::uint32_t>(ranks), 0u) << test::label(algorithm, request);
        }
      }
  });
}

// Each rank of a running communicator builds its own program alone: all must fit together.
TEST(Registry, OneRankAloneGetsItsProgramOfTheWhole) {
  test::for_each_offer([](const Algorithm& algorithm, Collective collective) {
    for (Rank ranks : {1, 2, 3, 4, 6, 7, 8, 13})
      for (Rank root : test::roots_of(collective, ranks))
        for (std::uint32_t pieces : {1u, 4u}) {
          const Request request = test::request_for(collective, ranks, root, pieces);
          const Result<Schedule> whole = build_schedule(algorithm, request);
          ASSERT_TRUE(whole.ok()) << whole.status().text();
          for (Rank rank = 0; rank < ranks; ++rank) {
            const Result<Schedule> alone = build_schedule(algorithm, request, rank);
            ASSERT_TRUE(alone.ok()) << alone.status().text();
            const auto at = static_cast<std::size_t>(rank);
            EXPECT_TRUE(same(alone->programs[at], whole->programs[at])) << test::label(algorithm, request) << " rank " << rank;
            EXPECT_EQ(alone->chunks, whole->chunks);
            EXPECT_EQ(alone->place, whole->place);
          }
        }
  });
}

void expect_refused(const char* name, const Request& request, std::string_view part, Rank only = -1) {
  const Result<Schedule> schedule = build_schedule(*find_algorithm(name), request, only);
  ASSERT_FALSE(schedule.ok()) << name << ": " << part;
  EXPECT_EQ(schedule.status().code(), Code::invalid_argument);
  EXPECT_NE(schedule.status().text().find(part), std::string_view::npos) << schedule.status().text();
}

TEST(Registry, BadRequestsAreRefusedWithTheReason) {
  expect_refused("ring", test::request_for(Collective::all_reduce, 0), "at least one rank");
  expect_refused("ring", test::request_for(Collective::broadcast, 4, 4), "root 4");
  expect_refused("ring", test::request_for(Collective::broadcast, 4), "root -1");
  expect_refused("ring", test::request_for(Collective::barrier, 4), "not offered");
  expect_refused("ring", test::request_for(Collective::all_reduce, 4, -1, 0), "0 pieces");
  expect_refused("ring", test::request_for(Collective::all_reduce, 4), "no rank 4", 4);
}

TEST(Registry, FitsSaysNoWhereLanesRunOut) {
  Request request = test::request_for(Collective::all_reduce, 4);
  request.max_lanes = 2;
  EXPECT_TRUE(find_algorithm("ring")->fits(request));
  EXPECT_FALSE(find_algorithm("two_shot")->fits(request));
  EXPECT_FALSE(find_algorithm("bidirectional_ring")->fits(request));
  expect_refused("two_shot", request, "lanes");
  request.pieces = 4;
  EXPECT_FALSE(find_algorithm("ring")->fits(request));
  expect_refused("ring", request, "4 pieces on 2 lanes");
}

// `fits` is a promise: what fits can be built within the lanes it was given.
TEST(Registry, WhatFitsIsBuiltWithinItsLanes) {
  test::for_each_offer([](const Algorithm& algorithm, Collective collective) {
    for (int max_lanes : {1, 2, 3, 4, 8, 16})
      for (std::uint32_t pieces : {1u, 2u, 4u}) {
        Request request = test::request_for(collective, 6, is_rooted(collective) ? 0 : -1, pieces);
        request.max_lanes = static_cast<std::uint16_t>(max_lanes);
        const Result<Schedule> schedule = build_schedule(algorithm, request);
        EXPECT_EQ(schedule.ok(), algorithm.fits(request)) << test::label(algorithm, request) << " lanes=" << max_lanes;
        if (!schedule.ok()) continue;
        for (const Program& program : schedule->programs)
          for (const Step& step : program.steps) EXPECT_LT(step.lane, max_lanes) << test::label(algorithm, request);
      }
  });
}

}  // namespace
}  // namespace toric
