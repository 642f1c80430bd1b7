#include "toric/topology/placement.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "toric/topology/discovery.hpp"

namespace toric {
namespace {

Topology described(const std::string& synthetic) {
  Result<Topology> topology = describe_host(synthetic);
  EXPECT_TRUE(topology.ok()) << topology.status().text();
  return topology.ok() ? *topology : Topology();
}

std::vector<int> cpus_of(const std::vector<Placement>& placements) {
  std::vector<int> cpus;
  for (const Placement& placement : placements) cpus.push_back(placement.cpu);
  return cpus;
}

bool all_pinned(const std::vector<Placement>& placements, bool wanted) {
  for (const Placement& placement : placements)
    if (placement.pinned != wanted) return false;
  return true;
}

// Cores hold CPUs {0,1} {2,3} {4,5} {6,7} in package 0 and {8,9} ... {14,15} in package 1.
TEST(Placement, OneRankACore) {
  const Topology topology = described("package:2 numa:1 l3:1 core:4 pu:2");
  const std::vector<Placement> placed = place_ranks(topology, 8);
  EXPECT_EQ(cpus_of(placed), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_TRUE(all_pinned(placed, true));
  for (Rank rank = 0; rank < 8; ++rank) {
    const Placement& placement = placed[static_cast<std::size_t>(rank)];
    EXPECT_EQ(placement.local_rank, rank);
    EXPECT_EQ(placement.core, topology.core_of(placement.cpu));
    EXPECT_EQ(placement.numa, rank / 4);
  }
}

TEST(Placement, ThenTheSecondHardwareThreads) {
  const Topology topology = described("package:2 numa:1 l3:1 core:4 pu:2");
  const std::vector<Placement> placed = place_ranks(topology, 11);
  EXPECT_EQ(cpus_of(placed), (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5}));
  EXPECT_TRUE(all_pinned(placed, true));
  EXPECT_TRUE(all_pinned(place_ranks(topology, 16), true));
}

TEST(Placement, MoreRanksThanCpusStartOverAndNobodyIsPinned) {
  const std::vector<Placement> placed = place_ranks(described("core:2 pu:1"), 5);
  EXPECT_EQ(cpus_of(placed), (std::vector<int>{0, 1, 0, 1, 0}));
  EXPECT_TRUE(all_pinned(placed, false));
}

TEST(Placement, HardwareThreadsNumberedAsLinuxDoes) {
  // CPU n and n + 4 are threads of one core, as on most servers.
  const Topology topology = described("package:1 core:4 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_EQ(cpus_of(place_ranks(topology, 6)), (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(Placement, OnlyAllowedCpusAreUsed) {
  Topology topology = described("package:2 core:2 pu:2");  // cores {0,1} {2,3} {4,5} {6,7}
  topology.allowed_cpus = {1, 4, 5};
  EXPECT_EQ(cpus_of(place_ranks(topology, 3)), (std::vector<int>{1, 4, 5}));
  EXPECT_TRUE(all_pinned(place_ranks(topology, 3), true));
  EXPECT_EQ(cpus_of(place_ranks(topology, 4)), (std::vector<int>{1, 4, 5, 1}));
  EXPECT_TRUE(all_pinned(place_ranks(topology, 4), false));
}

TEST(Placement, NothingKnownPlacesNobodyAnywhere) {
  const std::vector<Placement> placed = place_ranks(Topology(), 2);
  ASSERT_EQ(placed.size(), 2u);
  for (const Placement& placement : placed) {
    EXPECT_EQ(placement.cpu, -1);
    EXPECT_EQ(placement.core, no_node);
    EXPECT_FALSE(placement.pinned);
  }
  EXPECT_TRUE(place_ranks(described("core:2 pu:1"), 0).empty());
}

TEST(Placement, PinningBindsTheCallingThreadAlone) {
  const Result<Topology> host = discover_host();
  ASSERT_TRUE(host.ok()) << host.status().text();
  for (const Placement& placement : place_ranks(*host, static_cast<Rank>(host->allowed_cpus.size()))) {
    std::thread([&] {
      const Status pinned = pin_this_thread(placement.cpu);
      ASSERT_TRUE(pinned.ok()) << pinned.text();
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
      EXPECT_EQ(CPU_COUNT(&set), 1);
      EXPECT_TRUE(CPU_ISSET(placement.cpu, &set));
    }).join();
  }
  const Result<Topology> after = discover_host();
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->allowed_cpus, host->allowed_cpus);
}

TEST(Placement, PinningToACpuThatIsNotThereSaysWhich) {
  for (const int cpu : {-1, 1'000'000}) {
    const Status pinned = pin_this_thread(cpu);
    ASSERT_FALSE(pinned.ok());
    EXPECT_NE(pinned.text().find(std::to_string(cpu)), std::string_view::npos);
  }
}

}  // namespace
}  // namespace toric
