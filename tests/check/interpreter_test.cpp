#include "toric/check/interpreter.hpp"

#include "schedules.hpp"

#include <map>

namespace toric {
namespace {

void expect_right(const Schedule& schedule, const std::string& name, std::uint32_t runs = 20) {
  const Interpretation run = interpret_all(schedule, 7, runs);
  EXPECT_TRUE(run.ok()) << name << ": " << name_of(run.outcome) << ": " << run.text;
}

TEST(Interpreter, RunsEachCollective) {
  for (Rank ranks = 1; ranks <= 6; ++ranks) {
    const std::string of = " of " + std::to_string(ranks);
    expect_right(test::ring_all_reduce(ranks), "ring all_reduce" + of);
    expect_right(test::ring_all_gather(ranks), "ring all_gather" + of);
    expect_right(test::ring_reduce_scatter(ranks), "ring reduce_scatter" + of);
    expect_right(test::one_shot(ranks), "one-shot" + of);
    expect_right(test::dissemination_barrier(ranks), "dissemination" + of);
    for (const Rank root : {0, ranks - 1}) {
      expect_right(test::chain_broadcast(ranks, root, 3), "chain broadcast" + of);
      expect_right(test::star_reduce(ranks, root), "star reduce" + of);
      expect_right(test::star_gather(ranks, root), "star gather" + of);
      expect_right(test::star_scatter(ranks, root), "star scatter" + of);
    }
  }
  expect_right(test::recursive_doubling(8, 2), "recursive doubling");
  expect_right(test::dissemination_barrier(70), "a barrier of more ranks than a word has bits", 2);
}

TEST(Interpreter, RankOrder) {
  EXPECT_TRUE(interpret_all(test::one_shot(4), 1, 50, true).ok()) << interpret_all(test::one_shot(4), 1, 50, true).text;
  EXPECT_EQ(interpret_all(test::ring_all_reduce(4), 1, 1, true).outcome, Outcome::wrong);
}

TEST(Interpreter, SameSeedSameOutcome) {
  // Without its dependency the copy overwrites, in place, what the send may still have to read.
  Schedule schedule = test::recursive_doubling(2);
  for (Program& program : schedule.programs) program.steps.back().dep_count = 0;
  std::map<Outcome, int> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const InterpretOptions options{.in_place = true, .keep_rank_order = false, .capacity = 0, .seed = seed};
    const Interpretation first = interpret(schedule, options), second = interpret(schedule, options);
    EXPECT_EQ(first.outcome, second.outcome);
    EXPECT_EQ(first.text, second.text);
    ++seen[first.outcome];
  }
  EXPECT_GT(seen[Outcome::ok], 0);
  EXPECT_GT(seen[Outcome::wrong], 0);
}

TEST(Interpreter, CapacityDecidesDeadlock) {
  const std::string program_of[] = {
      "rank 0\n 0: copy in[0] -> out[0] lane 0\n 1: send in[0] to 1 channel 0 lane 0\n 2: recv -> out[1] from 1 channel 0 lane 0\n",
      "rank 1\n 0: copy in[1] -> out[1] lane 0\n 1: send in[1] to 0 channel 0 lane 0\n 2: recv -> out[0] from 0 channel 0 lane 0\n"};
  const Schedule schedule =
      test::parsed("toric schedule 1\nall_gather ranks 2 chunks 2 scratch 0 fifo 0 channels 0 lanes 0\n" + program_of[0] + program_of[1]);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(interpret(schedule, {.capacity = 0, .seed = seed}).outcome, Outcome::deadlock);
    EXPECT_EQ(interpret(schedule, {.capacity = 1, .seed = seed}).outcome, Outcome::ok);
  }
}

}  // namespace
}  // namespace toric
