#include "toric/topology/shape.hpp"
#include "toric/topology/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

namespace toric {
namespace {

Topology from(const std::string& spec) {
  auto made = topology_from_spec(spec);
  EXPECT_TRUE(made.ok()) << spec << ": " << made.status().text();
  return made.ok() ? *made : Topology{};
}

struct Case {
  const char* spec;
  const char* text;
};

// Worked out from the grammar: fewest levels, larger first, pairs are cliques unless doubled.
constexpr Case cases[] = {
    {"ring:8", "ring:8"},
    {"line:5", "line:5"},
    {"clique:4", "clique:4"},
    {"switch:8", "switch:8"},
    {"torus:4x4", "ring:4 x ring:4"},
    {"torus:4x2", "ring:4 x ring:2"},
    {"torus:4x2s", "ring:4 x clique:2"},
    {"torus:2sx2sx2s", "ring:4 x clique:2"},
    {"torus:2x2", "ring:2 x ring:2"},
    {"torus:3x5", "ring:5 x ring:3"},
    {"torus:2x3x4", "ring:4 x ring:3 x ring:2"},
    {"torus:8x8", "ring:8 x ring:8"},
    {"torus:4x4x8", "ring:8 x ring:4 x ring:4"},
    {"mesh:3x4", "line:4 x line:3"},
    {"mesh:4x4", "line:4 x line:4"},
    {"mesh:2x3", "line:3 x clique:2"},
};

Topology shuffled(const Topology& whole, std::mt19937& random) {
  Topology mixed = whole;
  std::vector<NodeId> devices = whole.ranks, places = whole.ranks;
  std::shuffle(places.begin(), places.end(), random);
  std::vector<NodeId> moved(whole.nodes.size());
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = static_cast<NodeId>(i);
  for (std::size_t i = 0; i < devices.size(); ++i) moved[static_cast<std::size_t>(devices[i])] = places[i];
  for (std::size_t i = 0; i < moved.size(); ++i) mixed.nodes[static_cast<std::size_t>(moved[i])] = whole.nodes[i];
  for (TopologyLink& link : mixed.links) {
    link.from = moved[static_cast<std::size_t>(link.from)];
    link.to = moved[static_cast<std::size_t>(link.to)];
  }
  std::shuffle(mixed.links.begin(), mixed.links.end(), random);
  std::shuffle(mixed.ranks.begin(), mixed.ranks.end(), random);
  return mixed;
}

/// Each direct link changes one coordinate, by one step of its level.
void expect_links_follow(const Topology& topology, const Shape& shape) {
  std::vector<Rank> rank_of(topology.nodes.size(), -1);
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank)
    rank_of[static_cast<std::size_t>(topology.ranks[rank])] = static_cast<Rank>(rank);
  std::set<std::vector<Rank>> all(shape.coordinates.begin(), shape.coordinates.end());
  ASSERT_EQ(all.size(), topology.ranks.size());
  for (const TopologyLink& link : topology.links) {
    const Rank one = rank_of[static_cast<std::size_t>(link.from)], other = rank_of[static_cast<std::size_t>(link.to)];
    if (one < 0 || other < 0) continue;
    int changed = 0;
    for (std::size_t i = 0; i < shape.levels.size(); ++i) {
      const Rank a = shape.coordinates[static_cast<std::size_t>(one)][i], b = shape.coordinates[static_cast<std::size_t>(other)][i];
      if (a == b) continue;
      ++changed;
      const Rank apart = std::abs(a - b), size = shape.levels[i].size;
      if (shape.levels[i].kind == LevelKind::ring) {
        EXPECT_TRUE(apart == 1 || apart == size - 1);
      }
      if (shape.levels[i].kind == LevelKind::line) {
        EXPECT_EQ(apart, 1);
      }
    }
    EXPECT_EQ(changed, 1);
  }
}

TEST(Shape, IsReadFromTheGraphInAnyOrder) {
  std::mt19937 random(20);
  for (const Case& one : cases) {
    SCOPED_TRACE(one.spec);
    const Topology whole = from(one.spec);
    EXPECT_EQ(shape_of(whole).text(), one.text);
    for (int i = 0; i < 50; ++i) {
      const Topology mixed = shuffled(whole, random);
      const Shape shape = shape_of(mixed);
      ASSERT_EQ(shape.text(), one.text);
      if (shape.levels.front().kind != LevelKind::switched) expect_links_follow(mixed, shape);
    }
  }
}

TEST(Shape, NaturalNumbersStayNatural) {
  const Shape shape = shape_of(from("torus:4x4"));
  for (Rank rank = 0; rank < 16; ++rank) EXPECT_EQ(shape.at({rank % 4, rank / 4}), rank);
  EXPECT_EQ(shape.at({4, 0}), -1);
  EXPECT_TRUE(shape.is_torus());
}

TEST(Shape, NearMissesAreIrregular) {
  Topology broken = from("torus:4x4");
  broken.links.erase(broken.links.begin());  // one direction gone is the pair gone
  const Shape shape = shape_of(broken);
  EXPECT_EQ(shape.text(), "irregular:16");
  EXPECT_TRUE(shape.coordinates.empty());
  EXPECT_EQ(shape.note, "torus 4x4 without the link from rank 0 to rank 1");
  const Shape twisted = shape_of(from("twisted:4x4x8"));
  EXPECT_EQ(twisted.text(), "irregular:128");
  EXPECT_NE(twisted.note.find("twisted"), std::string::npos);
}

TEST(Shape, UnevenHostsAreGroups) {
  const Shape shape = shape_of(from("hosts:7+8"));
  EXPECT_EQ(shape.text(), "irregular:15");
  ASSERT_EQ(shape.groups.size(), 2u);
  EXPECT_EQ(shape.groups[0].size(), 7u);
  EXPECT_EQ(shape.groups[1].size(), 8u);
}

TEST(Shape, RailsJoinOneRankOfEachHost) {
  std::mt19937 random(21);
  const Topology whole = from("rail:3x4");
  for (int i = 0; i < 50; ++i) {
    const Topology mixed = shuffled(whole, random);
    const Shape shape = shape_of(mixed);
    ASSERT_EQ(shape.text(), "switch:4 x rail:3");
    EXPECT_EQ(std::set<std::vector<Rank>>(shape.coordinates.begin(), shape.coordinates.end()).size(), 12u);
  }
  EXPECT_EQ(shape_of(from("hosts:4+4")).text(), "switch:4 x switch:2");
}

TEST(Shape, HostsWithoutANetworkAreTakenAsJoined) {
  Topology two;
  for (int h = 0; h < 2; ++h) {
    const NodeId host = two.add({});
    std::vector<NodeId> gpus;
    for (int g = 0; g < 4; ++g) {
      TopologyNode gpu;
      gpu.kind = NodeKind::gpu;
      gpu.parent = host;
      gpus.push_back(two.add(gpu));
      for (int before = 0; before < g; ++before) two.join(gpus[static_cast<std::size_t>(before)], gpus.back(), LinkKind::nvlink);
    }
  }
  const Shape shape = shape_of(two);
  EXPECT_EQ(shape.text(), "clique:4 x switch:2");
  EXPECT_NE(shape.note.find("nothing in the graph joins"), std::string::npos);
}

TEST(Shape, EquallyNearNicsAreSharedOut) {
  Topology two;
  TopologyNode node;
  const NodeId first = two.add(node);
  const NodeId second = two.add(node);
  node.kind = NodeKind::network_switch;
  const NodeId rails[] = {two.add(node), two.add(node)};
  for (const NodeId host : {first, second}) {
    node.parent = host;
    node.kind = NodeKind::pcie_switch;
    const NodeId bus = two.add(node);
    for (const NodeId rail : rails) {
      node.kind = NodeKind::gpu;
      two.join(two.add(node), bus, LinkKind::pcie);
      node.kind = NodeKind::nic;
      const NodeId nic = two.add(node);
      two.join(nic, bus, LinkKind::pcie);
      two.join(nic, rail, LinkKind::network);
    }
  }
  EXPECT_EQ(shape_of(two).text(), "switch:2 x rail:2");
}

TEST(Shape, FewRanks) {
  Topology none;
  none.add({});
  EXPECT_EQ(shape_of(none).text(), "irregular:0");
  Topology pair;
  const NodeId host = pair.add({});
  for (int i = 0; i < 2; ++i) {
    TopologyNode core;
    core.kind = NodeKind::core;
    core.parent = host;
    pair.add(core);
  }
  EXPECT_EQ(shape_of(pair).text(), "switch:2");
  pair.ranks = {1};
  EXPECT_EQ(shape_of(pair).text(), "irregular:1");
}

TEST(Shape, LargeToriTakeNoTime) {
  const Topology large = from("torus:16x16x16");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shape_of(large).text(), "ring:16 x ring:16 x ring:16");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace toric
