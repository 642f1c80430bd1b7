#include "regimes.hpp"

#include <gtest/gtest.h>

namespace toric::compare {
namespace {

std::vector<double> around(double centre, int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(centre * (0.9 + 0.2 * i / n));
  return values;
}

TEST(Split, LiesBetweenTwoGroups) {
  std::vector<double> probes = around(6, 40);
  for (const double far : around(22, 25)) probes.push_back(far);
  const double split = find_split(probes, 5.0);
  EXPECT_GT(split, 9);
  EXPECT_LT(split, 15);
}

TEST(Split, FindsARareRegime) {
  std::vector<double> probes = around(22, 95);
  for (const double near : around(6, 5)) probes.push_back(near);
  const double split = find_split(probes, 100.0);
  EXPECT_GT(split, 8);
  EXPECT_LT(split, 16);
}

TEST(Split, OneGroupOrTooFewProbesKeepTheFallback) {
  EXPECT_EQ(find_split(around(6, 50), 12), 12);
  EXPECT_EQ(find_split(around(22, 50), 12), 12);
  // A machine between the two regimes the fallback was measured on still has only one: no block is in doubt.
  EXPECT_EQ(regime_of(11.5, find_split(around(11.5, 50), 12)), Regime::near);
  EXPECT_EQ(regime_of(12.5, find_split(around(12.5, 50), 12)), Regime::far);
  EXPECT_EQ(find_split({}, 12), 12);
  EXPECT_EQ(find_split({6, 22}, 12), 12);
}

TEST(Split, ALoneOutlierIsNoRegime) {
  std::vector<double> probes = around(6, 100);
  probes.push_back(400);
  EXPECT_EQ(find_split(probes, 12), 12);
}

TEST(Split, PreemptedProbesAreNoRegime) {
  std::vector<double> probes = around(7, 40);
  for (const double preempted : around(4000, 30)) probes.push_back(preempted);
  EXPECT_EQ(find_split(probes, 12), 12);
  EXPECT_EQ(regime_of(4000, 12), std::nullopt);
  EXPECT_EQ(regime_of(45, 12), Regime::far);
}

TEST(RegimeOf, ProbeAndBlock) {
  EXPECT_EQ(regime_of(6, 12), Regime::near);
  EXPECT_EQ(regime_of(22, 12), Regime::far);
  EXPECT_EQ(regime_of(12.5, 12), std::nullopt);
  EXPECT_EQ(regime_of(11.5, 12), std::nullopt);
  EXPECT_EQ(regime_of(Block{0, 1, 1, 6, 7}, 12), Regime::near);
  EXPECT_EQ(regime_of(Block{0, 1, 1, 22, 21}, 12), Regime::far);
  EXPECT_EQ(regime_of(Block{0, 1, 1, 6, 22}, 12), std::nullopt);
  EXPECT_EQ(regime_of(Block{0, 1, 1, 22, 6}, 12), std::nullopt);
  EXPECT_EQ(regime_of(Block{0, 1, 1, 12, 12}, 12), std::nullopt);
}

TEST(Quantile, Interpolates) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
  const Spread spread = spread_of({5, 4, 3, 2, 1});
  EXPECT_DOUBLE_EQ(spread.low, 2);
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.high, 4);
}

TEST(Summarise, KeepsRegimesApartAndDropsMixedBlocks) {
  const std::vector<std::uint64_t> sizes = {4, 1024};
  const std::vector<Block> blocks = {
      {0, 1, 3, 6, 6}, {0, 2, 4, 6, 6}, {0, 3, 5, 6, 6}, {0, 100, 100, 6, 22}, {1, 10, 5, 6, 6}, {0, 8, 16, 22, 22},
  };
  const RegimeResult near = summarise(Regime::near, sizes, blocks, 12);
  ASSERT_EQ(near.sizes.size(), 2u);
  EXPECT_EQ(near.sizes[0].blocks, 3u);
  EXPECT_DOUBLE_EQ(near.sizes[0].ours.median, 2);
  EXPECT_DOUBLE_EQ(near.sizes[0].peer.median, 4);
  EXPECT_DOUBLE_EQ(near.sizes[0].ratio, 2);
  EXPECT_DOUBLE_EQ(near.sizes[1].ratio, 0.5);
  EXPECT_DOUBLE_EQ(near.geometric_mean(), 1);
  EXPECT_EQ(near.worst().bytes, 1024u);
  EXPECT_EQ(near.fewest_blocks(), 1u);
  const RegimeResult far = summarise(Regime::far, sizes, blocks, 12);
  EXPECT_TRUE(far.seen());
  EXPECT_EQ(far.fewest_blocks(), 0u);
  EXPECT_FALSE(summarise(Regime::far, sizes, {blocks[0]}, 12).seen());
}

TEST(NextSize, TakesTheOneThatLacksBlocksInThisRegime) {
  const std::vector<Block> blocks = {{0, 1, 1, 6, 6}, {1, 1, 1, 6, 6}, {2, 1, 1, 22, 22}};
  EXPECT_EQ(next_size(Regime::near, 3, 0, blocks, 12), 2u);
  EXPECT_EQ(next_size(Regime::far, 3, 1, blocks, 12), 0u);
  EXPECT_EQ(next_size(Regime::far, 3, 0, blocks, 12), 1u);
  EXPECT_EQ(next_size(Regime::near, 3, 1, {}, 12), 2u);
}

TEST(Complete, WantsEverySizeInEverySeenRegime) {
  const std::vector<std::uint64_t> sizes = {4, 8};
  std::vector<Block> blocks;
  EXPECT_FALSE(complete(sizes, blocks, 12, 1));
  blocks.push_back({0, 1, 1, 6, 6});
  EXPECT_FALSE(complete(sizes, blocks, 12, 1));
  blocks.push_back({1, 1, 1, 6, 6});
  EXPECT_TRUE(complete(sizes, blocks, 12, 1));
  EXPECT_FALSE(complete(sizes, blocks, 12, 2));
  blocks.push_back({1, 1, 1, 22, 22});
  EXPECT_FALSE(complete(sizes, blocks, 12, 1));
  blocks.push_back({0, 1, 1, 22, 22});
  EXPECT_TRUE(complete(sizes, blocks, 12, 1));
}

}  // namespace
}  // namespace toric::compare
