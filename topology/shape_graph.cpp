#include "toric/topology/shape_graph.hpp"

#include <algorithm>
#include <numeric>

namespace toric {

DisjointSets::DisjointSets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

std::size_t DisjointSets::find(std::size_t one) {
  while (parent_[one] != one) {
    parent_[one] = parent_[parent_[one]];
    one = parent_[one];
  }
  return one;
}

void DisjointSets::unite(std::size_t one, std::size_t other) {
  one = find(one);
  other = find(other);
  parent_[std::max(one, other)] = std::min(one, other);
}

void JoinGraph::add(Rank from, Rank to, double bandwidth, double latency) {
  neighbours_[static_cast<std::size_t>(from)].push_back({.to = to, .links = 1, .bandwidth = bandwidth, .latency = latency});
}

void JoinGraph::finish() {
  for (auto& list : neighbours_) {
    std::stable_sort(list.begin(), list.end(), [](const Neighbour& a, const Neighbour& b) { return a.to < b.to; });
    std::vector<Neighbour> merged;
    for (const Neighbour& next : list) {
      if (merged.empty() || merged.back().to != next.to) {
        merged.push_back(next);
        continue;
      }
      Neighbour& same = merged.back();
      same.links += next.links;
      same.bandwidth = same.bandwidth == 0 || next.bandwidth == 0 ? 0 : same.bandwidth + next.bandwidth;
      same.latency = std::min(same.latency, next.latency);
    }
    list = std::move(merged);
  }
  const auto whole = neighbours_;
  const auto count_back = [&](Rank from, Rank to) {
    const auto& list = whole[static_cast<std::size_t>(from)];
    const auto at = std::lower_bound(list.begin(), list.end(), to, [](const Neighbour& a, Rank b) { return a.to < b; });
    return at != list.end() && at->to == to ? at->links : 0;
  };
  edges_ = 0;
  for (Rank one = 0; one < size(); ++one) {
    auto& list = neighbours_[static_cast<std::size_t>(one)];
    for (Neighbour& next : list) next.links = std::min(next.links, count_back(next.to, one));
    std::erase_if(list, [&](const Neighbour& next) { return next.links == 0 || next.to == one; });
    for (Neighbour& next : list)
      if (next.to > one) next.edge = edges_++;
  }
  for (Rank one = 0; one < size(); ++one)
    for (Neighbour& next : neighbours_[static_cast<std::size_t>(one)])
      if (next.to < one) next.edge = find(next.to, one)->edge;
}

const Neighbour* JoinGraph::find(Rank from, Rank to) const {
  const auto list = of(from);
  const auto at = std::lower_bound(list.begin(), list.end(), to, [](const Neighbour& a, Rank b) { return a.to < b; });
  return at != list.end() && at->to == to ? &*at : nullptr;
}

bool JoinGraph::connected() const {
  if (size() == 0) return true;
  std::vector<bool> seen(neighbours_.size(), false);
  std::vector<Rank> open = {0};
  seen[0] = true;
  std::size_t reached = 1;
  while (!open.empty()) {
    const Rank one = open.back();
    open.pop_back();
    for (const Neighbour& next : of(one)) {
      if (seen[static_cast<std::size_t>(next.to)]) continue;
      seen[static_cast<std::size_t>(next.to)] = true;
      ++reached;
      open.push_back(next.to);
    }
  }
  return reached == neighbours_.size();
}

JoinGraph JoinGraph::among(std::span<const Rank> members) const {
  std::vector<std::pair<Rank, Rank>> places;  // (old number, new number), by old number
  places.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) places.emplace_back(members[i], static_cast<Rank>(i));
  std::sort(places.begin(), places.end());
  JoinGraph part(static_cast<Rank>(members.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const Neighbour& next : of(members[i])) {
      const auto at = std::lower_bound(places.begin(), places.end(), std::pair<Rank, Rank>{next.to, 0});
      if (at == places.end() || at->first != next.to) continue;
      Neighbour copy = next;
      copy.to = at->second;
      part.neighbours_[i].push_back(copy);
    }
  }
  part.finish();
  return part;
}

JoinGraph direct_links(const Topology& topology, std::span<const NodeId> ranks) {
  std::vector<Rank> rank_of(topology.nodes.size(), -1);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) rank_of[static_cast<std::size_t>(ranks[rank])] = static_cast<Rank>(rank);
  JoinGraph graph(static_cast<Rank>(ranks.size()));
  for (const TopologyLink& link : topology.links) {
    const Rank from = rank_of[static_cast<std::size_t>(link.from)];
    const Rank to = rank_of[static_cast<std::size_t>(link.to)];
    if (from >= 0 && to >= 0 && from != to) graph.add(from, to, link.bandwidth, link.latency);
  }
  graph.finish();
  return graph;
}

std::vector<NodeId> ranked_nodes(const Topology& topology) {
  if (!topology.ranks.empty()) return topology.ranks;
  std::vector<NodeId> ranks = topology.of_kind(NodeKind::gpu);
  return ranks.empty() ? topology.of_kind(NodeKind::core) : ranks;
}

}  // namespace toric
