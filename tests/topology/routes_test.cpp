// Routes: on tori by the rule, written out by hand; elsewhere against all paths there are.
#include "toric/topology/routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "toric/topology/grid_shape.hpp"

namespace toric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// `gpus` accelerators, which are the ranks, then `others` switches; no links yet.
Topology nodes(int gpus, int others = 0) {
  Topology topology;
  topology.add({});
  for (int i = 0; i < gpus + others; ++i) {
    TopologyNode node;
    node.kind = i < gpus ? NodeKind::gpu : NodeKind::network_switch;
    node.parent = 0;
    const NodeId id = topology.add(node);
    if (i < gpus) topology.ranks.push_back(id);
  }
  return topology;
}

NodeId rank_node(const Topology& topology, Rank rank) { return topology.ranks[static_cast<std::size_t>(rank)]; }

Shape no_shape() {
  Shape shape;
  shape.levels.emplace_back();
  return shape;
}

/// A torus, first side fastest; what joins neighbours is one link each way for each direction round.
Topology torus(const std::vector<Rank>& sides) {
  Rank ranks = 1;
  for (const Rank side : sides) ranks *= side;
  Topology topology = nodes(ranks);
  Rank stride = 1;
  for (const Rank side : sides) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank at = rank / stride % side;
      topology.join(rank_node(topology, rank), rank_node(topology, rank + ((at + 1) % side - at) * stride), LinkKind::network, 1e9, 1e-6);
    }
    stride *= side;
  }
  return topology;
}

/// The ranks a route passes, both ends included; the links must follow one another.
std::vector<Rank> stations(const Topology& topology, std::span<const LinkId> route, Rank from) {
  std::map<NodeId, Rank> rank_of;
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) rank_of[topology.ranks[rank]] = static_cast<Rank>(rank);
  std::vector<Rank> passed{from};
  for (const LinkId link : route) {
    EXPECT_EQ(topology.links[link].from, rank_node(topology, passed.back()));
    passed.push_back(rank_of.at(topology.links[link].to));
  }
  return passed;
}

// A 6 x 4 torus; rank = x + 6y.
TEST(TorusRoutes, GoAlongOneDimensionAfterTheOther) {
  const Topology topology = torus({6, 4});
  const Shape shape = torus_shape({6, 4});
  const Routes routes(topology, shape);
  const auto way = [&](Rank from, Rank to) { return stations(topology, routes.route(from, to), from); };
  EXPECT_THAT(way(0, 8), ElementsAre(0, 1, 2, 8));    // to (2, 1)
  EXPECT_THAT(way(8, 0), ElementsAre(8, 7, 6, 0));    // back: x first again, not the same way
  EXPECT_THAT(way(0, 5), ElementsAre(0, 5));          // round the end
  EXPECT_THAT(way(5, 1), ElementsAre(5, 0, 1));       // and over it
  EXPECT_THAT(way(0, 22), ElementsAre(0, 5, 4, 22));  // to (4, 3): down both
  EXPECT_THAT(way(0, 3), ElementsAre(0, 1, 2, 3));    // half way round from an even place: up
  EXPECT_THAT(way(1, 4), ElementsAre(1, 0, 5, 4));    // from an odd one: down
  EXPECT_THAT(way(6, 18), ElementsAre(6, 0, 18));     // y from 1 to 3: odd, down
  EXPECT_THAT(way(12, 0), ElementsAre(12, 18, 0));    // y from 2 to 0: even, up
  EXPECT_THAT(way(7, 7), ElementsAre(7));
}

TEST(TorusRoutes, FollowTheCoordinatesWhateverTheRanksNumbers) {
  Topology topology = torus({4, 3});
  Shape shape = torus_shape({4, 3});
  std::ranges::reverse(topology.ranks);
  std::ranges::reverse(shape.coordinates);
  const Routes routes(topology, shape);
  EXPECT_THAT(stations(topology, routes.route(11, 5), 11), ElementsAre(11, 10, 9, 5));  // places 0, 1, 2, 6: (0,0) to (2,1)
}

