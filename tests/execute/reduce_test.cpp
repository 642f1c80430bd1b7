// The kernels of every instruction set this processor has, against the reference, bit for bit.
#include "toric/execute/reduce.hpp"

#include "toric/execute/reduce_targets.hpp"

#include "hwy/highway.h"
#include "toric/execute/reduce_table.hpp"

#include "reduce_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <random>
#include <set>
#include <vector>

namespace toric {
namespace {

using reference::Binary;

constexpr std::array all_binary = {Binary::sum, Binary::prod, Binary::max, Binary::min};

RedOp red_op(Binary op) { return static_cast<RedOp>(op); }

std::uint64_t get(const std::byte* from, std::size_t size, std::size_t i) {
  std::uint64_t value = 0;
  std::memcpy(&value, from + i * size, size);
  return value;
}

void put(std::vector<std::byte>& to, std::size_t size, std::uint64_t value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + size);
}

struct Target {
  std::int64_t id;
  KernelTable table;
  CopyLines copy_lines;
};

Target build_for(std::int64_t id) {
  hwy::SetSupportedTargetsForTest(id);
  hwy::GetChosenTarget().Update(id);
  Target target{id, build_kernel_table(), copy_lines_kernel()};
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  return target;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> built;
    std::int64_t wanted = HWY_TARGETS;
    const std::int64_t here = hwy::SupportedTargets() | HWY_STATIC_TARGET;
    for (; wanted != 0; wanted &= wanted - 1) {
      const std::int64_t id = wanted & -wanted;
      std::cout << "[ TARGET   ] " << hwy::TargetName(id) << ((here & id) != 0 ? "" : ": skipped, this processor lacks it") << "\n";
      if ((here & id) != 0) built.push_back(build_for(id));
    }
    return built;
  }();
  return all;
}

std::string context(const Target& target, DataType type, RedOp op) {
  return std::string(hwy::TargetName(target.id)) + " " + std::string(name_of(type)) + " " + std::string(name_of(op));
}

DataType type_at(int t) { return static_cast<DataType>(t); }
bool is_float(DataType type) { return type >= DataType::float16; }

