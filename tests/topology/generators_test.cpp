// The generators: grids against neighbours worked out from coordinates, clusters against counts by hand.
#include "toric/topology/generators.hpp"

#include "toric/topology/source.hpp"
#include "toric/topology/text_form.hpp"
#include "toric/topology/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace toric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Topology made(Result<Topology> result) {
  EXPECT_TRUE(result.ok()) << result.status().text();
  if (!result.ok()) return {};
  const Status status = validate(*result);
  EXPECT_TRUE(status.ok()) << status.text();
  return *std::move(result);
}

/// How many links lead from one rank straight to another.
using Links = std::map<std::pair<Rank, Rank>, int>;

Links direct_links(const Topology& topology) {
  std::vector<Rank> rank_of(topology.nodes.size(), -1);
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank)
    rank_of[static_cast<std::size_t>(topology.ranks[rank])] = static_cast<Rank>(rank);
  Links links;
  for (const TopologyLink& link : topology.links)
    ++links[{rank_of[static_cast<std::size_t>(link.from)], rank_of[static_cast<std::size_t>(link.to)]}];
  return links;
}

std::vector<Rank> coordinates(Rank rank, const std::vector<Side>& sides) {
  std::vector<Rank> found;
  for (const Side& side : sides) {
    found.push_back(rank % side.size);
    rank /= side.size;
  }
  return found;
}

/// From the definition: two chips are joined if they differ in one coordinate, by one, or by all of a wrapped side.
int expected_links(Rank one, Rank other, const std::vector<Side>& sides) {
  const auto a = coordinates(one, sides);
  const auto b = coordinates(other, sides);
  int differing = 0;
  int links = 0;
  for (std::size_t d = 0; d < sides.size(); ++d) {
    if (a[d] == b[d]) continue;
    ++differing;
    const Rank distance = std::abs(a[d] - b[d]);
    if (distance == 1) ++links;
    if (sides[d].wraps && distance == sides[d].size - 1) ++links;
  }
  return differing == 1 ? links : 0;
}

TEST(Grid, JoinsExactlyTheNeighbours) {
  const std::vector<std::vector<Side>> grids = {{{4, true}},
                                                {{4, false}},
                                                {{1, true}},
                                                {{2, true}},
                                                {{2, false}},
                                                {{3, true}},
                                                {{4, true}, {4, true}},
                                                {{4, true}, {2, true}},
                                                {{4, true}, {2, false}},
                                                {{3, false}, {1, true}, {5, true}},
                                                {{2, true}, {3, false}, {2, true}},
                                                {{4, true}, {4, true}, {8, true}}};
  for (const auto& sides : grids) {
    const Topology topology = made(make_grid(sides, {50e9, 1e-6}));
    Rank ranks = 1;
    for (const Side& side : sides) ranks *= side.size;
    ASSERT_EQ(topology.ranks.size(), static_cast<std::size_t>(ranks));
    Links links = direct_links(topology);
    for (Rank one = 0; one < ranks; ++one)
      for (Rank other = 0; other < ranks; ++other)
        if (one != other) {
          ASSERT_EQ((links[{one, other}]), expected_links(one, other, sides)) << one << " to " << other;
        }
  }
}

