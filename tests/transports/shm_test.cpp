// The shared segment between real processes: order, death, and nothing left behind; and how much memory there is.
#include "toric/shm/shm.hpp"
#include "conformance.hpp"
#include "process_exchange.hpp"
#include "toric/shm/memory.hpp"
#include "toric/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

namespace toric::testing {
namespace {

using namespace std::chrono_literals;

/// What this process maps: the segment must be there, and nothing that has a name in the shared-memory file system.
bool maps_nothing_that_stays() {
  std::ifstream file("/proc/self/maps");
  bool segment = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find("/dev/shm") != std::string::npos) return false;
    segment = segment || line.find("/memfd:toric (deleted)") != std::string::npos;
  }
  return segment;
}

/// Whether this process still holds a segment, by mapping or by descriptor.
bool holds_a_segment() {
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);)
    if (line.find("memfd:toric") != std::string::npos) return true;
  std::error_code error;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd"))
    if (std::filesystem::read_symlink(descriptor, error).string().find("memfd:toric") != std::string::npos) return true;
  return false;
}

TEST(Shm, ProcessesTalkInAllDirections) {
  const ProcessStar star(4);
  const auto processes = fork_ranks(star, [](Exchange& exchange) {
    auto made = make_shm({}, exchange);
    require(made.ok());
    Transport& mine = **made;
    const Rank rank = exchange.rank(), count = exchange.ranks();
    constexpr std::uint64_t messages = 60;
    std::vector<std::uint64_t> sent(static_cast<std::size_t>(count)), received(static_cast<std::size_t>(count));
    const auto bytes_of = [&](std::uint64_t number) { return 1 + (number * 4099) % mine.segment_bytes(); };
    const bool finished = until([&] {
      bool complete = true;
      for (Rank peer = 0; peer < count; ++peer) {
        if (peer == rank) continue;
        auto &out = sent[static_cast<std::size_t>(peer)], &in = received[static_cast<std::size_t>(peer)];
        const auto path = static_cast<std::uint64_t>(rank * count + peer), back = static_cast<std::uint64_t>(peer * count + rank);
        if (out < messages && try_send(mine, *mine.out(peer, 0), bytes_of(out), path, out, Store{out % 2 == 0})) ++out;
        if (in < messages && try_receive(mine, *mine.in(peer, 0), bytes_of(in), back, in)) ++in;
        complete = complete && out == messages && in == messages;
      }
      return complete || !mine.failed().ok();
    });
    require(finished && mine.failed().ok());
    return ::testing::Test::HasFailure() ? 1 : 0;
  });
  for (const pid_t process : processes) EXPECT_EQ(status_of(process), 0);
}

TEST(Shm, ProcessesWakeEachOther) {
  const ProcessStar star(2);
  const auto processes = fork_ranks(star, [](Exchange& exchange) {
    auto made = make_shm({}, exchange);
    require(made.ok());
    Transport& mine = **made;
    const Rank rank = exchange.rank();
    const Port out = *mine.out(1 - rank, 0), in = *mine.in(1 - rank, 0);
    for (std::uint64_t number = 0; number < 20'000; ++number) {
      if (rank == 0) require(try_send(mine, out, 8, 0, number));
      while (!try_receive(mine, in, 8, static_cast<std::uint64_t>(1 - rank), number)) {
        mine.arm();
        if (mine.peek(in, 8) == nullptr) {
          const auto deadline = Clock::now() + 10s;
          mine.wait(deadline);
          require(Clock::now() < deadline);
        } else {
          mine.disarm();
        }
      }
      if (rank == 1) require(try_send(mine, out, 8, 1, number));
    }
    return 0;
  });
  for (const pid_t process : processes) EXPECT_EQ(status_of(process), 0);
}