const Kernels& kernels_in(const Target& target, DataType type, RedOp op) {
  return target.table[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

/// Every value of the 8-bit types; for the others edges of the format and random codes.
std::vector<std::uint64_t> telling_values(DataType type) {
  const std::size_t bits = 8 * size_of(type);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  std::set<std::uint64_t> values;
  if (bits == 8) {
    for (std::uint64_t v = 0; v < 256; ++v) values.insert(v);
    return {values.begin(), values.end()};
  }
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  std::vector<std::uint64_t> seeds = {0, 1, 2, 3, sign - 1, sign >> 1, 0x5555555555555555, 10, 100};
  if (is_float(type)) {
    const auto f = reference::layout_of(type);
    const std::uint64_t one_step = std::uint64_t{1} << f.mantissa, infinity = ((std::uint64_t{1} << f.exponent) - 1) << f.mantissa;
    for (const std::uint64_t v :
         {one_step - 1, one_step, one_step + 1, infinity - 1, infinity, infinity + 1, infinity + (one_step >> 1), f.nan, f.nan + 1,
          infinity / 2 / one_step * one_step, infinity / 2 / one_step * one_step + 1, infinity - one_step})
      seeds.push_back(v);
    for (const long double v : {1.0L, 0.5L, 1.5L, 3.0L, 1e-5L, 1e-3L, 6e4L, 1e4L, 0.1L, 2e-8L}) seeds.push_back(reference::code_of(f, v));
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 150; ++i) seeds.push_back(random());
  for (const std::uint64_t v : seeds) values.insert({v & mask, (v ^ sign) & mask, ~v & mask});
  return {values.begin(), values.end()};
}

TEST(Reduce, EveryTargetIsItsOwnCode) {
  ASSERT_FALSE(targets().empty());
  for (int t = 0; t < data_type_count; ++t) {
    std::set<void*> seen;
    for (const Target& target : targets()) seen.insert(reinterpret_cast<void*>(kernels_in(target, type_at(t), RedOp::prod).reduce));
    EXPECT_EQ(seen.size(), targets().size()) << name_of(type_at(t));
  }
}

TEST(Reduce, TableHasWhatEachOperatorNeeds) {
  for (int t = 0; t < data_type_count; ++t)
    for (int o = 0; o < red_op_count; ++o) {
      const auto op = static_cast<RedOp>(o);
      const Kernels& kernels = kernels_for(type_at(t), op);
      EXPECT_NE(kernels.reduce, nullptr);
      EXPECT_EQ(kernels.scale != nullptr, op == RedOp::pre_mul_sum);
      EXPECT_EQ(kernels.divide != nullptr, op == RedOp::avg);
    }
  const Target& best = targets().front();
  EXPECT_EQ(kernels_for(DataType::float32, RedOp::sum).reduce, kernels_in(best, DataType::float32, RedOp::sum).reduce);
  EXPECT_EQ(kernels_for(DataType::float32, RedOp::avg).reduce, kernels_for(DataType::float32, RedOp::sum).reduce);
}

// All pairs of telling values (for 8-bit types: all 65,536), both ways round.
TEST(Reduce, ValuesMatchReferenceInEitherOrder) {
  for (int t = 0; t < data_type_count; ++t) {
    const DataType type = type_at(t);
    const std::size_t size = size_of(type);
    const std::vector<std::uint64_t> values = telling_values(type);
    std::vector<std::byte> left, right, expected;
    for (const std::uint64_t a : values)
      for (const std::uint64_t b : values) put(left, size, a), put(right, size, b);
    const std::size_t pairs = values.size() * values.size();
    for (const Binary op : all_binary) {
      expected.clear();
      for (std::size_t i = 0; i < pairs; ++i)
        put(expected, size, reference::combine(type, op, get(left.data(), size, i), get(right.data(), size, i)));
      for (const Target& target : targets()) {
        SCOPED_TRACE(context(target, type, red_op(op)));
        std::vector<std::byte> forward(pairs * size), backward(pairs * size);
        const auto reduce = kernels_in(target, type, red_op(op)).reduce;
        reduce({forward.data(), nullptr, left.data(), right.data(), pairs, Store::cached, Store::cached}, nullptr);
        reduce({backward.data(), nullptr, right.data(), left.data(), pairs, Store::cached, Store::cached}, nullptr);
        for (std::size_t i = 0; i < pairs; ++i) {
          ASSERT_EQ(get(forward.data(), size, i), get(expected.data(), size, i))
              << std::hex << get(left.data(), size, i) << " and " << get(right.data(), size, i);
          ASSERT_EQ(get(backward.data(), size, i), get(expected.data(), size, i))
              << "swapped: " << std::hex << get(left.data(), size, i) << " and " << get(right.data(), size, i);
        }
      }
    }
  }
}

// Each code of the 16-bit formats is decoded and encoded, and each tie between neighbours is met.
TEST(Reduce, EveryHalfCodeAddsAndMultiplies) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    const auto f = reference::layout_of(type);
    for (const std::uint64_t other : {std::uint64_t{0x8000}, reference::code_of(f, 1.0L), reference::code_of(f, 0.5L),
                                      reference::code_of(f, 3.0L), reference::code_of(f, 1.0L / 3), std::uint64_t{1}}) {
      std::vector<std::byte> left, right;
      for (std::uint64_t v = 0; v < 65536; ++v) put(left, 2, v), put(right, 2, other);
      for (const Binary op : {Binary::sum, Binary::prod}) {
        for (const Target& target : targets()) {
          SCOPED_TRACE(context(target, type, red_op(op)));
          std::vector<std::byte> result(left.size());
          kernels_in(target, type, red_op(op))
              .reduce({result.data(), nullptr, left.data(), right.data(), 65536, Store::cached, Store::cached}, nullptr);
          for (std::uint64_t v = 0; v < 65536; ++v)
            ASSERT_EQ(get(result.data(), 2, v), reference::combine(type, op, v, other)) << std::hex << v << " and " << other;
        }
      }
    }
  }
}

