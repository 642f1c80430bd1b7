// Small machines made by hand, for pictures.
#pragma once

#include <string>
#include <vector>

#include "toric/topology/shape.hpp"
#include "toric/topology/topology.hpp"

namespace toric::test {

inline NodeId put(Topology& topology, NodeKind kind, const std::string& name, NodeId parent, const std::string& model = "") {
  TopologyNode node;
  node.kind = kind;
  node.name = name;
  node.parent = parent;
  node.model = model;
  return topology.add(node);
}

inline Shape flat_shape(Rank ranks) {
  Shape shape;
  Level level;
  level.kind = LevelKind::switched;
  level.size = ranks;
  shape.levels = {level};
  for (Rank rank = 0; rank < ranks; ++rank) shape.coordinates.push_back({rank});
  return shape;
}

/// A host of two packages with two PCIe switches each, two gpus and a NIC at each of these, and four NVSwitches.
inline void add_big_host(Topology& topology, const std::string& name, const std::string& model = "") {
  const NodeId host = put(topology, NodeKind::host, name, no_node, model);
  std::vector<NodeId> packages, gpus;
  for (int p = 0; p < 2; ++p) {
    packages.push_back(put(topology, NodeKind::package, "package " + std::to_string(p), host));
    for (int s = 0; s < 2; ++s) {
      const NodeId pcie = put(topology, NodeKind::pcie_switch, "PCIe switch " + std::to_string(2 * p + s), packages.back());
      topology.join(pcie, packages.back(), LinkKind::pcie, 60e9);
      for (int g = 0; g < 2; ++g) {
        gpus.push_back(put(topology, NodeKind::gpu, "GPU " + std::to_string(gpus.size()), pcie));
        topology.join(gpus.back(), pcie, LinkKind::pcie, 60e9);
      }
      topology.join(put(topology, NodeKind::nic, "NIC " + std::to_string(2 * p + s), pcie), pcie, LinkKind::pcie, 50e9);
    }
  }
  topology.join(packages[0], packages[1], LinkKind::package, 40e9);
  for (int n = 0; n < 4; ++n) {
    const NodeId nvswitch = put(topology, NodeKind::nvswitch, "NVSwitch " + std::to_string(n), host);
    for (const NodeId gpu : gpus) topology.join(gpu, nvswitch, LinkKind::nvlink, 112.5e9);
  }
}

/// One host with chips as the shape says, each joined to the next along every side; a side of two twice.
inline Topology chips_in(const Shape& shape, bool wraps = true) {
  Topology topology;
  put(topology, NodeKind::host, "slice", no_node);
  for (std::size_t rank = 0; rank < shape.coordinates.size(); ++rank)
    topology.ranks.push_back(put(topology, NodeKind::gpu, "chip " + std::to_string(rank), 0));
  Rank stride = 1;
  for (std::size_t side = 0; side < shape.levels.size(); ++side) {
    const Rank size = shape.levels[side].size;
    for (Rank rank = 0; rank < static_cast<Rank>(shape.coordinates.size()); ++rank) {
      const bool last = rank / stride % size == size - 1;
      if (last && !wraps) continue;
      const Rank next = last ? rank - (size - 1) * stride : rank + stride;
      topology.join(topology.ranks[static_cast<std::size_t>(rank)], topology.ranks[static_cast<std::size_t>(next)], LinkKind::network, 50e9,
                    1e-6);
    }
    stride *= size;
  }
  return topology;
}

}  // namespace toric::test
