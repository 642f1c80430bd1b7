// A topology is nodes and directed links. Nodes also form a tree by containment (a core lies in a cache lies in a
// package), which is what people look at; links are what bytes travel on, which is what algorithms look at.
#pragma once

#include "toric/base.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

enum class NodeKind : std::uint8_t { host, package, numa, cache, core, pcie_switch, gpu, nic, nvswitch, network_switch };
enum class LinkKind : std::uint8_t { cache, memory, package, pcie, nvlink, xgmi, c2c, network };

[[nodiscard]] std::string_view name_of(NodeKind kind);
[[nodiscard]] std::string_view name_of(LinkKind kind);

/// Index into Topology::nodes.
using NodeId = std::int32_t;
inline constexpr NodeId no_node = -1;

struct TopologyNode {
  NodeKind kind = NodeKind::host;
  std::string name;         // for people: "package 0", "L3", a host's name
  NodeId parent = no_node;  // the node that contains it; parents come before their children
  int os_index = -1;        // the operating system's number of this kind of node; -1: it has none
  int level = 0;            // caches: 1, 2, 3
  int numa = -1;            // os_index of the nearest NUMA node; -1: unknown, or spread over several
  std::uint64_t bytes = 0;  // size of a cache, or of the memory of a NUMA node or host; 0: unknown
  std::vector<int> cpus;    // logical CPUs (the operating system's numbers, ascending) in or next to this node
  std::string model;        // what the maker calls it; may be empty
  std::string address;      // PCI address as dddd:bb:dd.f in lower case, of devices that have one; else empty
};

struct TopologyLink {
  NodeId from = no_node, to = no_node;
  LinkKind kind = LinkKind::cache;
  double bandwidth = 0;  // bytes/s in this direction; 0: unknown
  double latency = 0;    // seconds; 0: unknown
};

/// One host or many. A gpu is any device that computes: a TPU chip too.
class Topology {
 public:
  std::vector<TopologyNode> nodes;  // nodes[0] is a host; every host, and every switch between hosts, has no parent
  std::vector<TopologyLink> links;  // each with a counterpart in the other direction, unless a source says otherwise
  std::vector<int> allowed_cpus;    // logical CPUs this process may run on, ascending; of the one host where there is one
  std::vector<NodeId> ranks;        // what each rank computes on: gpus where there are any, else cores; empty: nobody placed

  [[nodiscard]] const TopologyNode& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
  /// Appends; the new node's id. `parent` must be there already, or no_node for the first.
  NodeId add(TopologyNode node);
  /// One link each way.
  void join(NodeId one, NodeId other, LinkKind kind, double bandwidth = 0, double latency = 0);

  /// In the order of nodes.
  [[nodiscard]] std::vector<NodeId> of_kind(NodeKind kind) const;
  [[nodiscard]] std::vector<NodeId> children_of(NodeId parent) const;
  /// The node of that kind that contains `id` (or is it); no_node: none.
  [[nodiscard]] NodeId ancestor(NodeId id, NodeKind kind) const;
  /// The host that contains `id` (or is it); no_node for a switch between hosts.
  [[nodiscard]] NodeId host_of(NodeId id) const { return ancestor(id, NodeKind::host); }
  /// Puts one rank on each gpu in the order of nodes; where there is none, one on each core.
  void rank_everything();
  /// The core that has this logical CPU; no_node: none.
  [[nodiscard]] NodeId core_of(int cpu) const;
  [[nodiscard]] bool allows(int cpu) const;
};

}  // namespace toric