TEST(Grid, HasOneHostAndItsChipsAsRanksInOrder) {
  const std::vector<Side> sides = {{2, true}, {3, true}};
  const Topology topology = made(make_grid(sides, {45e9, 2e-6}, LinkKind::xgmi));
  EXPECT_EQ(topology.of_kind(NodeKind::host), std::vector<NodeId>{0});
  EXPECT_THAT(topology.ranks, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(topology.node(6).name, "gpu 5");
  EXPECT_EQ(topology.node(6).os_index, 5);
  for (const TopologyLink& link : topology.links) {
    EXPECT_EQ(link.bandwidth, 45e9);
    EXPECT_EQ(link.latency, 2e-6);
    EXPECT_EQ(link.kind, LinkKind::xgmi);
  }
}

TEST(Grid, RefusesWhatIsEmptyOrTooLarge) {
  const auto why = [](const std::vector<Side>& sides) {
    const auto result = make_grid(sides, {});
    EXPECT_FALSE(result.ok());
    return std::string(result.status().text());
  };
  EXPECT_THAT(why({}), HasSubstr("expected 1 to 16 sides, found 0"));
  EXPECT_THAT(why({{0, true}}), HasSubstr("expected sides of 1 or more, found 0"));
  EXPECT_THAT(why({{1 << 20, true}, {1 << 20, true}, {1 << 20, true}, {1 << 20, true}}), HasSubstr("expected 1 to 1048576 ranks"));
  const std::vector<Side> large(16, {2, true});
  EXPECT_TRUE(make_grid(large, {}).ok()) << "65536 ranks, 2097152 links";
  EXPECT_THAT(why({{16, true}, {16, true}, {16, true}, {16, true}, {2, true}, {2, true}, {2, true}, {2, true}, {1, true}}),
              HasSubstr("directed links"));
}

// --- twisted tori: link loads of all-to-all over shortest paths, split equally; published as 128 -> 73.33 and 256 -> 184 ---

std::vector<std::vector<Rank>> neighbours(const Topology& topology) {
  std::vector<std::vector<Rank>> found(topology.ranks.size());
  for (const auto& [ends, count] : direct_links(topology)) found[static_cast<std::size_t>(ends.first)].push_back(ends.second);
  return found;
}

/// Adds what one sender puts on each link when each receiver gets 1, by counting shortest paths (Brandes).
void add_load(const std::vector<std::vector<Rank>>& graph, std::size_t sender,
              std::map<std::pair<std::size_t, std::size_t>, double>& load) {
  std::vector<int> distance(graph.size(), -1);
  std::vector<double> paths(graph.size(), 0), onward(graph.size(), 0);
  std::vector<std::size_t> order = {sender};
  distance[sender] = 0;
  paths[sender] = 1;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const Rank rank : graph[order[i]]) {
      const auto next = static_cast<std::size_t>(rank);
      if (distance[next] < 0) {
        distance[next] = distance[order[i]] + 1;
        order.push_back(next);
      }
      if (distance[next] == distance[order[i]] + 1) paths[next] += paths[order[i]];
    }
  for (std::size_t i = order.size(); i-- > 1;) {
    const std::size_t to = order[i];
    for (const Rank rank : graph[to]) {  // links go both ways
      const auto from = static_cast<std::size_t>(rank);
      if (distance[from] + 1 != distance[to]) continue;
      const double share = paths[from] / paths[to] * (1 + onward[to]);
      onward[from] += share;
      load[{from, to}] += share;
    }
  }
}

double largest_load(const Topology& topology) {
  const auto graph = neighbours(topology);
  std::map<std::pair<std::size_t, std::size_t>, double> load;
  for (std::size_t sender = 0; sender < graph.size(); ++sender) add_load(graph, sender, load);
  double largest = 0;
  for (const auto& [link, value] : load) largest = std::max(largest, value);
  return largest;
}

TEST(TwistedTorus, SpreadsAllToAllAsPublished) {
  const std::vector<Side> plain_448 = {{4, true}, {4, true}, {8, true}};
  const std::vector<Side> plain_488 = {{4, true}, {8, true}, {8, true}};
  EXPECT_NEAR(largest_load(made(make_grid(plain_448, {}))), 128, 1e-6);
  EXPECT_NEAR(largest_load(made(make_grid(plain_488, {}))), 256, 1e-6);
  const Rank twisted_448[] = {4, 4, 8};
  const Rank twisted_488[] = {4, 8, 8};
  EXPECT_NEAR(largest_load(made(make_twisted_torus(twisted_448, {}))), 73.33, 0.005);
  EXPECT_NEAR(largest_load(made(make_twisted_torus(twisted_488, {}))), 184, 0.005);
}

TEST(TwistedTorus, EveryChipHasSixNeighbours) {
  for (const std::vector<Rank>& sides : {std::vector<Rank>{4, 4, 8}, {5, 5, 10}, {4, 8, 8}}) {
    const Topology topology = made(make_twisted_torus(sides, {50e9, 1e-6}));
    for (const auto& one : neighbours(topology)) EXPECT_EQ(one.size(), 6u);
    EXPECT_EQ(topology.links.size(), topology.ranks.size() * 6);
  }
}

TEST(TwistedTorus, RefusesOtherSides) {
  for (const std::vector<Rank>& sides :
       {std::vector<Rank>{}, {4, 8}, {4, 4, 4}, {8, 4, 4}, {4, 8, 4}, {3, 3, 6}, {0, 0, 0}, {1 << 19, 1 << 20, 1 << 20}})
    EXPECT_FALSE(make_twisted_torus(sides, {}).ok());
}

// --- groups ----------------------------------------------------------------------------------------------------------

