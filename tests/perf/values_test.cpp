#include "values.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace toric::perf {
namespace {

constexpr RedOp ops[] = {RedOp::sum, RedOp::prod, RedOp::max, RedOp::min, RedOp::avg, RedOp::pre_mul_sum};

TEST(Encoding, KnownBits) {
  EXPECT_EQ(encode(DataType::float16, 1.0), 0x3C00U);
  EXPECT_EQ(encode(DataType::float16, -2.0), 0xC000U);
  EXPECT_EQ(encode(DataType::float16, 65504.0), 0x7BFFU);
  EXPECT_EQ(encode(DataType::bfloat16, 1.0), 0x3F80U);
  EXPECT_EQ(encode(DataType::float8e4m3, 1.0), 0x38U);
  EXPECT_EQ(encode(DataType::float8e4m3, 448.0), 0x7EU);
  EXPECT_EQ(encode(DataType::float8e5m2, 1.0), 0x3CU);
  EXPECT_EQ(encode(DataType::float8e5m2, -0.5), 0xB8U);
  EXPECT_EQ(encode(DataType::float16, std::ldexp(1.0, -24)), 1U);
  EXPECT_EQ(encode(DataType::int8, -3.0), 0xFDU);
}

TEST(Encoding, EveryEightBitValueRoundTrips) {
  for (const DataType type : {DataType::float8e4m3, DataType::float8e5m2})
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      const double value = decode(type, bits);
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(encode(type, value), bits) << name_of(type);
    }
}

// Exactness is what lets results be compared bit for bit: every partial sum in two orders must stay exact.
TEST(Inputs, PartialResultsAreExactInEveryType) {
  for (int t = 0; t < data_type_count; ++t)
    for (const RedOp op : ops)
      for (const Rank ranks : {1, 2, 3, 7, 8, 64, 200}) {
        const auto type = static_cast<DataType>(t);
        if (op == RedOp::avg || op == RedOp::max || op == RedOp::min) continue;
        for (std::uint64_t i = 0; i < 50; ++i)
          for (const bool backward : {false, true}) {
            double partial = op == RedOp::prod ? 1 : 0;
            for (Rank k = 0; k < ranks; ++k) {
              const Rank r = backward ? ranks - 1 - k : k;
              const double value = input_value(type, op, ranks, r, i) * (op == RedOp::pre_mul_sum ? pre_mul_factor(r) : 1);
              partial = op == RedOp::prod ? partial * value : partial + value;
              ASSERT_EQ(decode(type, encode(type, partial)), partial) << name_of(type) << " " << name_of(op) << " ranks " << ranks;
            }
            ASSERT_EQ(partial, reduced_value(type, op, ranks, i));
          }
      }
}

TEST(Inputs, DifferBetweenRanksAndElements) {
  int by_rank = 0, by_element = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    by_rank += input_value(DataType::float32, RedOp::sum, 4, 0, i) != input_value(DataType::float32, RedOp::sum, 4, 1, i);
    by_element += input_value(DataType::float32, RedOp::sum, 4, 0, i) != input_value(DataType::float32, RedOp::sum, 4, 0, i + 1);
  }
  EXPECT_GT(by_rank, 50);
  EXPECT_GT(by_element, 50);
}

TEST(Check, CountsWhatIsWrong) {
  for (int t = 0; t < data_type_count; ++t)
    for (const RedOp op : ops) {
      const auto type = static_cast<DataType>(t);
      const std::uint64_t count = 2 * period + 3;
      const std::size_t size = size_of(type);
      std::vector<std::byte> result(count * size);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t bits = encode(type, reduced_value(type, op, 3, i + 5));
        std::memcpy(result.data() + i * size, &bits, size);
      }
      EXPECT_EQ(count_wrong_reduced(result.data(), type, op, 3, 5, count), 0U) << name_of(type) << " " << name_of(op);
      for (const std::uint64_t at : {std::uint64_t{0}, count - 1}) result[at * size + size - 1] ^= std::byte{0x41};
      EXPECT_EQ(count_wrong_reduced(result.data(), type, op, 3, 5, count), 2U) << name_of(type) << " " << name_of(op);
    }
}

TEST(Check, MovedDataBelongsToItsOwner) {
  std::vector<std::byte> data(100 * 4);
  fill_input(data.data(), DataType::float32, RedOp::sum, 5, 3, 0, 100);
  EXPECT_EQ(count_wrong_moved(data.data(), DataType::float32, 5, 3, 0, 100), 0U);
  EXPECT_GT(count_wrong_moved(data.data(), DataType::float32, 5, 2, 0, 100), 50U);
}

}  // namespace
}  // namespace toric::perf