// What the header promises, typed by hand.
TEST(Reduce, PromisedSpecialCases) {
  struct Case {
    DataType type;
    Binary op;
    std::uint64_t a, b, result;
  };
  const Case cases[] = {
      {DataType::float32, Binary::max, 0x80000000, 0x00000000, 0x00000000},  // -0 below +0
      {DataType::float32, Binary::min, 0x80000000, 0x00000000, 0x80000000},
      {DataType::float32, Binary::max, 0x7f800000, 0xffc12345, 0x7fc00000},  // any NaN: the canonical one
      {DataType::float32, Binary::min, 0xff800000, 0x7f800001, 0x7fc00000},
      {DataType::float32, Binary::sum, 0x7f800000, 0xff800000, 0x7fc00000},   // inf - inf
      {DataType::float32, Binary::sum, 0x00000001, 0x00000001, 0x00000002},   // subnormals count
      {DataType::float32, Binary::prod, 0x7f800000, 0x80000000, 0x7fc00000},  // inf * -0
      {DataType::float16, Binary::sum, 0x7bff, 0x7bff, 0x7c00},               // overflow to infinity
      {DataType::bfloat16, Binary::sum, 0x3f80, 0x3b80, 0x3f80},              // 1 + 2^-8: the tie goes to even
      {DataType::bfloat16, Binary::sum, 0x3f81, 0x3b80, 0x3f82},              // and up from odd
      {DataType::float8e4m3, Binary::sum, 0x7e, 0x7e, 0x7e},                  // 448 + 448 saturates
      {DataType::float8e4m3, Binary::prod, 0xfe, 0x7e, 0xfe},
      {DataType::float8e4m3, Binary::sum, 0xff, 0x00, 0x7f},
      {DataType::float8e5m2, Binary::sum, 0x7b, 0x7b, 0x7b},  // 57344 + 57344 saturates
      {DataType::float8e5m2, Binary::sum, 0x7c, 0x00, 0x7b},  // so does an infinite sum
      {DataType::float8e5m2, Binary::max, 0x7c, 0x00, 0x7c},  // max only chooses
      {DataType::float8e5m2, Binary::sum, 0x7c, 0xfc, 0x7e},
      {DataType::int8, Binary::sum, 0x7f, 0x01, 0x80},  // integers wrap
      {DataType::int64, Binary::prod, 0x7fffffffffffffff, 2, 0xfffffffffffffffe},
      {DataType::uint64, Binary::max, 0x8000000000000000, 1, 0x8000000000000000},
      {DataType::int64, Binary::max, 0x8000000000000000, 1, 1},
  };
  for (const Case& c : cases)
    for (const Target& target : targets()) {
      std::uint64_t result = 0;
      kernels_in(target, c.type, red_op(c.op))
          .reduce({reinterpret_cast<std::byte*>(&result), nullptr, reinterpret_cast<const std::byte*>(&c.a),
                   reinterpret_cast<const std::byte*>(&c.b), 1, Store::cached, Store::cached},
                  nullptr);
      EXPECT_EQ(result, c.result) << context(target, c.type, red_op(c.op)) << std::hex << " " << c.a << " " << c.b;
    }
}

// --- places: lengths, alignments, aliases, stores, guards --------------------------------------------------------------

constexpr std::size_t room = 20480, guard = 128;

/// A buffer with guard bytes; the data lies `offset` bytes after a line's begin.
class Place {
 public:
  void lay(std::size_t offset, std::size_t bytes, const std::byte* content) {
    at_ = memory_.data + guard + offset;
    bytes_ = bytes;
    std::memset(at_ - guard, 0x5a, bytes + 2 * guard);
    if (content != nullptr) std::memcpy(at_, content, bytes);
  }
  [[nodiscard]] std::byte* at() { return at_; }
  [[nodiscard]] bool guards_whole() const {
    const auto whole = [](const std::byte* from) {
      return std::all_of(from, from + guard, [](std::byte b) { return b == std::byte{0x5a}; });
    };
    return whole(at_ - guard) && whole(at_ + bytes_);
  }
  [[nodiscard]] bool holds(const std::byte* content) const { return std::memcmp(at_, content, bytes_) == 0; }

