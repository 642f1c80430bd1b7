// Who is joined to whom without a switch in between: ranks by their links, or whole hosts by cables.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace toric {

/// Sets that can be united; small indices become the representatives.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count);
  [[nodiscard]] std::size_t find(std::size_t one);
  void unite(std::size_t one, std::size_t other);

 private:
  std::vector<std::size_t> parent_;
};

struct Neighbour {
  Rank to = 0;
  int links = 0;         // how many links there are to it
  double bandwidth = 0;  // bytes/s of all these links together, one way; 0: unknown
  double latency = 0;    // seconds, of the quickest of them; 0: unknown
  std::size_t edge = 0;  // the number of the pair, the same from both ends
};

/// Undirected: two are neighbours when there are links both ways.
class JoinGraph {
 public:
  explicit JoinGraph(Rank size = 0) : neighbours_(static_cast<std::size_t>(size)) {}

  /// Adds one direction of one link. `finish` must follow the last.
  void add(Rank from, Rank to, double bandwidth, double latency);
  /// Puts parallel links together, drops what goes one way only, and numbers the pairs.
  void finish();

  [[nodiscard]] Rank size() const { return static_cast<Rank>(neighbours_.size()); }
  [[nodiscard]] std::size_t edges() const { return edges_; }
  /// In ascending order.
  [[nodiscard]] std::span<const Neighbour> of(Rank one) const { return neighbours_[static_cast<std::size_t>(one)]; }
  [[nodiscard]] Rank degree(Rank one) const { return static_cast<Rank>(of(one).size()); }
  /// Null: not joined.
  [[nodiscard]] const Neighbour* find(Rank from, Rank to) const;
  [[nodiscard]] bool joined(Rank from, Rank to) const { return find(from, to) != nullptr; }
  [[nodiscard]] bool connected() const;
  /// The part among `members`, numbered by their place in the list.
  [[nodiscard]] JoinGraph among(std::span<const Rank> members) const;

 private:
  std::vector<std::vector<Neighbour>> neighbours_;
  std::size_t edges_ = 0;
};

/// Links from rank to rank.
[[nodiscard]] JoinGraph direct_links(const Topology& topology, std::span<const NodeId> ranks);

/// topology.ranks, or what rank_everything would make of it where nobody is placed.
[[nodiscard]] std::vector<NodeId> ranked_nodes(const Topology& topology);

}  // namespace toric
