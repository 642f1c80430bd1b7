// Every algorithm, executed: int32 sums against a plain oracle over ranks, counts, alignments, in and out of place.
#include "fleet.hpp"

#include <algorithm>
#include <cstdlib>

namespace toric::testing {
namespace {

std::uint32_t value_of(Rank rank, std::uint64_t element) { return static_cast<std::uint32_t>(rank * 1000003 + element * 7919 + 17); }

std::uint32_t expected(Collective what, Rank ranks, Rank root, std::uint64_t count, Rank rank, std::uint64_t element) {
  auto sum = [&](std::uint64_t at) {
    std::uint32_t total = 0;
    for (Rank r = 0; r < ranks; ++r) total += value_of(r, at);
    return total;
  };
  switch (what) {
    case Collective::all_reduce:
      return sum(element);
    case Collective::reduce_scatter:
      return sum(static_cast<std::uint64_t>(rank) * count + element);
    case Collective::all_gather:
      return value_of(static_cast<Rank>(element / count), element % count);
    default:
      return value_of(root, element);
  }
}

struct Case {
  const Algorithm* algorithm;
  Collective what;
  Rank ranks, root;
  std::uint32_t pieces = 1;
  bool in_place = false;
  std::size_t shift = 0;  // bytes off the alignment of the element
};

// One rank's memory: guard, input, guard, output, guard.
struct Buffers {
  std::vector<std::byte> memory;
  std::byte* input;
  std::byte* output;
  std::size_t input_bytes, output_bytes;
  static constexpr std::size_t guard = 64;

  Buffers(const Case& c, Rank rank, std::uint64_t count) {
    const std::size_t block = count * 4, all = block * static_cast<std::size_t>(c.ranks);
    input_bytes = c.what == Collective::reduce_scatter ? all : block;
    output_bytes = c.what == Collective::all_gather ? all : block;
    memory.assign(3 * guard + input_bytes + output_bytes + c.shift, std::byte{0xA5});
    input = memory.data() + guard + c.shift;
    output = input + input_bytes + guard;
    const std::size_t offset = static_cast<std::size_t>(rank) * block;
    if (c.in_place && c.what == Collective::all_gather) input = output + offset;
    if (c.in_place && c.what == Collective::reduce_scatter) output = input + offset;
    if (c.in_place && (c.what == Collective::all_reduce || c.what == Collective::broadcast)) output = input;
    for (std::size_t i = 0; i < input_bytes / 4; ++i) {
      const std::uint32_t value = value_of(rank, i);
      if (c.what != Collective::broadcast || rank == c.root) std::memcpy(input + i * 4, &value, 4);
    }
  }
};

void check(Fleet& fleet, const std::vector<Plan>& plans, const Case& c, std::uint64_t count, std::uint64_t seed) {
  SCOPED_TRACE(std::string(c.algorithm->name) + " " + std::string(name_of(c.what)) + " ranks " + std::to_string(c.ranks) + " root " +
               std::to_string(c.root) + " pieces " + std::to_string(c.pieces) + " count " + std::to_string(count) +
               (c.in_place ? " in place" : "") + " shift " + std::to_string(c.shift) + " seed " + std::to_string(seed));
  std::vector<Buffers> buffers;
  std::vector<Call> calls;
  for (Rank r = 0; r < c.ranks; ++r) buffers.emplace_back(c, r, count);
  for (Buffers& b : buffers) calls.push_back({b.input, b.output, count, DataType::int32, RedOp::sum, {}, MemoryKind::host, -1});
  const auto before = buffers;
  ASSERT_TRUE(fleet.run(plans, calls, seed));
  for (Rank r = 0; r < c.ranks; ++r) {
    const Buffers& b = buffers[static_cast<std::size_t>(r)];
    std::size_t wrong = 0;
    for (std::uint64_t i = 0; i < b.output_bytes / 4; ++i) {
      std::uint32_t got = 0;
      std::memcpy(&got, b.output + i * 4, 4);
      wrong += got != expected(c.what, c.ranks, c.root, count, r, i);
    }
    ASSERT_EQ(wrong, 0U) << "rank " << r;
    // Whatever is not output is as it was: guards, and the caller's input.
    const Buffers& old = before[static_cast<std::size_t>(r)];
    const auto at = static_cast<std::size_t>(b.output - b.memory.data());
    ASSERT_TRUE(std::equal(b.memory.begin(), b.memory.begin() + at, old.memory.begin())) << "rank " << r << " wrote before its output";
    ASSERT_TRUE(std::equal(b.memory.begin() + at + b.output_bytes, b.memory.end(), old.memory.begin() + at + b.output_bytes))
        << "rank " << r << " wrote behind its output";
  }
}

std::vector<std::uint64_t> counts_for(Rank ranks, std::size_t segment_bytes) {
  const auto p = static_cast<std::uint64_t>(ranks);
  std::vector<std::uint64_t> counts{0, 1, p - 1, p, p + 1, 1009, segment_bytes / 4 * p + 13};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

void run_all(std::string_view transport, Rank ranks, const TransportConfig& config, const PlanOptions& options) {
  Fleet fleet(ranks, transport, config);
  std::uint64_t seed = static_cast<std::uint64_t>(ranks) * 1000;
  for (const Algorithm& algorithm : algorithms())
    for (const Collective what : algorithm.collectives) {
      if (what == Collective::barrier) continue;
      for (const Rank root : is_rooted(what) ? std::vector<Rank>{0, ranks / 2, ranks - 1} : std::vector<Rank>{-1})
        for (const std::uint32_t pieces : {1U, 3U}) {
          Request request;
          request.collective = what;
          request.ranks = ranks;
          request.root = root;
          request.pieces = pieces;
          if (!algorithm.fits(request)) continue;
          auto schedule = build_schedule(algorithm, request);
          ASSERT_TRUE(schedule.ok()) << algorithm.name << ": " << schedule.status().text();
          const auto plans = fleet.bind(*schedule, options);
          for (const std::uint64_t count : counts_for(ranks, options.segment_bytes))
            for (const bool in_place : {false, true})
              check(fleet, plans, {&algorithm, what, ranks, root, pieces, in_place, in_place ? 1U : 0U}, count, ++seed);
        }
    }
}

class EveryAlgorithm : public ::testing::TestWithParam<std::tuple<const char*, Rank>> {};

TEST_P(EveryAlgorithm, GivesThePlainSum) {
  const auto [transport, ranks] = GetParam();
  TransportConfig config;
  config.segment_bytes = 1024;
  config.small_bytes = 256;
  PlanOptions options;
  options.segment_bytes = 1024;
  run_all(transport, ranks, config, options);
}

TEST_P(EveryAlgorithm, GivesThePlainSumInWindows) {
  const auto [transport, ranks] = GetParam();
  if (ranks > 5) GTEST_SKIP() << "windows are run to 5 ranks here, further in the nightly tests";
  TransportConfig config;
  config.segment_bytes = 256;
  config.small_bytes = 128;
  PlanOptions options;
  options.segment_bytes = 256;
  options.window_bytes = 640;
  run_all(transport, ranks, config, options);
}

INSTANTIATE_TEST_SUITE_P(Local, EveryAlgorithm, ::testing::Combine(::testing::Values("local"), ::testing::Range<Rank>(1, 18)));
INSTANTIATE_TEST_SUITE_P(Shm, EveryAlgorithm, ::testing::Combine(::testing::Values("shm"), ::testing::Range<Rank>(1, 10)));

}  // namespace
}  // namespace toric::testing