TEST(Shm, AKilledPeerLeavesNothingBehindAndHarmsNobody) {
  const ProcessStar star(3);
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const auto processes = fork_ranks(star, [&](Exchange& exchange) {
    auto made = make_shm({}, exchange);
    require(made.ok());
    Transport& mine = **made;
    require(maps_nothing_that_stays());
    if (exchange.rank() == 2) {  // killed in the middle of its work: one message sent, one begun, asleep
      const Port out = *mine.out(0, 0);
      require(try_send(mine, out, 5000, 1, 0));
      require(mine.reserve(out, 5000) != nullptr);
      require(write(told[1], "x", 1) == 1);
      while (true) {  // the receiver's release wakes it once
        mine.arm();
        mine.wait(Deadline::max());
      }
    }
    if (exchange.rank() == 1) return try_send(mine, *mine.out(0, 0), 8, 2, 0) ? 0 : 1;
    Port in = *mine.in(2, 0);
    require(until([&] { return try_receive(mine, in, 5000, 1, 0); }));
    require(until([&] { return try_receive(mine, *mine.in(1, 0), 8, 2, 0); }));
    std::byte go{};
    require(read(star.rank_end(0), &go, 1) == 1);  // the peer is dead now
    require(mine.peek(in, 5000) == nullptr);
    mine.arm();
    mine.wait(Clock::now() + 20ms);
    const Port out = *mine.out(2, 5);
    while (try_send(mine, out, 65536, 3, 0)) {
    }
    mine.wake(2);
    require(mine.failed().ok());
    made->reset();
    require(!holds_a_segment());
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(read(told[0], &byte, 1), 1);
  kill(processes[2], SIGKILL);
  EXPECT_EQ(status_of(processes[2]), 1000 + SIGKILL);
  ASSERT_EQ(write(star.hub_end(0), "g", 1), 1);
  EXPECT_EQ(status_of(processes[0]), 0);
  EXPECT_EQ(status_of(processes[1]), 0);
  close(told[0]);
  close(told[1]);
}

TEST(Shm, ProcessesThatAreNotOneAreRefusedByLocal) {
  const ProcessStar star(2);
  for (const pid_t process : fork_ranks(star, [](Exchange& exchange) {
         const auto made = transports()[0].make({}, exchange);
         require(!made.ok());
         require(made.status().text().find("another process") != std::string_view::npos);
         return 0;
       }))
    EXPECT_EQ(status_of(process), 0);
}

TEST(Shm, AFileSizeLimitIsNamedBeforeItKills) {
  const ProcessStar star(2);
  for (const pid_t process : fork_ranks(star, [](Exchange& exchange) {
         const rlimit limit{1 << 20, 1 << 20};
         setrlimit(RLIMIT_FSIZE, &limit);
         const auto made = make_shm({}, exchange);
         require(!made.ok());
         require(made.status().text().find("ulimit -f") != std::string_view::npos);
         return 0;
       }))
    EXPECT_EQ(status_of(process), 0);
}

TEST(Segment, OnlyUsedRingsTakeMemory) {
  const auto config = *ring::ring_config({});
  const auto made = shm::Segment::make(config, 8);
  ASSERT_TRUE(made.ok()) << made.status().text();
  const int descriptor = *made;
  auto segment = shm::Segment::attach(dup(descriptor), config, 8);
  ASSERT_TRUE(segment.ok()) << segment.status().text();
  const auto used = [&] {
    struct stat file {};
    fstat(descriptor, &file);
    return static_cast<std::size_t>(file.st_blocks) * 512;
  };
  const shm::Segment::Layout layout(config, 8);
  EXPECT_EQ(used(), layout.blocks_at);
  std::size_t taken = 0;
  ASSERT_TRUE((*segment)->ring(0, 1, 0, taken).ok());
  ASSERT_TRUE((*segment)->ring(0, 1, 0, taken).ok());
  EXPECT_EQ(taken, layout.block_bytes);
  EXPECT_EQ(used(), layout.blocks_at + layout.block_bytes);
  close(descriptor);
}

TEST(Segment, RefusesWhatIsNotTheExpectedSegment) {
  const auto config = *ring::ring_config({});
  TransportConfig other_config;
  other_config.slots = 9;
  const auto refusal = [&](int descriptor, Rank ranks, const ring::RingConfig& expected) {
    const auto segment = shm::Segment::attach(descriptor, expected, ranks);
    return segment ? std::string() : std::string(segment.status().text());
  };
  const int descriptor = *shm::Segment::make(config, 2);
  EXPECT_EQ(refusal(dup(descriptor), 2, config), "");
  const std::string other = refusal(dup(descriptor), 2, *ring::ring_config(other_config));
  for (const char* part : {"slots 9", "slots 4"}) EXPECT_NE(other.find(part), std::string::npos) << other;
  EXPECT_NE(refusal(dup(descriptor), 3, config).find("2 ranks"), std::string::npos);
  const std::uint32_t version = shm::segment_version + 1;
  ASSERT_EQ(pwrite(descriptor, &version, sizeof version, offsetof(shm::SegmentHeader, version)), 4);
  EXPECT_NE(refusal(dup(descriptor), 2, config).find("version " + std::to_string(version)), std::string::npos);
  close(descriptor);
  EXPECT_NE(refusal(memfd_create("other", MFD_CLOEXEC), 2, config).find("not a shared segment"), std::string::npos);
}

TEST(Segment, NobodyCanShortenIt) {
  const int descriptor = *shm::Segment::make(*ring::ring_config({}), 2);
  EXPECT_NE(ftruncate(descriptor, 4096), 0);
  close(descriptor);
}

/// A folder with what /proc and the control groups would say.
class FakeSystem {
 public:
  FakeSystem() {
    char name[] = "/tmp/toric_memory_XXXXXX";
    root_ = mkdtemp(name);
  }
  ~FakeSystem() { std::filesystem::remove_all(root_); }
  FakeSystem(const FakeSystem&) = delete;
  FakeSystem& operator=(const FakeSystem&) = delete;
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  [[nodiscard]] shm::Available available() const { return shm::available_memory(root_ + "/proc", root_ + "/groups"); }

 private:
  std::string root_;
};

TEST(AvailableMemory, IsTheLeastOfHostAndGroups) {
  const FakeSystem system;
  EXPECT_EQ(system.available().bytes, std::numeric_limits<std::size_t>::max());
  system.write("/proc/meminfo", "MemTotal: 9000 kB\nMemFree:  10 kB\nMemAvailable:    4000 kB\n");
  EXPECT_EQ(system.available().bytes, 4000U * 1024);
  system.write("/proc/self/cgroup", "4:memory:/elsewhere\n0::/job/step\n");
  system.write("/groups/job/step/memory.max", "max\n");
  system.write("/groups/job/step/memory.current", "77\n");
  EXPECT_EQ(system.available().bytes, 4000U * 1024);
  system.write("/groups/job/memory.max", "5000\n");
  system.write("/groups/job/memory.current", "3000\n");
  EXPECT_EQ(system.available().bytes, 2000U);
  EXPECT_NE(system.available().source.find("/groups/job/memory.max"), std::string::npos);
  system.write("/groups/job/memory.stat", "anon 5\ninactive_file 500\n");
  EXPECT_EQ(system.available().bytes, 2500U);
  system.write("/groups/job/memory.current", "9000\n");
  EXPECT_EQ(system.available().bytes, 0U);
  system.write("/groups/memory.max", "100\n");  // a container sees its own group as the root
  system.write("/groups/memory.current", "100\n");
  system.write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(system.available().bytes, 0U);
}

TEST(AvailableMemory, OfThisMachineIsKnown) {
  const auto found = shm::available_memory();
  EXPECT_GT(found.bytes, 1U << 20);
  EXPECT_LT(found.bytes, std::size_t{1} << 50);
}

}  // namespace
}  // namespace toric::testing
