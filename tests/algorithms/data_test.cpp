// Every entry run on real data in random interleavings, by an interpreter that shares no code with the verifier.
#include "every.hpp"
#include "toric/check/interpreter.hpp"

namespace toric {
namespace {

constexpr std::uint32_t interleavings = 2;  // each at capacity 0 and 1, with input and output apart and in place

void expect_right(const Algorithm& algorithm, const Request& request) {
  const Result<Schedule> schedule = build_schedule(algorithm, request);
  ASSERT_TRUE(schedule.ok()) << schedule.status().text();
  const Interpretation run = interpret_all(*schedule, 1, interleavings);
  EXPECT_TRUE(run.ok()) << test::label(algorithm, request) << ": " << name_of(run.outcome) << ": " << run.text;
}

TEST(Data, EveryEntryGivesTheRightResult) {
  test::for_each_offer([](const Algorithm& algorithm, Collective collective) {
    for (Rank ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 17})
      for (Rank root : test::roots_of(collective, ranks))
        for (std::uint32_t pieces : {1u, 4u}) expect_right(algorithm, test::request_for(collective, ranks, root, pieces));
  });
}

TEST(Data, AWrongScheduleIsNoticed) {
  Schedule schedule = *build_schedule(*find_algorithm("ring"), test::request_for(Collective::all_reduce, 3));
  for (Step& step : schedule.programs[1].steps) {
    if (step.op != Op::recv_reduce) continue;
    step.op = Op::recv;  // drops rank 1's own contribution
    break;
  }
  EXPECT_EQ(interpret_all(schedule, 1, interleavings).outcome, Outcome::wrong) << "if this is right, the test above proves nothing";
}

}  // namespace
}  // namespace toric
