// Formulas and roundings of nccl-tests, with numbers worked out by hand.
#include "measure.hpp"

#include <gtest/gtest.h>

namespace toric::perf {
namespace {

TEST(Bandwidth, FactorsOfNcclTests) {
  // 1e6 floats in 1 ms: 4 GB/s; all-reduce on 4 ranks: 2*3/4.
  EXPECT_DOUBLE_EQ(bandwidth(Collective::all_reduce, 1'000'000, 4, 4, 1e-3).algorithm, 4.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::all_reduce, 1'000'000, 4, 4, 1e-3).bus, 6.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::all_gather, 250'000, 4, 4, 1e-3).algorithm, 4.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::all_gather, 250'000, 4, 4, 1e-3).bus, 3.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::reduce_scatter, 250'000, 4, 4, 1e-3).bus, 3.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::broadcast, 1'000'000, 4, 4, 1e-3).bus, 4.0);
  EXPECT_DOUBLE_EQ(bandwidth(Collective::all_reduce, 1'000'000, 4, 1, 1e-3).bus, 0.0);
}

TEST(RowShape, SharesGoDownToSixteenBytes) {
  EXPECT_EQ(row_shape(Collective::all_reduce, DataType::float32, 3, 1023).count, 255U);
  const RowShape gather = row_shape(Collective::all_gather, DataType::float32, 3, 1024);  // 256 / 3 = 85 -> 84
  EXPECT_EQ(gather.count, 84U);
  EXPECT_EQ(gather.size, 84U * 3 * 4);
  EXPECT_EQ(row_shape(Collective::reduce_scatter, DataType::float64, 8, 64).count, 0U);
  EXPECT_EQ(row_shape(Collective::all_gather, DataType::int8, 2, 100).count, 48U);
}

TEST(Statistics, OfKnownSamples) {
  std::vector<double> us;
  for (int i = 1; i <= 100; ++i) us.push_back(101 - i);
  const IterationStatistics s = statistics(us);
  EXPECT_DOUBLE_EQ(s.min_us, 1);
  EXPECT_DOUBLE_EQ(s.max_us, 100);
  EXPECT_DOUBLE_EQ(s.p50_us, 50);
  EXPECT_DOUBLE_EQ(s.p99_us, 99);
  EXPECT_NEAR(s.cv_percent, 57.16, 0.01);  // sqrt((100^2 - 1) / 12) / 50.5
}

}  // namespace
}  // namespace toric::perf