 private:
  struct alignas(64) Memory {
    std::byte data[room];
  };
  std::vector<Memory> storage_ = std::vector<Memory>(1);
  Memory& memory_ = storage_.front();
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Offsets {
  std::size_t dst, also, left, right;
};

enum class Alias { none, dst_left, dst_right, dst_left_also_right, also_left };
constexpr std::array all_aliases = {Alias::none, Alias::dst_left, Alias::dst_right, Alias::dst_left_also_right, Alias::also_left};

class Bench {
 public:
  Bench(DataType type, RedOp op, std::size_t elements) : size_(size_of(type)) {
    std::mt19937_64 random(elements + 17);
    const Binary binary = static_cast<Binary>(op);
    for (std::size_t i = 0; i < elements; ++i) {
      put(left_, size_, random());
      put(right_, size_, random());
      put(expected_, size_, reference::combine(type, binary, get(left_.data(), size_, i), get(right_.data(), size_, i)));
    }
  }

  /// Empty when all is well.
  std::string run(decltype(Kernels::reduce) reduce, std::size_t elements, const Offsets& offsets, Alias alias, bool with_also, Store store,
                  Store also_store) {
    const std::size_t bytes = elements * size_;
    left_place_.lay(offsets.left, bytes, left_.data());
    right_place_.lay(offsets.right, bytes, right_.data());
    dst_place_.lay(offsets.dst, bytes, nullptr);
    also_place_.lay(offsets.also, bytes, nullptr);
    Place& dst = alias == Alias::dst_left || alias == Alias::dst_left_also_right ? left_place_
                 : alias == Alias::dst_right                                     ? right_place_
                                                                                 : dst_place_;
    Place& also = alias == Alias::dst_left_also_right ? right_place_ : alias == Alias::also_left ? left_place_ : also_place_;
    reduce({dst.at(), with_also ? also.at() : nullptr, left_place_.at(), right_place_.at(), elements, store, also_store}, nullptr);
    if (!dst.holds(expected_.data())) return "dst is wrong";
    if (with_also && !also.holds(expected_.data())) return "also is wrong";
    if (&dst != &left_place_ && (!with_also || &also != &left_place_) && !left_place_.holds(left_.data())) return "left was written";
    if (&dst != &right_place_ && (!with_also || &also != &right_place_) && !right_place_.holds(right_.data())) return "right was written";
    for (const Place* place : {&dst_place_, &also_place_, &left_place_, &right_place_})
      if (!place->guards_whole()) return "bytes beside a buffer were written";
    return {};
  }

