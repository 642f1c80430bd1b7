// Nanoseconds one way between two pinned processes on the shared-memory transport: 8 bytes, 4 KiB and 64 KiB, by blocks,
// because machines change their regime within a run. Not a test: it judges nothing and wants the machine for itself.
#include "process_exchange.hpp"
#include "toric/transports/registry.hpp"

#include <sched.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace toric::testing {
namespace {

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
}

struct alignas(64) Line {
  std::byte bytes[64];
};

struct Side {
  Transport& transport;
  Port out, in;
  std::vector<Line> source, target;
  std::uint64_t streamed = 0, segments = 0;

  void send(std::size_t bytes) {
    std::byte* room;
    while ((room = transport.reserve(out, bytes)) == nullptr) {
    }
    const Store how = transport.store_for(out, bytes);
    const auto begin = bytes >= 4096 ? __rdtsc() : 0;
    if (how == Store::streamed)
      stream(room, reinterpret_cast<const std::byte*>(source.data()), bytes);
    else
      std::memcpy(room, source.data(), bytes);
    if (bytes >= 4096) transport.observe(out, how, static_cast<float>(__rdtsc() - begin) / static_cast<float>(bytes));
    transport.commit(out, bytes, how, 0);
    streamed += how == Store::streamed ? 1 : 0;
    ++segments;
  }
  void receive(std::size_t bytes) {
    const std::byte* view;
    while ((view = transport.peek(in, bytes)) == nullptr) {
    }
    const auto begin = bytes >= 4096 ? __rdtsc() : 0;
    std::memcpy(target.data(), view, bytes);
    if (bytes >= 4096) transport.observe(in, Store::cached, static_cast<float>(__rdtsc() - begin) / static_cast<float>(bytes));
    transport.release(in, bytes);
  }
};

/// Blocks of round trips; the one-way time of each block.
std::vector<double> measure(Side& side, Rank rank, std::size_t bytes, int rounds, int blocks) {
  std::vector<double> times;
  for (int block = 0; block < blocks; ++block) {
    const auto begin = Clock::now();
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) side.send(bytes);
      side.receive(bytes);
      if (rank == 1) side.send(bytes);
    }
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / (2.0 * rounds));
  }
  std::sort(times.begin(), times.end());
  return times;
}

int run(Exchange& exchange, const TransportEntry& entry) {
  const Rank rank = exchange.rank(), peer = 1 - rank;
  pin(rank);
  auto made = entry.make({}, exchange);
  if (!made) return std::fprintf(stderr, "%s\n", std::string(made.status().text()).c_str()), 1;
  Transport& transport = **made;
  const auto out = transport.out(peer, 0), in = transport.in(peer, 0);
  if (!out || !in) return 1;
  Side side{transport, *out, *in, std::vector<Line>(1024), std::vector<Line>(1024)};
  if (rank == 0) std::printf("%10s %12s %12s %12s %10s\n", "bytes", "best ns", "median ns", "worst ns", "streamed");
  for (const auto& [bytes, rounds] : {std::pair{8, 400}, {48, 400}, {64, 400}, {4096, 100}, {16384, 40}, {65536, 20}}) {
    side.streamed = side.segments = 0;
    const auto times = measure(side, rank, static_cast<std::size_t>(bytes), rounds, 200);
    if (rank == 0)
      std::printf("%10d %12.1f %12.1f %12.1f %9.0f%%\n", bytes, times.front(), times[times.size() / 2], times.back(),
                  100.0 * static_cast<double>(side.streamed) / static_cast<double>(side.segments));
  }
  return 0;
}

}  // namespace
}  // namespace toric::testing

int main() {
  using namespace toric;
  for (const TransportEntry& entry : transports()) {
    if (entry.name != "shm") continue;
    const testing::ProcessStar star(2);
    int failed = 0;
    for (const pid_t process :
         testing::fork_ranks(star, [&](Exchange& exchange) { return testing::run(exchange, entry) + std::fflush(stdout); }))
      failed += testing::status_of(process) != 0 ? 1 : 0;
    return failed;
  }
  return 1;
}
