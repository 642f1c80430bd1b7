// The algorithm that the README shows as an example is right, costs what it says, and needs nothing but its own file.
#include <gtest/gtest.h>

#include "toric/algorithms/registry.hpp"
#include "toric/check/verifier.hpp"

namespace toric {
namespace entries {
Algorithm star();
}

namespace {

TEST(ReadmeAlgorithm, IsProvedAndCostsWhatItSays) {
  const Algorithm star = entries::star();
  EXPECT_TRUE(star.offers(Collective::all_reduce));
  for (Rank ranks = 1; ranks <= 16; ++ranks) {
    for (const std::uint32_t pieces : {1u, 4u}) {
      const Request request{.ranks = ranks, .bytes = 4096, .pieces = pieces};
      ASSERT_TRUE(star.fits(request));
      const Result<Schedule> schedule = build_schedule(star, request);
      ASSERT_TRUE(schedule.ok()) << ranks << " ranks: " << schedule.status().text();
      const Verdict verdict = verify_all(*schedule);
      EXPECT_TRUE(verdict.ok()) << ranks << " ranks, " << pieces << " pieces: " << verdict.text;
      if (pieces > 1) continue;
      const Result<WireCount> count = count_wire(*schedule);
      ASSERT_TRUE(count.ok()) << count.status().text();
      EXPECT_EQ(count->rounds, ranks == 1 ? 0u : 2u) << ranks << " ranks";
      EXPECT_DOUBLE_EQ(count->busiest_rank_out, ranks - 1.0) << ranks << " ranks";
      EXPECT_DOUBLE_EQ(star.cost(request).rounds, count->rounds);
      EXPECT_DOUBLE_EQ(star.cost(request).bytes, count->busiest_rank_out);
    }
  }
}

}  // namespace
}  // namespace toric
