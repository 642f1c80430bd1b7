#include "toric/topology/topology.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace toric {

std::string_view name_of(NodeKind kind) {
  constexpr std::string_view names[] = {"host",        "package", "numa", "cache",    "core",
                                        "pcie_switch", "gpu",     "nic",  "nvswitch", "network_switch"};
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)] : "unknown";
}

std::string_view name_of(LinkKind kind) {
  constexpr std::string_view names[] = {"cache", "memory", "package", "pcie", "nvlink", "xgmi", "c2c", "network"};
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)] : "unknown";
}

NodeId Topology::add(TopologyNode node) {
  nodes.push_back(std::move(node));
  return static_cast<NodeId>(nodes.size()) - 1;
}

void Topology::join(NodeId one, NodeId other, LinkKind kind, double bandwidth, double latency) {
  links.push_back({one, other, kind, bandwidth, latency});
  links.push_back({other, one, kind, bandwidth, latency});
}

std::vector<NodeId> Topology::of_kind(NodeKind kind) const {
  std::vector<NodeId> found;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == kind) found.push_back(static_cast<NodeId>(i));
  return found;
}

std::vector<NodeId> Topology::children_of(NodeId parent) const {
  std::vector<NodeId> found;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].parent == parent) found.push_back(static_cast<NodeId>(i));
  return found;
}

NodeId Topology::ancestor(NodeId id, NodeKind kind) const {
  while (id != no_node && node(id).kind != kind) id = node(id).parent;
  return id;
}

void Topology::rank_everything() {
  ranks = of_kind(NodeKind::gpu);
  if (ranks.empty()) ranks = of_kind(NodeKind::core);
}

NodeId Topology::core_of(int cpu) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == NodeKind::core && std::ranges::binary_search(nodes[i].cpus, cpu)) return static_cast<NodeId>(i);
  return no_node;
}

bool Topology::allows(int cpu) const { return std::ranges::binary_search(allowed_cpus, cpu); }

}  // namespace toric
