// What the verifier must accept, and how fast. What it must refuse is on the shelf.
#include "toric/check/verifier.hpp"
#include "schedules.hpp"
#include "toric/check/interpreter.hpp"

#include <chrono>
#include <cstdio>

namespace toric {
namespace {

void expect_accepted(const Schedule& schedule, const std::string& name) {
  const Verdict verdict = verify_all(schedule);
  EXPECT_TRUE(verdict.ok()) << name << ": " << name_of(verdict.fault) << ": " << verdict.text;
}

TEST(Verifier, AcceptsEachCollective) {
  for (Rank ranks = 1; ranks <= 9; ++ranks) {
    const std::string of = " of " + std::to_string(ranks);
    expect_accepted(test::ring_all_reduce(ranks), "ring all_reduce" + of);
    expect_accepted(test::ring_all_reduce(ranks, 3), "ring all_reduce in 3 pieces" + of);
    expect_accepted(test::ring_all_gather(ranks), "ring all_gather" + of);
    expect_accepted(test::ring_reduce_scatter(ranks), "ring reduce_scatter" + of);
    expect_accepted(test::one_shot(ranks), "one-shot" + of);
    expect_accepted(test::dissemination_barrier(ranks), "dissemination" + of);
    for (Rank root = 0; root < ranks; ++root) {
      expect_accepted(test::chain_broadcast(ranks, root, 3), "chain broadcast" + of);
      expect_accepted(test::star_reduce(ranks, root), "star reduce" + of);
      expect_accepted(test::star_gather(ranks, root), "star gather" + of);
      expect_accepted(test::star_scatter(ranks, root), "star scatter" + of);
    }
  }
  for (Rank ranks = 1; ranks <= 32; ranks *= 2) expect_accepted(test::recursive_doubling(ranks, 2), "recursive doubling");
}

TEST(Verifier, RankOrderIsKeptByOneShotOnly) {
  EXPECT_TRUE(verify_all(test::one_shot(5), true).ok()) << verify_all(test::one_shot(5), true).text;
  EXPECT_EQ(verify_all(test::ring_all_reduce(5), true).fault, Fault::rank_order);
}

TEST(Verifier, ManyRanksFitNoSingleWord) {
  expect_accepted(test::ring_reduce_scatter(130), "ring reduce_scatter of 130");
  Schedule schedule = test::star_reduce(130, 0);
  schedule.programs[0].steps.pop_back();
  EXPECT_EQ(verify_all(schedule).fault, Fault::pairing);
}

TEST(Verifier, StructureIsCheckedFirst) {
  Schedule schedule = test::ring_all_reduce(3);
  schedule.programs[1].steps[0].count = 0;
  EXPECT_EQ(verify(schedule).fault, Fault::structure);
  schedule = test::ring_all_reduce(3);
  schedule.programs.pop_back();
  EXPECT_EQ(verify(schedule).fault, Fault::structure);
  EXPECT_EQ(verify(Schedule{}).fault, Fault::structure);
}

// In place, rank 1's receive overwrites what its send reads, and is behind it only because rank 0 answers what it got. That
// happens to be right, and is refused all the same: order on a rank counts through its own lanes and dependencies only.
TEST(Verifier, OrderThroughAnotherRankDoesNotCount) {
  const std::string text =
      "toric schedule 1\nall_reduce ranks 2 chunks 1 scratch 0 fifo 0 channels 0 lanes 0\n"
      "rank 0\n 0: recv_reduce in[0] -> out[0] from 1 channel 0 lane 1\n 1: send out[0] to 1 channel 0 lane 0 after 0\n"
      "rank 1\n 0: send in[0] to 0 channel 0 lane 0\n 1: recv -> out[0] from 0 channel 0 lane 1";
  const Schedule without = test::parsed(text + "\n"), with = test::parsed(text + " after 0\n");
  EXPECT_EQ(verify(without, {.in_place = true}).fault, Fault::race);
  EXPECT_EQ(verify(without, {.in_place = false}).fault, Fault::none);
  EXPECT_TRUE(interpret_all(without, 1, 100).ok());
  expect_accepted(with, "with the dependency");
}

TEST(Verifier, AllToAllIsNotDefinedYet) {
  Schedule schedule;
  schedule.what = Collective::all_to_all;
  schedule.ranks = 1;
  schedule.chunks = 1;
  schedule.programs.resize(1);
  const Verdict verdict = verify(schedule);
  EXPECT_EQ(verdict.fault, Fault::structure);
  EXPECT_NE(verdict.text.find("all_to_all"), std::string::npos);
}

TEST(Verifier, ALargeRingTakesMilliseconds) {
  const Schedule schedule = test::ring_all_reduce(64, 4);
  auto best = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(verify_all(schedule).ok());
    best = std::min(best, std::chrono::steady_clock::now() - begin);
  }
  const double milliseconds = std::chrono::duration<double, std::milli>(best).count();
  std::printf("both alias models of a ring of 64 ranks in 4 pieces: %.1f ms\n", milliseconds);
  EXPECT_LT(milliseconds, 1000) << "far more than the tens of milliseconds that verifying all algorithms relies on";
}

}  // namespace
}  // namespace toric