 private:
  std::size_t size_;
  std::vector<std::byte> left_, right_, expected_;
  Place left_place_, right_place_, dst_place_, also_place_;
};

/// 0 to two of the longest vectors and one element; around where alignment and unrolling begin; many vectors.
std::vector<std::size_t> telling_counts(std::size_t size) {
  std::vector<std::size_t> counts;
  for (std::size_t n = 0; n <= 2 * 64 / size + 1; ++n) counts.push_back(n);
  for (const std::size_t bytes : {192, 256, 320, 448, 512, 1016, 1024, 1032, 1096, 1280, 4096, 4104, 5000})
    counts.push_back(bytes / size + 1), counts.push_back(bytes / size);
  return counts;
}

TEST(Reduce, AnyLengthAlignmentAliasAndStore) {
  std::size_t calls = 0;
  for (int t = 0; t < data_type_count; ++t) {
    const DataType type = type_at(t);
    const std::size_t size = size_of(type);
    for (const RedOp op : {RedOp::sum, RedOp::max}) {
      const std::vector<std::size_t> counts = telling_counts(size);
      Bench bench(type, op, *std::max_element(counts.begin(), counts.end()));
      for (const Target& target : targets()) {
        std::mt19937 random(3);
        for (const std::size_t count : counts)
          for (std::size_t offset = 0; offset < 64; ++offset) {
            // Each buffer goes through all offsets while the others lie anywhere, now and then on a line.
            Offsets offsets{random() % 64, random() % 64, random() % 64, random() % 64};
            const std::size_t which = random() % 4;
            (which == 0 ? offsets.dst : which == 1 ? offsets.also : which == 2 ? offsets.left : offsets.right) = offset;
            if (random() % 4 == 0) offsets.also = offsets.dst;
            if (random() % 8 == 0) offsets.dst = offsets.also = offsets.left = offsets.right = offset;
            const Alias alias = all_aliases[random() % all_aliases.size()];
            const auto store = static_cast<Store>(random() % 2), also_store = static_cast<Store>(random() % 2);
            const bool with_also = random() % 2 == 0 || alias == Alias::dst_left_also_right || alias == Alias::also_left;
            const std::string wrong = bench.run(kernels_in(target, type, op).reduce, count, offsets, alias, with_also, store, also_store);
            ++calls;
            ASSERT_EQ(wrong, "") << context(target, type, op) << " count " << count << " offsets " << offsets.dst << " " << offsets.also
                                 << " " << offsets.left << " " << offsets.right << " alias " << static_cast<int>(alias) << " also "
                                 << with_also << " stores " << static_cast<int>(store) << static_cast<int>(also_store);
          }
      }
    }
  }
  std::cout << calls << " calls\n";
}

// The full product of offsets of one buffer, aliases and stores, for the type of most calls.
TEST(Reduce, FloatSumAtEveryOffset) {
  Bench bench(DataType::float32, RedOp::sum, 400);
  for (const Target& target : targets())
    for (const std::size_t count : {1u, 2u, 7u, 12u, 15u, 16u, 33u, 300u, 400u})
      for (std::size_t offset = 0; offset < 64; ++offset)
        for (int which = 0; which < 4; ++which)
          for (const Alias alias : all_aliases)
            for (int stores = 0; stores < 4; ++stores) {
              Offsets offsets{0, 0, 0, 0};
              (which == 0 ? offsets.dst : which == 1 ? offsets.also : which == 2 ? offsets.left : offsets.right) = offset;
              const std::string wrong = bench.run(kernels_in(target, DataType::float32, RedOp::sum).reduce, count, offsets, alias, true,
                                                  static_cast<Store>(stores & 1), static_cast<Store>(stores >> 1));
              ASSERT_EQ(wrong, "") << hwy::TargetName(target.id) << " count " << count << " offset " << offset << " of " << which
                                   << " alias " << static_cast<int>(alias) << " stores " << stores;
            }
}

TEST(Scale, MatchesReferenceInPlaceAndApart) {
  for (int t = 0; t < data_type_count; ++t) {
    const DataType type = type_at(t);
    const std::size_t size = size_of(type);
    const std::vector<std::uint64_t> values = telling_values(type);
    std::vector<std::byte> source;
    for (const std::uint64_t v : values) put(source, size, v);
    for (std::size_t pick = 0; pick < values.size(); pick += std::max<std::size_t>(1, values.size() / 37)) {
      Scalar factor;
      std::memcpy(factor.bytes, &values[pick], size);
      std::vector<std::byte> expected;
      for (const std::uint64_t v : values) put(expected, size, reference::combine(type, Binary::prod, v, values[pick]));
      for (const Target& target : targets()) {
        SCOPED_TRACE(context(target, type, RedOp::pre_mul_sum));
        const auto scale = kernels_in(target, type, RedOp::pre_mul_sum).scale;
        for (const std::size_t offset : {0u, 1u, 8u, 63u}) {
          std::vector<std::byte> apart(source.size() + offset), in_place(source.size() + offset);
          std::memcpy(in_place.data() + offset, source.data(), source.size());
          scale(apart.data() + offset, source.data(), values.size(), factor, nullptr);
          scale(in_place.data() + offset, in_place.data() + offset, values.size(), factor, nullptr);
          ASSERT_EQ(std::memcmp(apart.data() + offset, expected.data(), expected.size()), 0)
              << "apart, factor " << std::hex << values[pick];
          ASSERT_EQ(std::memcmp(in_place.data() + offset, expected.data(), expected.size()), 0)
              << "in place, factor " << std::hex << values[pick];
        }
      }
    }
  }
}

TEST(Divide, MatchesReferenceForAnyNumberOfRanks) {
  for (int t = 0; t < data_type_count; ++t) {
    const DataType type = type_at(t);
    const std::size_t size = size_of(type);
    const std::vector<std::uint64_t> values = telling_values(type);
    for (const Rank ranks : {1, 2, 3, 7, 127, 128, 300, 70000, 16777217, 2147483647}) {
      for (const Target& target : targets()) {
        SCOPED_TRACE(context(target, type, RedOp::avg) + " ranks " + std::to_string(ranks));
        for (const std::size_t offset : {0u, 3u}) {
          std::vector<std::byte> data(offset);
          for (const std::uint64_t v : values) put(data, size, v);
          kernels_in(target, type, RedOp::avg).divide(data.data() + offset, values.size(), ranks, nullptr);
          for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(get(data.data() + offset, size, i), reference::divide(type, values[i], ranks)) << std::hex << values[i];
        }
      }
    }
  }
}

TEST(Divide, NegativeIntegersTowardsZero) {
  for (const Target& target : targets()) {
    std::int32_t values[] = {-7, 7, -1, -2147483647 - 1};
    kernels_in(target, DataType::int32, RedOp::avg).divide(reinterpret_cast<std::byte*>(values), 4, 3, nullptr);
    EXPECT_EQ(values[0], -2);
    EXPECT_EQ(values[1], 2);
    EXPECT_EQ(values[2], 0);
    EXPECT_EQ(values[3], -715827882);
  }
}

// --- copies ------------------------------------------------------------------------------------------------------------

TEST(Copy, AnyLengthAlignmentAndStore) {
  std::vector<std::byte> content(room);
  std::mt19937 random(5);
  for (std::byte& b : content) b = static_cast<std::byte>(random());
  Place src, dst, also;
  std::vector<std::size_t> sizes;
  for (std::size_t n = 0; n <= 400; ++n) sizes.push_back(n);
  for (const std::size_t n : {512u, 1023u, 4096u, 4097u, 6000u}) sizes.push_back(n);
  for (const std::size_t bytes : sizes)
    for (int round = 0; round < 100; ++round) {
      src.lay(random() % 64, bytes, content.data());
      dst.lay(round < 64 ? static_cast<std::size_t>(round) : 0, bytes, nullptr);
      also.lay(random() % 64, bytes, nullptr);
      const bool same = random() % 8 == 0, with_also = random() % 2 == 0;
      Place& to = same ? src : dst;
      copy_bytes(to.at(), with_also ? also.at() : nullptr, src.at(), bytes, static_cast<Store>(random() % 2),
                 static_cast<Store>(random() % 2));
      ASSERT_TRUE(to.holds(content.data()) && src.holds(content.data())) << bytes;
      ASSERT_TRUE(!with_also || also.holds(content.data())) << bytes;
      ASSERT_TRUE(src.guards_whole() && dst.guards_whole() && also.guards_whole()) << bytes;
    }
}

TEST(Copy, LongOnesToTwoPlaces) {
  std::vector<std::byte> content(100003), dst(content.size() + 64), also(content.size() + 64);
  std::mt19937 random(6);
  for (std::byte& b : content) b = static_cast<std::byte>(random());
  for (int stores = 0; stores < 4; ++stores)
    for (const std::size_t offset : {0u, 1u, 63u}) {
      std::fill(dst.begin(), dst.end(), std::byte{0});
      std::fill(also.begin(), also.end(), std::byte{0});
      copy_bytes(dst.data() + offset, also.data() + 64 - offset, content.data(), content.size(), static_cast<Store>(stores & 1),
                 static_cast<Store>(stores >> 1));
      fence_streamed();
      ASSERT_EQ(std::memcmp(dst.data() + offset, content.data(), content.size()), 0);
      ASSERT_EQ(std::memcmp(also.data() + 64 - offset, content.data(), content.size()), 0);
    }
}

TEST(Copy, LinesOnEveryTarget) {
  std::vector<std::byte> content(16320 + 1);
  std::mt19937 random(8);
  for (std::byte& b : content) b = static_cast<std::byte>(random());
  for (const Target& target : targets()) {
    Place dst;
    for (const std::size_t bytes : {64u, 128u, 320u, 4096u, 4160u, 16320u})
      for (const Store store : {Store::cached, Store::streamed}) {
        dst.lay(0, bytes, nullptr);
        target.copy_lines(dst.at(), content.data() + 1, bytes, store);
        ASSERT_TRUE(dst.holds(content.data() + 1) && dst.guards_whole()) << hwy::TargetName(target.id) << " " << bytes;
      }
  }
}

}  // namespace
}  // namespace toric
