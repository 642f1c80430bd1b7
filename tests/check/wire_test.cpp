// Counts against the formulas of the literature.
#include "schedules.hpp"
#include "toric/check/verifier.hpp"

namespace toric {
namespace {

void expect_wire(const Schedule& schedule, std::uint32_t rounds, double out, double in, std::uint64_t messages) {
  const Result<WireCount> count = count_wire(schedule);
  ASSERT_TRUE(count.ok()) << count.status().text();
  EXPECT_EQ(count->rounds, rounds);
  EXPECT_DOUBLE_EQ(count->busiest_rank_out, out);
  EXPECT_DOUBLE_EQ(count->busiest_rank_in, in);
  EXPECT_EQ(count->messages, messages);
}

TEST(Wire, Ring) {
  for (const Rank p : {2, 3, 4, 7, 16}) {
    const auto n = static_cast<std::uint32_t>(p);
    expect_wire(test::ring_all_reduce(p), 2 * (n - 1), 2.0 * (p - 1) / p, 2.0 * (p - 1) / p, 2ull * n * (n - 1));
    expect_wire(test::ring_all_gather(p), n - 1, 1.0 * (p - 1) / p, 1.0 * (p - 1) / p, 1ull * n * (n - 1));
    expect_wire(test::ring_reduce_scatter(p), n - 1, 1.0 * (p - 1) / p, 1.0 * (p - 1) / p, 1ull * n * (n - 1));
  }
  expect_wire(test::ring_all_reduce(1), 0, 0, 0, 0);
}

// Four rings at once are no longer a chain than one.
TEST(Wire, PiecesRunSideBySide) { expect_wire(test::ring_all_reduce(4, 4), 6, 1.5, 1.5, 4 * 24); }

TEST(Wire, TreesAndStars) {
  expect_wire(test::recursive_doubling(8), 3, 3, 3, 24);
  expect_wire(test::one_shot(4), 1, 3, 3, 12);
  expect_wire(test::chain_broadcast(5, 2, 3), 4, 1, 1, 4);
  expect_wire(test::star_reduce(6, 1), 1, 1, 5, 5);
  expect_wire(test::dissemination_barrier(5), 3, 3, 3, 15);
}

// Messages one behind the other on one lane need nothing of each other: one round, however many.
TEST(Wire, LaneOrderMakesNoRound) {
  Builder builder = test::builder_for(Collective::broadcast, 2, 5, 0);
  for (int chunk = 0; chunk < 5; ++chunk) builder.send(0, 1, chunk);
  expect_wire(test::finished(std::move(builder)), 1, 1, 1, 5);
}

TEST(Wire, AFaultyScheduleIsNotCounted) {
  Schedule schedule = test::ring_all_gather(3);
  schedule.programs[2].steps.pop_back();
  const Result<WireCount> count = count_wire(schedule);
  ASSERT_FALSE(count.ok());
  EXPECT_NE(count.status().text().find("pairing"), std::string_view::npos) << count.status().text();
}

}  // namespace
}  // namespace toric
