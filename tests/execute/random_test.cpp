// The cross of everything, at random: algorithm, collective, ranks, root, pieces, type, operator, count, alignment, place,
// segment, window, interleaving. The seed is printed; TEST_SEED repeats a run and TEST_CASES makes it longer.
#include "fleet.hpp"
#include "values.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

namespace toric::testing {
namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(values.size()));
  }

 private:
  std::mt19937_64 engine_;
};

struct RandomCase {
  const Algorithm* algorithm;
  Request request;
  DataType type;
  RedOp op;
  std::uint64_t count;
  bool in_place;
  std::size_t shift;
  PlanOptions plan;
  const char* transport;
};

RandomCase draw_case(Draw& draw) {
  for (;;) {
    RandomCase c{};
    c.algorithm = &algorithms()[draw.below(algorithms().size())];
    c.request.collective = c.algorithm->collectives[draw.below(c.algorithm->collectives.size())];
    c.request.ranks = static_cast<Rank>(1 + draw.below(12));
    c.request.root = is_rooted(c.request.collective) ? static_cast<Rank>(draw.below(static_cast<std::uint64_t>(c.request.ranks))) : -1;
    c.request.pieces = static_cast<std::uint32_t>(1 + draw.below(5));
    if (c.request.collective == Collective::barrier || !c.algorithm->fits(c.request)) continue;
    c.type = static_cast<DataType>(draw.below(data_type_count));
    c.op = is_reduction(c.request.collective) ? static_cast<RedOp>(draw.below(red_op_count)) : RedOp::sum;
    c.plan.segment_bytes = draw.one_of<std::size_t>({64, 128, 1024, 4096});
    c.plan.window_bytes = draw.one_of<std::size_t>({0, 0, 64, 320, 4096});
    c.count = draw.one_of<std::uint64_t>({draw.below(20), draw.below(300), draw.below(6000)});
    c.in_place = draw.below(2) == 0;
    c.shift = draw.one_of<std::size_t>({0, 0, 1, 3, 8});
    c.transport = draw.one_of<const char*>({"local", "shm"});
    return c;
  }
}

std::string describe(const RandomCase& c) {
  return std::string(c.algorithm->name) + " " + std::string(name_of(c.request.collective)) + " ranks " + std::to_string(c.request.ranks) +
         " root " + std::to_string(c.request.root) + " pieces " + std::to_string(c.request.pieces) + " " + std::string(name_of(c.type)) +
         " " + std::string(name_of(c.op)) + " count " + std::to_string(c.count) + (c.in_place ? " in place" : "") + " shift " +
         std::to_string(c.shift) + " segment " + std::to_string(c.plan.segment_bytes) + " window " + std::to_string(c.plan.window_bytes) +
         " over " + c.transport;
}

struct Memory {
  std::vector<std::byte> bytes;
  std::byte* input;
  std::byte* output;
};

Memory make_memory(const RandomCase& c, Rank rank) {
  const Collective what = c.request.collective;
  const std::size_t block = c.count * size_of(c.type), all = block * static_cast<std::size_t>(c.request.ranks);
  const std::size_t in = what == Collective::reduce_scatter ? all : block, out = what == Collective::all_gather ? all : block;
  Memory m{std::vector<std::byte>(in + out + 128 + c.shift, std::byte{0x5A}), nullptr, nullptr};
  m.input = m.bytes.data() + c.shift;
  m.output = m.input + in + 64;
  const std::size_t offset = static_cast<std::size_t>(rank) * block;
  if (c.in_place && what == Collective::reduce_scatter) m.output = m.input + offset;
  if (c.in_place && what != Collective::reduce_scatter) m.input = m.output + (what == Collective::all_gather ? offset : 0);
  if (what != Collective::broadcast || rank == c.request.root)
    perf::fill_input(m.input, c.type, c.op, c.request.ranks, rank, 0, in / size_of(c.type));
  return m;
}

std::uint64_t wrong_in(const RandomCase& c, const Memory& m, Rank rank) {
  const Rank ranks = c.request.ranks;
  const std::uint64_t first = c.request.collective == Collective::reduce_scatter ? static_cast<std::uint64_t>(rank) * c.count : 0;
  if (is_reduction(c.request.collective)) return perf::count_wrong_reduced(m.output, c.type, c.op, ranks, first, c.count);
  if (c.request.collective == Collective::broadcast) return perf::count_wrong_moved(m.output, c.type, ranks, c.request.root, 0, c.count);
  std::uint64_t wrong = 0;
  for (Rank r = 0; r < ranks; ++r)
    wrong += perf::count_wrong_moved(m.output + static_cast<std::size_t>(r) * c.count * size_of(c.type), c.type, ranks, r, 0, c.count);
  return wrong;
}

void run_case(const RandomCase& c, std::uint64_t seed) {
  TransportConfig config;
  config.segment_bytes = c.plan.segment_bytes;
  config.small_bytes = std::min<std::size_t>(c.plan.segment_bytes, 256);
  Fleet fleet(c.request.ranks, c.transport, config);
  auto schedule = build_schedule(*c.algorithm, c.request);
  ASSERT_TRUE(schedule.ok()) << schedule.status().text();
  const auto plans = fleet.bind(*schedule, c.plan);
  std::vector<Memory> memory;
  std::vector<Call> calls;
  for (Rank r = 0; r < c.request.ranks; ++r) memory.push_back(make_memory(c, r));
  for (Rank r = 0; r < c.request.ranks; ++r) {
    Memory& m = memory[static_cast<std::size_t>(r)];
    Call call{m.input, m.output, c.count, c.type, c.op, {}, MemoryKind::host, -1};
    const std::uint64_t factor = perf::encode(c.type, perf::pre_mul_factor(r));
    std::memcpy(call.factor.bytes, &factor, sizeof factor);
    calls.push_back(call);
  }
  ASSERT_TRUE(fleet.run(plans, calls, seed));
  for (Rank r = 0; r < c.request.ranks; ++r) {
    ASSERT_EQ(wrong_in(c, memory[static_cast<std::size_t>(r)], r), 0U) << "rank " << r;
    if (c.request.collective != Collective::all_reduce || c.count == 0) continue;
    ASSERT_EQ(std::memcmp(memory[0].output, memory[static_cast<std::size_t>(r)].output, c.count * size_of(c.type)), 0)
        << "rank " << r;  // to the bit
  }
}

TEST(RandomCross, AllGiveThePlainResult) {
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const std::uint64_t seed = setting("TEST_SEED", now), cases = setting("TEST_CASES", 600);
  std::cout << "TEST_SEED=" << seed << " TEST_CASES=" << cases << "\n";
  Draw draw(seed);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const RandomCase c = draw_case(draw);
    SCOPED_TRACE("TEST_SEED=" + std::to_string(seed) + " case " + std::to_string(i) + ": " + describe(c));
    run_case(c, seed + i);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace toric::testing
