#include "toric/topology/shape_network.hpp"

#include <algorithm>
#include <numeric>

namespace toric {

namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

class WaysOut {
 public:
  WaysOut(const Topology& topology, std::span<const NodeId> ranks)
      : next_(topology.nodes.size()),
        leaf_(topology.nodes.size(), no_node),
        host_(topology.nodes.size()),
        ranked_(topology.nodes.size(), false),
        seen_(topology.nodes.size(), -1),
        taken_(topology.nodes.size(), 0) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = topology.host_of(static_cast<NodeId>(i));
    for (const NodeId node : ranks) ranked_[index(node)] = true;
    for (const TopologyLink& link : topology.links) {
      const bool outside = topology.node(link.to).kind == NodeKind::network_switch && host_[index(link.to)] == no_node;
      if (outside) leaf_[index(link.from)] = leaf_[index(link.from)] == no_node ? link.to : std::min(leaf_[index(link.from)], link.to);
      next_[index(link.from)].push_back(link.to);
    }
  }

  NodeId take(NodeId start) {
    std::vector<NodeId> open = {start};
    seen_[index(start)] = start;
    while (!open.empty()) {
      const NodeId found = least_taken(open);
      if (found != no_node) {
        ++taken_[index(found)];
        return leaf_[index(found)];
      }
      std::vector<NodeId> further;
      for (const NodeId node : open)
        for (const NodeId to : next_[index(node)]) {
          const bool elsewhere = host_[index(to)] != host_[index(start)] || ranked_[index(to)];
          if (seen_[index(to)] == start || elsewhere) continue;
          seen_[index(to)] = start;
          further.push_back(to);
        }
      open = std::move(further);
    }
    return no_node;
  }

 private:
  NodeId least_taken(std::vector<NodeId> open) const {
    NodeId best = no_node;
    std::sort(open.begin(), open.end());
    for (const NodeId node : open)
      if (leaf_[index(node)] != no_node && (best == no_node || taken_[index(node)] < taken_[index(best)])) best = node;
    return best;
  }

  std::vector<std::vector<NodeId>> next_;
  std::vector<NodeId> leaf_, host_;
  std::vector<bool> ranked_;
  std::vector<NodeId> seen_;
  std::vector<int> taken_;
};

}  // namespace

std::vector<NodeId> leaves_of(const Topology& topology, std::span<const NodeId> ranks) {
  WaysOut ways(topology, ranks);
  std::vector<std::size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranks[a] < ranks[b]; });
  std::vector<NodeId> leaves(ranks.size(), no_node);
  for (const std::size_t rank : order) leaves[rank] = ways.take(ranks[rank]);
  return leaves;
}

bool are_rails(std::span<const NodeId> leaves, const std::vector<std::vector<Rank>>& units) {
  std::vector<NodeId> first;
  for (const auto& unit : units) {
    std::vector<NodeId> here;
    for (const Rank rank : unit) here.push_back(leaves[index(rank)]);
    std::sort(here.begin(), here.end());
    if (here.front() == no_node || std::adjacent_find(here.begin(), here.end()) != here.end()) return false;
    if (first.empty()) first = here;
    if (here != first) return false;
  }
  return first.size() > 1;
}

}  // namespace toric
