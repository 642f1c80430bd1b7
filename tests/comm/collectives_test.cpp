// Every collective through the C API, ranks as threads, against plain loops.
#include "cases.hpp"

#include <cmath>
#include <set>

namespace toric::testing {
namespace {

class Collectives : public ::testing::TestWithParam<int> {};

TEST_P(Collectives, GiveWhatPlainLoopsGive) {
  const int ranks = GetParam();
  World world(ranks);
  const std::size_t p = static_cast<std::size_t>(ranks);
  world.on_each([&](int rank, toricComm_t comm) {
    int salt = 0;
    for (const std::size_t count : std::set<std::size_t>{0, 1, p - 1, p, p + 1, 17, 1009, 20011}) {
      for (const bool in_place : {false, true})
        for (const std::size_t misalignment : {0, 1, 4})
          ASSERT_EQ(every_case(rank, ranks, comm, {count, in_place, misalignment, ++salt}), "");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, ::testing::Range(1, 10));

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t large = 150'001;  // the sanitizer makes the plain loops fifty times slower
#else
constexpr std::size_t large = 1'000'003;
#endif

// Larger than rings and windows, so that several windows are under way.
TEST(Collectives, GiveWhatPlainLoopsGiveForLargeVectors) {
  for (const int ranks : {2, 3, 5}) {
    World world(ranks);
    world.on_each([&](int rank, toricComm_t comm) {
      ASSERT_EQ(every_case(rank, ranks, comm, {large, false, 0, ranks}), "");
      ASSERT_EQ(every_case(rank, ranks, comm, {large / 3 * 2, true, 1, ranks}), "");
    });
  }
}

// --- every type with every operator ---------------------------------------------------------------------------------

struct TypeCase {
  toricDataType_t type;
  int bytes, exponent_bits, mantissa_bits;  // mantissa_bits 0: an integer
};
constexpr TypeCase types[] = {{toricInt8, 1, 0, 0},      {toricUint8, 1, 0, 0},    {toricInt32, 4, 0, 0},      {toricUint32, 4, 0, 0},
                              {toricInt64, 8, 0, 0},     {toricUint64, 8, 0, 0},   {toricFloat16, 2, 5, 10},   {toricFloat32, 4, 8, 23},
                              {toricFloat64, 8, 11, 52}, {toricBfloat16, 2, 8, 7}, {toricFloat8e4m3, 1, 4, 3}, {toricFloat8e5m2, 1, 5, 2}};

/// The bits of a small whole number, from the formats' definition.
std::uint64_t encode(const TypeCase& t, int value) {
  if (t.mantissa_bits == 0 || value == 0) return static_cast<std::uint64_t>(value);
  const int exponent = std::ilogb(value), bias = (1 << (t.exponent_bits - 1)) - 1;
  const std::uint64_t fraction = static_cast<std::uint64_t>(value - (1 << exponent)) << t.mantissa_bits >> exponent;
  return (static_cast<std::uint64_t>(exponent + bias) << t.mantissa_bits) | fraction;
}

void put(std::vector<unsigned char>& bytes, std::size_t i, const TypeCase& t, int value) {
  const std::uint64_t bits = encode(t, value);
  std::memcpy(bytes.data() + i * static_cast<std::size_t>(t.bytes), &bits, static_cast<std::size_t>(t.bytes));
}

// Three ranks give v, v+1, v+2 with v = i mod 2: every operator's result, partial ones too, is exact in all types.
int expected(int op, int v) {
  switch (op) {
    case toricSum:
      return 3 * v + 3;
    case toricProd:
      return v * (v + 1) * (v + 2);
    case toricMax:
      return v + 2;
    case toricMin:
      return v;
    case toricAvg:
      return v + 1;
    default:
      return 4 * v + 3;  // pre-multiplied: rank 0 by 2, the others by 1
  }
}

TEST(Collectives, ReduceEveryTypeWithEveryOperator) {
  World world(3);
  constexpr std::size_t count = 77;
  world.on_each([&](int rank, toricComm_t comm) {
    for (const TypeCase& t : types) {
      std::vector<unsigned char> input(3 * count * static_cast<std::size_t>(t.bytes)), output(input.size()),
          wanted(count * static_cast<std::size_t>(t.bytes));
      for (std::size_t i = 0; i < 3 * count; ++i) put(input, i, t, static_cast<int>(i % count % 2) + rank);
      std::vector<unsigned char> factor(8);
      put(factor, 0, t, rank == 0 ? 2 : 1);
      toricRedOp_t made;
      ASSERT_TRUE(ok(toricRedOpCreatePreMulSum(&made, factor.data(), t.type, toricScalarHostImmediate, comm)));
      for (const int op : {static_cast<int>(toricSum), static_cast<int>(toricProd), static_cast<int>(toricMax), static_cast<int>(toricMin),
                           static_cast<int>(toricAvg), static_cast<int>(made)}) {
        for (std::size_t i = 0; i < count; ++i) put(wanted, i, t, expected(op, static_cast<int>(i % 2)));
        ASSERT_TRUE(ok(toricAllReduce(input.data(), output.data(), count, t.type, static_cast<toricRedOp_t>(op), comm, nullptr)));
        ASSERT_EQ(std::memcmp(output.data(), wanted.data(), wanted.size()), 0) << "all_reduce type " << t.type << " op " << op;
        ASSERT_TRUE(ok(toricReduceScatter(input.data(), output.data(), count, t.type, static_cast<toricRedOp_t>(op), comm, nullptr)));
        ASSERT_EQ(std::memcmp(output.data(), wanted.data(), wanted.size()), 0) << "reduce_scatter type " << t.type << " op " << op;
      }
      ASSERT_TRUE(ok(toricRedOpDestroy(made, comm)));
    }
  });
}

TEST(Collectives, OneRankAppliesEveryOperatorToEveryElement) {
  World world(1);
  for (const TypeCase& t : types) {
    constexpr std::size_t count = 1001;  // odd, so that tails of vectors are there
    std::vector<unsigned char> input(count * static_cast<std::size_t>(t.bytes)), output(input.size()), doubled(input.size()), factor(8);
    for (std::size_t i = 0; i < count; ++i) {
      put(input, i, t, static_cast<int>(i % 7));
      put(doubled, i, t, 2 * static_cast<int>(i % 7));
    }
    put(factor, 0, t, 2);
    toricRedOp_t made;
    ASSERT_TRUE(ok(toricRedOpCreatePreMulSum(&made, factor.data(), t.type, toricScalarDevice, world.comm(0))));
    for (const toricRedOp_t op : {toricSum, toricProd, toricMax, toricMin, toricAvg, made}) {
      std::fill(output.begin(), output.end(), std::uint8_t{0xee});
      ASSERT_TRUE(ok(toricAllReduce(input.data(), output.data(), count, t.type, op, world.comm(0), nullptr)));
      ASSERT_EQ(output, op == made ? doubled : input) << "type " << t.type << " op " << op;
      ASSERT_TRUE(ok(toricReduceScatter(input.data(), output.data(), count, t.type, op, world.comm(0), nullptr)));
      ASSERT_EQ(output, op == made ? doubled : input) << "type " << t.type << " op " << op;
    }
  }
}

TEST(Collectives, ManyCallsBackToBackDoNotMixTheirData) {
  World world(3);
  world.on_each([&](int rank, toricComm_t comm) {
    std::vector<std::int32_t> input(64), output(64);
    for (int call = 0; call < 10'000; ++call) {
      const std::size_t count = static_cast<std::size_t>(1 + call % 64);
      for (std::size_t i = 0; i < count; ++i) input[i] = value_of(rank, i, call);
      ASSERT_TRUE(ok(toricAllReduce(input.data(), output.data(), count, toricInt32, toricSum, comm, nullptr)));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(output[i], sum_of(3, i, call)) << "call " << call << " element " << i;
      for (std::size_t i = 0; i < count; ++i) input[i] = -1;  // the caller's again
    }
  });
}

TEST(Collectives, FollowTheAlgorithmWish) {
  for (const char* algorithm :
       {"ring", "direct", "two_shot", "bidirectional_ring", "binomial_tree", "recursive_doubling", "halving_doubling"}) {
    for (const int ranks : {2, 5}) {
      toricConfig_t config = TORIC_CONFIG_INITIALIZER;
      config.algorithm = algorithm;
      World world(ranks, config);
      world.on_each([&](int rank, toricComm_t comm) {
        for (const std::size_t count : {std::size_t{3}, std::size_t{40'001}})
          ASSERT_EQ(every_case(rank, ranks, comm, {count, false, 0, 1}), "") << algorithm;
      });
    }
  }
}

// A barrier returns nowhere before it was called everywhere.
TEST(Collectives, BarrierHoldsEveryRankBack) {
  constexpr int ranks = 5;
  World world(ranks);
  std::atomic<int> arrived{0};
  world.on_each([&](int rank, toricComm_t comm) {
    for (int round = 1; round <= 100; ++round) {
      if (rank == round % ranks) std::this_thread::sleep_for(std::chrono::microseconds(100));
      arrived.fetch_add(1);
      ASSERT_TRUE(ok(toricBarrier(comm, nullptr)));
      ASSERT_GE(arrived.load(), round * ranks);
    }
  });
}

}  // namespace
}  // namespace toric::testing