TEST(Clique, JoinsEachPairOnce) {
  Links links = direct_links(made(make_clique(5, {25e9, 1e-6})));
  EXPECT_EQ(links.size(), 20u);
  for (const auto& [ends, count] : links) EXPECT_EQ(count, 1) << ends.first << " to " << ends.second;
  EXPECT_TRUE(made(make_clique(1, {})).links.empty());
  EXPECT_FALSE(make_clique(0, {}).ok());
  EXPECT_FALSE(make_clique(4098, {}).ok()) << "16789506 links";
}

TEST(Switch, JoinsEachChipToOneNode) {
  const Topology topology = made(make_switch(3, {450e9, 1e-6}));
  ASSERT_EQ(topology.of_kind(NodeKind::nvswitch), std::vector<NodeId>{4});
  ASSERT_EQ(topology.links.size(), 6u);
  for (std::size_t i = 0; i < 6; i += 2) {
    EXPECT_EQ(topology.links[i].from, static_cast<NodeId>(i / 2 + 1));
    EXPECT_EQ(topology.links[i].to, 4);
    EXPECT_EQ(topology.links[i + 1].from, 4);
  }
}

// --- clusters --------------------------------------------------------------------------------------------------------

ClusterPlan plan_of(std::vector<Rank> gpus, Fabric fabric) {
  ClusterPlan plan;
  plan.gpus = std::move(gpus);
  plan.fabric = fabric;
  plan.nvlink = {450e9, 0.3e-6};
  plan.pcie = {63e9, 0.35e-6};
  plan.network = {50e9, 1e-6};
  return plan;
}

std::vector<NodeId> reached_from(const Topology& topology, NodeId from, LinkKind kind) {
  std::vector<NodeId> found;
  for (const TopologyLink& link : topology.links)
    if (link.from == from && link.kind == kind) found.push_back(link.to);
  return found;
}

TEST(Cluster, RailsJoinTheSameNicOfEveryHost) {
  const Topology topology = made(make_cluster(plan_of({3, 3}, Fabric::rails)));
  // 2 hosts, 3 + 3 gpus, 3 + 3 nics, a switch in each host, 3 rails; 6 + 6 + 6 links.
  EXPECT_EQ(summary(topology, "-"), "hosts 2 packages 0 numa 0 gpus 6 nics 6 switches 5 links 18 shape -");
  const auto rails = topology.of_kind(NodeKind::network_switch);
  ASSERT_EQ(rails.size(), 3u);
  for (std::size_t rail = 0; rail < 3; ++rail) {
    const auto nics = reached_from(topology, rails[rail], LinkKind::network);
    ASSERT_EQ(nics.size(), 2u);
    EXPECT_EQ(topology.node(nics[0]).os_index, static_cast<int>(rail));
    EXPECT_EQ(topology.node(nics[1]).os_index, static_cast<int>(rail));
    EXPECT_NE(topology.host_of(nics[0]), topology.host_of(nics[1]));
    EXPECT_EQ(topology.host_of(rails[rail]), no_node);
  }
  for (std::size_t rank = 0; rank < 6; ++rank) {
    const NodeId gpu = topology.ranks[rank];
    const auto nics = reached_from(topology, gpu, LinkKind::pcie);
    ASSERT_EQ(nics.size(), 1u);
    EXPECT_EQ(topology.node(nics[0]).os_index, topology.node(gpu).os_index);
    EXPECT_EQ(topology.host_of(nics[0]), topology.host_of(gpu));
  }
  for (const TopologyLink& link : topology.links) {
    const double expected = link.kind == LinkKind::nvlink ? 450e9 : link.kind == LinkKind::pcie ? 63e9 : 50e9;
    EXPECT_EQ(link.bandwidth, expected);
  }
}

TEST(Cluster, UnevenHostsAndOneNicEach) {
  ClusterPlan plan = plan_of({7, 8}, Fabric::one_switch);
  EXPECT_EQ(summary(made(make_cluster(plan)), "-"), "hosts 2 packages 0 numa 0 gpus 15 nics 15 switches 3 links 45 shape -");
  plan.nic_per_gpu = false;
  // switches: NVSwitch and PCIe switch a host, one network switch; links: 15 NVLink, 15 + 2 PCIe, 2 network.
  const Topology topology = made(make_cluster(plan));
  EXPECT_EQ(summary(topology, "-"), "hosts 2 packages 0 numa 0 gpus 15 nics 2 switches 5 links 34 shape -");
  EXPECT_EQ(topology.host_of(topology.ranks[6]), 0);
  EXPECT_NE(topology.host_of(topology.ranks[7]), 0);
}