TEST(TorusRoutes, ASideOfTwoHasALinkForEachDirection) {
  const Topology topology = torus({2});
  const Shape shape = torus_shape({2});
  const Routes routes(topology, shape);
  EXPECT_THAT(routes.route(0, 1, 0), ElementsAre(0));
  EXPECT_THAT(routes.route(0, 1, 1), ElementsAre(3));
  EXPECT_THAT(routes.route(0, 1, 2), ElementsAre(0));
  EXPECT_THAT(routes.route(1, 0, 0), ElementsAre(1));
  EXPECT_THAT(routes.route(1, 0, 1), ElementsAre(2));
}

// A line of 4 (no way round the ends) by a clique of 2.
TEST(TorusRoutes, LinesHaveEnds) {
  Topology topology = nodes(8);
  for (Rank rank = 0; rank < 8; ++rank)
    if (rank % 4 != 3) topology.join(rank_node(topology, rank), rank_node(topology, rank + 1), LinkKind::network, 1e9, 1e-6);
  for (Rank rank = 0; rank < 4; ++rank)
    topology.join(rank_node(topology, rank), rank_node(topology, rank + 4), LinkKind::network, 1e9, 1e-6);
  Shape shape = torus_shape({4, 2});
  shape.levels[0].kind = LevelKind::line;
  shape.levels[1].kind = LevelKind::clique;
  shape.levels[1].doubled = false;
  const Routes routes(topology, shape);
  EXPECT_THAT(stations(topology, routes.route(0, 7), 0), ElementsAre(0, 1, 2, 3, 7));
  EXPECT_THAT(stations(topology, routes.route(7, 0), 7), ElementsAre(7, 6, 5, 4, 0));
  EXPECT_THAT(stations(topology, routes.route(1, 3), 1), ElementsAre(1, 2, 3));
}

