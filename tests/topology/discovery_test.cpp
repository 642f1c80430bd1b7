#include "toric/topology/discovery.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace toric {
namespace {

Topology described(const std::string& synthetic) {
  Result<Topology> topology = describe_host(synthetic);
  EXPECT_TRUE(topology.ok()) << topology.status().text();
  return topology.ok() ? *topology : Topology();
}

std::size_t count(const Topology& topology, NodeKind kind) { return topology.of_kind(kind).size(); }

std::size_t caches(const Topology& topology, int level) {
  const std::vector<NodeId> all = topology.of_kind(NodeKind::cache);
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](NodeId id) { return topology.node(id).level == level; }));
}

std::vector<int> up_to(int end) {
  std::vector<int> numbers(static_cast<std::size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// What every reader may rely on, whatever the machine.
void expect_sane(const Topology& topology) {
  ASSERT_FALSE(topology.nodes.empty());
  EXPECT_EQ(topology.nodes.front().kind, NodeKind::host);
  EXPECT_EQ(topology.nodes.front().parent, no_node);
  std::set<int> cpus_of_cores;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    const TopologyNode& node = topology.nodes[i];
    EXPECT_FALSE(node.name.empty()) << "node " << i;
    if (i > 0) {
      EXPECT_GE(node.parent, 0) << "node " << i;
      EXPECT_LT(node.parent, static_cast<NodeId>(i)) << "parents come before their children";
    }
    EXPECT_TRUE(std::ranges::is_sorted(node.cpus)) << node.name;
    if (node.kind != NodeKind::core) continue;
    for (const int cpu : node.cpus) {
      EXPECT_TRUE(cpus_of_cores.insert(cpu).second) << "CPU " << cpu << " is in two cores";
      EXPECT_EQ(topology.core_of(cpu), static_cast<NodeId>(i));
    }
  }
  for (const int cpu : topology.allowed_cpus) EXPECT_TRUE(cpus_of_cores.contains(cpu)) << "CPU " << cpu << " is in no core";
  for (const TopologyLink& link : topology.links) {
    const auto back = std::ranges::count_if(topology.links, [&](const TopologyLink& l) { return l.from == link.to && l.to == link.from; });
    EXPECT_EQ(back, 1) << topology.node(link.from).name << " -> " << topology.node(link.to).name;
  }
}

TEST(Discovery, TwoPackagesWithHardwareThreads) {
  const Topology topology = described("package:2 numa:1 l3:1 core:4 pu:2");
  expect_sane(topology);
  EXPECT_EQ(count(topology, NodeKind::host), 1u);
  EXPECT_EQ(count(topology, NodeKind::package), 2u);
  EXPECT_EQ(count(topology, NodeKind::numa), 2u);
  EXPECT_EQ(count(topology, NodeKind::core), 8u);
  EXPECT_EQ(caches(topology, 3), 2u);
  EXPECT_EQ(caches(topology, 2), 0u);
  EXPECT_EQ(topology.allowed_cpus, up_to(16));
  for (const NodeId core : topology.of_kind(NodeKind::core)) {
    EXPECT_EQ(topology.node(core).cpus.size(), 2u);
    const NodeId package = topology.ancestor(core, NodeKind::package);
    ASSERT_NE(package, no_node);
    EXPECT_EQ(topology.node(core).numa, topology.node(package).os_index);
  }
  EXPECT_EQ(topology.node(0).numa, -1) << "a host with two NUMA nodes is near neither";
}

TEST(Discovery, CachesKeepTheirSizesAndSharing) {
  const Topology topology = described("package:1 l3:2(size=33554432) l2:2(size=1048576) l1d:2(size=32768) core:1 pu:1");
  expect_sane(topology);
  EXPECT_EQ(caches(topology, 3), 2u);
  EXPECT_EQ(caches(topology, 2), 4u);
  EXPECT_EQ(caches(topology, 1), 8u);
  for (const NodeId id : topology.of_kind(NodeKind::cache)) {
    const TopologyNode& cache = topology.node(id);
    EXPECT_EQ(cache.cpus.size(), cache.level == 3 ? 4u : cache.level == 2 ? 2u : 1u);
    EXPECT_EQ(cache.bytes, cache.level == 3 ? 32u << 20 : cache.level == 2 ? 1u << 20 : 32u << 10);
  }
}

TEST(Discovery, SeveralNumaNodesInAPackage) {
  const Topology topology = described("package:2 numa:4(memory=17179869184) core:2 pu:1");
  expect_sane(topology);
  ASSERT_EQ(count(topology, NodeKind::numa), 8u);
  std::set<int> nodes;
  for (const NodeId id : topology.of_kind(NodeKind::numa)) {
    EXPECT_EQ(topology.node(id).bytes, std::uint64_t{16} << 30);
    EXPECT_EQ(topology.node(id).cpus.size(), 2u);
    nodes.insert(topology.node(id).os_index);
  }
  EXPECT_EQ(nodes.size(), 8u);
  std::vector<int> cores_by_node(8, 0);
  for (const NodeId id : topology.of_kind(NodeKind::core)) {
    ASSERT_GE(topology.node(id).numa, 0);
    ++cores_by_node[static_cast<std::size_t>(topology.node(id).numa)];
  }
  EXPECT_EQ(cores_by_node, std::vector<int>(8, 2));
}

TEST(Discovery, AMachineThatTellsOnlyItsCpus) {
  const Topology topology = described("pu:3");
  expect_sane(topology);
  EXPECT_EQ(count(topology, NodeKind::core), 3u);
  EXPECT_EQ(count(topology, NodeKind::package), 0u);
  EXPECT_EQ(topology.allowed_cpus, up_to(3));
}

TEST(Discovery, LinksFollowContainmentBothWays) {
  const Topology topology = described("package:2 core:2 pu:1");
  // Every node but the host hangs on one pair of links.
  EXPECT_EQ(topology.links.size(), 2 * (topology.nodes.size() - 1));
  const NodeId package = topology.of_kind(NodeKind::package).front();
  EXPECT_EQ(std::ranges::count_if(topology.links, [&](const TopologyLink& l) { return l.from == 0 && l.to == package; }), 1);
}

TEST(Discovery, NonsenseIsAnErrorThatSaysHowToWriteIt) {
  const Result<Topology> topology = describe_host("sofa:2 chair:4");
  ASSERT_FALSE(topology.ok());
  EXPECT_EQ(topology.status().code(), Code::invalid_argument);
  EXPECT_NE(topology.status().text().find("sofa:2"), std::string_view::npos);
  EXPECT_NE(topology.status().text().find("package:2"), std::string_view::npos);
}

TEST(Discovery, ThisHost) {
  const Result<Topology> topology = discover_host();
  ASSERT_TRUE(topology.ok()) << topology.status().text();
  expect_sane(*topology);
  EXPECT_GE(topology->of_kind(NodeKind::core).size(), 1u);
  EXPECT_GE(static_cast<long>(topology->node(0).cpus.size()), sysconf(_SC_NPROCESSORS_ONLN));
}

/// The CPUs that the operating system says this thread may use.
std::vector<int> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void set_affinity(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

TEST(Discovery, AllowedCpusAreThoseThisProcessIsBoundTo) {
  const std::vector<int> before = affinity();
  ASSERT_FALSE(before.empty());
  const Result<Topology> unbound = discover_host();
  ASSERT_TRUE(unbound.ok());
  EXPECT_EQ(unbound->allowed_cpus, before);

  set_affinity({before.back()});
  const Result<Topology> bound = discover_host();
  set_affinity(before);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->allowed_cpus, std::vector<int>{before.back()});
  EXPECT_EQ(bound->node(0).cpus, unbound->node(0).cpus) << "the machine stays what it is";
}

}  // namespace
}  // namespace toric