TEST(Cluster, LeavesShareTheirTaperedUplinksAmongSpines) {
  ClusterPlan plan = plan_of({4, 4, 4, 4, 4}, Fabric::leaf_spine);
  plan.hosts_per_leaf = 2;
  plan.taper = 2;
  plan.spines = 2;
  const Topology topology = made(make_cluster(plan));
  // 3 leaves (2, 2 and 1 hosts) and 2 spines: 20 NICs below, 6 uplinks. A full leaf has 8 x 50 GB/s below, 200 GB/s above.
  EXPECT_EQ(summary(topology, "-"), "hosts 5 packages 0 numa 0 gpus 20 nics 20 switches 10 links 66 shape -");
  int uplinks = 0;
  for (const TopologyLink& link : topology.links) {
    if (topology.node(link.from).kind != NodeKind::network_switch || topology.node(link.to).kind != NodeKind::network_switch) continue;
    ++uplinks;
    EXPECT_EQ(link.bandwidth, 100e9);
  }
  EXPECT_EQ(uplinks, 12);
  plan.hosts_per_leaf = 5;
  EXPECT_EQ(made(make_cluster(plan)).of_kind(NodeKind::network_switch).size(), 1u) << "a single leaf needs no spine";
}

TEST(Cluster, AHostAloneHasNoNetworkAndAGpuAloneNoSwitch) {
  EXPECT_EQ(summary(made(make_cluster(plan_of({1}, Fabric::rails))), "-"),
            "hosts 1 packages 0 numa 0 gpus 1 nics 1 switches 0 links 1 shape -");
  EXPECT_EQ(summary(made(make_cluster(plan_of({1, 1}, Fabric::one_switch))), "-"),
            "hosts 2 packages 0 numa 0 gpus 2 nics 2 switches 1 links 4 shape -");
}

TEST(Cluster, OneNvswitchMaySpanHosts) {
  ClusterPlan plan = plan_of({4, 4, 4, 4}, Fabric::rails);
  plan.hosts_per_nvswitch = 2;
  const Topology topology = made(make_cluster(plan));
  const auto switches = topology.of_kind(NodeKind::nvswitch);
  ASSERT_EQ(switches.size(), 2u);
  for (const NodeId one : switches) {
    EXPECT_EQ(topology.host_of(one), no_node);
    EXPECT_EQ(reached_from(topology, one, LinkKind::nvlink).size(), 8u);
  }
}

TEST(Cluster, PcieIsAsFastAsTheNetworkUnlessGiven) {
  ClusterPlan plan = plan_of({2}, Fabric::rails);
  plan.pcie.bandwidth = 0;
  const Topology topology = made(make_cluster(plan));
  for (const TopologyLink& link : topology.links)
    if (link.kind == LinkKind::pcie) {
      EXPECT_EQ(link.bandwidth, 50e9);
    }
}

TEST(Cluster, RefusesWhatIsEmptyOrTooLarge) {
  EXPECT_FALSE(make_cluster(plan_of({}, Fabric::rails)).ok());
  EXPECT_FALSE(make_cluster(plan_of({4, 0}, Fabric::rails)).ok());
  EXPECT_FALSE(make_cluster(plan_of({1 << 20, 1}, Fabric::rails)).ok());
  ClusterPlan plan = plan_of(std::vector<Rank>(1000, 1), Fabric::leaf_spine);
  plan.hosts_per_leaf = 1;
  plan.spines = 1 << 20;
  EXPECT_FALSE(make_cluster(plan).ok()) << "more than a billion uplinks";
  plan.spines = 1;
  plan.taper = 0;
  EXPECT_FALSE(make_cluster(plan).ok());
}

TEST(Generators, WhatTheyMakeIsReadBackTheSame) {
  const std::vector<Side> sides = {{4, true}, {2, true}, {3, false}};
  const Rank twisted[] = {4, 4, 8};
  for (const Topology& topology :
       {made(make_grid(sides, {50e9 / 3, 1e-6 / 7})), made(make_twisted_torus(twisted, {50e9, 0})), made(make_clique(6, {0, 1e-6})),
        made(make_cluster(plan_of({7, 8}, Fabric::leaf_spine))), made(make_cluster(plan_of({2, 2, 2}, Fabric::rails)))}) {
    const auto again = read_topology_text(topology_text(topology), "file");
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_EQ(hash_of(topology), hash_of(again->topology));
  }
}

}  // namespace
}  // namespace toric