// Neighbours of a ring that are joined through a device of their own each: the way between neighbours is the best there is.
TEST(TorusRoutes, NeighboursMayBeJoinedThroughOtherNodes) {
  Topology topology = nodes(4, 4);
  for (Rank rank = 0; rank < 4; ++rank) {
    topology.join(rank_node(topology, rank), rank_node(topology, rank) + 4, LinkKind::pcie, 1e9, 1e-6);
    topology.join(rank_node(topology, rank) + 4, rank_node(topology, (rank + 1) % 4), LinkKind::pcie, 1e9, 1e-6);
  }
  const Shape shape = torus_shape({4});
  const Routes routes(topology, shape);
  EXPECT_THAT(routes.route(0, 2), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(routes.route(0, 3), ElementsAre(15, 13));
}

// A shape that says torus where a link was taken out: there still is a way.
TEST(TorusRoutes, AMissingLinkIsGoneRound) {
  Topology topology = torus({5});
  topology.links.erase(topology.links.begin(), topology.links.begin() + 2);  // between 0 and 1
  const Shape shape = torus_shape({5});
  const Routes routes(topology, shape);
  EXPECT_THAT(stations(topology, routes.route(0, 1), 0), ElementsAre(0, 4, 3, 2, 1));
}

TEST(BestRoutes, GoBySwitches) {
  Topology topology = nodes(3, 1);
  for (Rank rank = 0; rank < 3; ++rank) topology.join(rank_node(topology, rank), 4, LinkKind::nvlink, 1e9, 1e-6);
  const Shape shape = no_shape();
  const Routes routes(topology, shape);
  EXPECT_THAT(routes.route(0, 2), ElementsAre(0, 5));
  EXPECT_THAT(routes.route(2, 1), ElementsAre(4, 3));
}

// From 0 to 1 through 2 or directly. Least latency decides, then fewest links, then bandwidth, then the smaller number.
TEST(BestRoutes, LatencyThenLinksThenBandwidthThenNumbers) {
  struct Try {
    double direct_latency, direct_bandwidth, step_latency, step_bandwidth;
    std::vector<LinkId> expected;
  };
  const std::vector<Try> tries = {
      {3e-6, 9e9, 1e-6, 1e9, {0, 2}},  // 2 us through 2 against 3
      {2e-6, 1e9, 1e-6, 9e9, {4}},     // equal: one link, narrow as it is
      {0, 1e9, 0, 9e9, {4}},           // nothing known
      {1e-6, 1e9, 1e-6, 9e9, {4}},
  };
  for (const Try& one : tries) {
    Topology topology = nodes(3);
    topology.join(1, 3, LinkKind::nvlink, one.step_bandwidth, one.step_latency);
    topology.join(3, 2, LinkKind::nvlink, one.step_bandwidth, one.step_latency);
    topology.join(1, 2, LinkKind::nvlink, one.direct_bandwidth, one.direct_latency);
    const Shape shape = no_shape();
    const Routes routes(topology, shape);
    EXPECT_THAT(routes.route(0, 1), testing::ElementsAreArray(one.expected));
  }
}

TEST(BestRoutes, TheWiderOfTwoEquallyLongWays) {
  Topology topology = nodes(2, 2);
  topology.join(1, 3, LinkKind::nvlink, 1e9);
  topology.join(3, 2, LinkKind::nvlink, 9e9);
  topology.join(1, 4, LinkKind::nvlink, 4e9);
  topology.join(4, 2, LinkKind::nvlink, 2e9);
  const Shape shape = no_shape();
  const Routes routes(topology, shape);
  for (const std::uint32_t variant : {0U, 1U, 7U}) EXPECT_THAT(routes.route(0, 1, variant), ElementsAre(4, 6));
}

TEST(BestRoutes, VariantsTakeTurnsAmongEqualLinksAndSwitches) {
  Topology topology = nodes(2, 2);
  for (const NodeId middle : {3, 4}) {
    topology.join(1, middle, LinkKind::nvlink, 1e9, 1e-6);
    topology.join(middle, 2, LinkKind::nvlink, 1e9, 1e-6);
  }
  topology.join(1, 3, LinkKind::nvlink, 1e9, 1e-6);  // a second one, as good as the first
  const Shape shape = no_shape();
  const Routes routes(topology, shape);
  EXPECT_THAT(routes.route(0, 1, 0), ElementsAre(0, 2));
  EXPECT_THAT(routes.route(0, 1, 1), ElementsAre(4, 6));
  EXPECT_THAT(routes.route(0, 1, 2), ElementsAre(8, 2));
  EXPECT_THAT(routes.route(0, 1, 3), ElementsAre(0, 2));
}

TEST(BestRoutes, NoWayIsNoRouteAndTheSameNodeIsConnected) {
  Topology topology = nodes(3);
  topology.links.push_back({1, 2, LinkKind::network, 1e9, 1e-6});  // one way only
  topology.ranks.push_back(1);
  const Shape shape = no_shape();
  const Routes routes(topology, shape);
  EXPECT_TRUE(routes.connected(0, 1));
  EXPECT_FALSE(routes.connected(1, 0));
  EXPECT_FALSE(routes.connected(0, 2));
  EXPECT_THAT(routes.route(1, 0), IsEmpty());
  EXPECT_TRUE(routes.connected(0, 3));
  EXPECT_TRUE(routes.connected(0, 0));
  EXPECT_THAT(routes.route(0, 3), IsEmpty());
  for (const Rank nobody : {-1, 4}) {
    EXPECT_FALSE(routes.connected(0, nobody));
    EXPECT_THAT(routes.route(nobody, 0), IsEmpty());
  }
}

TEST(BestRoutes, FiguresWithoutSenseDoNoHarm) {
  for (const double latency : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Topology topology = nodes(3);
    topology.join(1, 2, LinkKind::network, latency, latency);
    topology.join(2, 3, LinkKind::network, 1e9, latency);
    const Shape shape = no_shape();
    const Routes routes(topology, shape);
    EXPECT_THAT(routes.route(0, 2), ElementsAre(0, 2));
  }
}

TEST(BestRoutes, AreKept) {
  const Topology topology = torus({8, 8});
  const Shape shape = no_shape();
  const Routes routes(topology, shape);
  const std::span<const LinkId> first = routes.route(0, 9, 3);
  for (Rank from = 0; from < 64; ++from)
    for (Rank to = 0; to < 64; ++to) (void)routes.route(from, to, static_cast<std::uint32_t>(from));
  EXPECT_EQ(routes.route(0, 9, 3).data(), first.data());
}

/// Least latency (in tenths of a microsecond), fewest links, most bandwidth, least numbers in the order of travel.
using Rating = std::tuple<long, std::size_t, double, std::vector<LinkId>>;

/// The best of all paths that visit no node twice.
void try_all(const Topology& topology, NodeId at, NodeId to, std::set<NodeId>& visited, std::vector<LinkId>& path, Rating& best) {
  if (at == to) {
    long latency = 0;
    double bandwidth = 1e30;
    for (const LinkId link : path) {
      latency += std::lround(topology.links[link].latency * 1e7);
      bandwidth = std::min(bandwidth, topology.links[link].bandwidth);
    }
    best = std::min(best, Rating{latency, path.size(), -bandwidth, path});
    return;
  }
  for (LinkId link = 0; link < topology.links.size(); ++link) {
    if (topology.links[link].from != at || !visited.insert(topology.links[link].to).second) continue;
    path.push_back(link);
    try_all(topology, topology.links[link].to, to, visited, path, best);
    path.pop_back();
    visited.erase(topology.links[link].to);
  }
}

TEST(BestRoutes, AreTheBestOfAllPathsOnRandomMachines) {
  int routed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    Topology topology = nodes(4, 3);
    for (int i = 0; i < 12; ++i) {
      const auto one = static_cast<NodeId>(1 + random() % 7), other = static_cast<NodeId>(1 + random() % 7);
      if (one == other) continue;
      // Latencies of 0, 0.1 or 0.2 us, three bandwidths, one of them unknown: many ties.
      topology.links.push_back({one, other, LinkKind::network, static_cast<double>(random() % 3) * 1e9,
                                seed % 3 == 0 ? 0 : static_cast<double>(random() % 3) * 1e-7});
      if (seed % 2 == 0) topology.links.push_back({other, one, LinkKind::network, 1e9, 1e-7});
    }
    const Shape shape = no_shape();
    const Routes routes(topology, shape);
    for (Rank from = 0; from < 4; ++from)
      for (Rank to = 0; to < 4; ++to) {
        if (from == to) continue;
        const Rating none{1L << 40, 0, 0, {}};
        Rating best = none;
        std::set<NodeId> visited{rank_node(topology, from)};
        std::vector<LinkId> path;
        try_all(topology, rank_node(topology, from), rank_node(topology, to), visited, path, best);
        EXPECT_EQ(routes.connected(from, to), best != none);
        EXPECT_THAT(routes.route(from, to), testing::ElementsAreArray(std::get<3>(best)))
            << "seed " << seed << ", " << from << " to " << to;
        routed += best != none ? 1 : 0;
        // Every variant is as good, up to the numbers.
        if (best == none) continue;
        long latency = 0;
        double bandwidth = 1e30;
        const auto other = routes.route(from, to, 1 + seed % 5);
        for (const LinkId link : other) {
          latency += std::lround(topology.links[link].latency * 1e7);
          bandwidth = std::min(bandwidth, topology.links[link].bandwidth);
        }
        EXPECT_EQ(std::tuple(latency, other.size(), -bandwidth), std::tuple(std::get<0>(best), std::get<1>(best), std::get<2>(best)));
      }
  }
  EXPECT_GT(routed, 1000);
}

}  // namespace
}  // namespace toric
