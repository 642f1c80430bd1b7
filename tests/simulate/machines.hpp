// Small machines, and the shortest way from a schedule to its simulation.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toric/ir/text_form.hpp"
#include "toric/simulate/simulator.hpp"
#include "toric/topology/grid_shape.hpp"

namespace toric::test {

inline NodeId add_node(Topology& topology, NodeKind kind, const std::string& name) {
  TopologyNode node;
  node.kind = kind;
  node.name = name;
  node.parent = kind == NodeKind::host ? no_node : 0;
  return topology.add(node);
}

inline Topology accelerators(Rank ranks) {
  Topology topology;
  add_node(topology, NodeKind::host, "host");
  for (Rank rank = 0; rank < ranks; ++rank) topology.ranks.push_back(add_node(topology, NodeKind::gpu, "gpu " + std::to_string(rank)));
  return topology;
}

/// What no algorithm follows and no route.
inline Shape no_shape() {
  Shape shape;
  shape.levels.emplace_back();
  return shape;
}

/// Ranks 0, 1, ... and back to 0 by one link each way between neighbours.
inline Topology ring_of(Rank ranks, double bandwidth, double latency) {
  Topology topology = accelerators(ranks);
  for (Rank rank = 0; rank < ranks; ++rank)
    topology.join(topology.ranks[static_cast<std::size_t>(rank)], topology.ranks[static_cast<std::size_t>((rank + 1) % ranks)],
                  LinkKind::nvlink, bandwidth, latency);
  return topology;
}

/// Each rank by one link each way to one switch: rank r's links are 2r (to the switch) and 2r + 1 (from it).
inline Topology switch_of(Rank ranks, double bandwidth, double latency) {
  Topology topology = accelerators(ranks);
  const NodeId middle = add_node(topology, NodeKind::nvswitch, "switch");
  for (const NodeId rank : topology.ranks) topology.join(rank, middle, LinkKind::nvlink, bandwidth, latency);
  return topology;
}

/// Neighbours of a torus, the first side running fastest, by one link each way for each of the two directions.
inline Topology torus_of(const std::vector<Rank>& sides, double bandwidth, double latency) {
  Rank ranks = 1;
  for (const Rank side : sides) ranks *= side;
  Topology topology = accelerators(ranks);
  Rank stride = 1;
  for (const Rank side : sides) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank at = rank / stride % side, next = rank + ((at + 1) % side - at) * stride;
      topology.join(topology.ranks[static_cast<std::size_t>(rank)], topology.ranks[static_cast<std::size_t>(next)], LinkKind::network,
                    bandwidth, latency);
    }
    stride *= side;
  }
  return topology;
}

inline Result<Simulation> try_simulate(const Schedule& schedule, const Topology& topology, const SimulationOptions& options,
                                       const Shape& shape = no_shape()) {
  const Routes routes(topology, shape);
  return simulate(schedule, topology, routes, options);
}

inline Simulation simulated(const Schedule& schedule, const Topology& topology, const SimulationOptions& options,
                            const Shape& shape = no_shape()) {
  const Result<Simulation> result = try_simulate(schedule, topology, options, shape);
  EXPECT_TRUE(result.ok()) << result.status().text();
  return result.ok() ? *result : Simulation{};
}

inline Schedule schedule_from(const std::string& text) {
  const Result<Schedule> schedule = from_text("toric schedule 1\n" + text);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return schedule.ok() ? *schedule : Schedule{};
}

/// When a rank's step began and ended; -1 where the timeline does not have it exactly once.
inline Transfer transfer_of(const Simulation& simulation, Rank rank, std::uint32_t step) {
  Transfer found{rank, step, -1, -1};
  int count = 0;
  for (const Transfer& one : simulation.timeline)
    if (one.rank == rank && one.step == step) {
      found = one;
      ++count;
    }
  EXPECT_EQ(count, 1) << "step " << step << " of rank " << rank;
  return found;
}

}  // namespace toric::test
