#include "toric/topology/routes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace toric {

namespace {

/// For each node the links that leave it or arrive at it, in the order of their numbers.
class Adjacency {
 public:
  Adjacency(const Topology& topology, NodeId TopologyLink::*end) : from_(topology.nodes.size() + 1) {
    for (const TopologyLink& link : topology.links) ++from_[static_cast<std::size_t>(link.*end) + 1];
    for (std::size_t i = 1; i < from_.size(); ++i) from_[i] += from_[i - 1];
    links_.resize(topology.links.size());
    std::vector<std::uint32_t> fill(from_.begin(), from_.end() - 1);
    for (LinkId link = 0; link < topology.links.size(); ++link) links_[fill[static_cast<std::size_t>(topology.links[link].*end)]++] = link;
  }
  [[nodiscard]] std::span<const LinkId> of(NodeId node) const {
    const auto at = static_cast<std::size_t>(node);
    return std::span(links_).subspan(from_[at], from_[at + 1] - from_[at]);
  }

 private:
  std::vector<std::uint32_t> from_;
  std::vector<LinkId> links_;
};

/// Latencies are added as whole picoseconds, so that paths of equal latency are found equal in whatever order they are added.
/// What is no latency counts as 0 or as 10 s, so that no sum overflows.
std::int64_t picoseconds(const TopologyLink& link) { return link.latency > 0 ? std::llround(std::min(link.latency, 10.0) * 1e12) : 0; }

/// The paths of least latency, then of fewest links (all latencies may be unknown), then of most bandwidth from one node
/// to others. It goes no further from the node than it was asked to, and forgets it when it is asked about another.
class BestPaths {
 public:
  explicit BestPaths(const Topology& topology)
      : topology_(topology), leaving_(topology, &TopologyLink::from), arriving_(topology, &TopologyLink::to) {}

  /// Appends the best path; where several are equally good, each node's choice among its equals, in the order of link
  /// numbers, is the variant's. False: there is no way, and nothing was appended.
  bool append(NodeId from, NodeId to, std::uint32_t variant, std::vector<LinkId>& route) {
    if (from != source_) start_at(from);
    if (!settle(to)) return false;
    collect_useful(to);
    while (from != to) {
      const auto [first, last] = std::equal_range(useful_.begin(), useful_.end(), Useful{from, 0}, by_node);
      const LinkId link = (first + static_cast<std::ptrdiff_t>(variant % static_cast<std::uint32_t>(last - first)))->link;
      route.push_back(link);
      from = topology_.links[link].to;
    }
    return true;
  }

  [[nodiscard]] const Adjacency& leaving() const { return leaving_; }

 private:
  struct Reach {
    std::int64_t picoseconds = std::numeric_limits<std::int64_t>::max();
    std::uint32_t links = UINT32_MAX;
    double bandwidth = 0;  // the least on the way; 0: unknown somewhere
    bool settled = false, wanted = false;
  };
  struct Useful {
    NodeId from;
    LinkId link;
  };
  using Pending = std::tuple<std::int64_t, std::uint32_t, NodeId>;

  static bool by_node(const Useful& a, const Useful& b) { return a.from < b.from; }
  Reach& reach(NodeId node) { return reach_[static_cast<std::size_t>(node)]; }

  void start_at(NodeId source) {
    source_ = source;
    reach_.assign(topology_.nodes.size(), {});
    pending_ = {};
    reach(source) = {0, 0, std::numeric_limits<double>::infinity(), false, false};
    pending_.emplace(0, 0, source);
  }

  bool settle(NodeId node) {
    while (!reach(node).settled && !pending_.empty()) {
      const NodeId next = std::get<NodeId>(pending_.top());
      pending_.pop();
      if (reach(next).settled) continue;
      reach(next).settled = true;
      for (const LinkId link : leaving_.of(next)) relax(topology_.links[link]);
    }
    return reach(node).settled;
  }

  void relax(const TopologyLink& link) {
    const Reach& here = reach(link.from);
    Reach& there = reach(link.to);
    const auto latency = here.picoseconds + picoseconds(link);
    const auto before = std::tie(there.picoseconds, there.links);
    const auto now = std::tuple(latency, here.links + 1);
    const double bandwidth = std::min(here.bandwidth, link.bandwidth);
    if (now < before) {
      there.picoseconds = latency;
      there.links = here.links + 1;
      there.bandwidth = bandwidth;
      pending_.emplace(latency, there.links, link.to);
    } else if (now == before) {
      there.bandwidth = std::max(there.bandwidth, bandwidth);
    }
  }

  /// The links of all best paths to that node, by where they leave and then by number.
  void collect_useful(NodeId to) {
    useful_.clear();
    const double bandwidth = reach(to).bandwidth;
    std::vector<NodeId> wanted{to};
    for (std::size_t next = 0; next < wanted.size(); ++next)
      for (const LinkId id : arriving_.of(wanted[next])) {
        const TopologyLink& link = topology_.links[id];
        Reach& here = reach(link.from);
        const Reach& there = reach(link.to);
        if (!here.settled || here.links + 1 != there.links || here.picoseconds + picoseconds(link) != there.picoseconds) continue;
        if (std::min(here.bandwidth, link.bandwidth) < bandwidth) continue;
        useful_.push_back({link.from, id});
        if (!std::exchange(here.wanted, true)) wanted.push_back(link.from);
      }
    for (const NodeId node : wanted) reach(node).wanted = false;
    std::ranges::sort(useful_, {}, [](const Useful& one) { return std::pair(one.from, one.link); });
  }

  const Topology& topology_;
  Adjacency leaving_, arriving_;
  NodeId source_ = no_node;
  std::vector<Reach> reach_;
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::vector<Useful> useful_;
};

}  // namespace

struct Routes::Impl {
  Impl(const Topology& the_topology, const Shape& the_shape)
      : topology(the_topology),
        shape(the_shape),
        follows_torus(the_shape.is_torus() && the_shape.coordinates.size() == the_topology.ranks.size()),
        best(the_topology) {
    if (!follows_torus) return;
    rank_at.assign(topology.ranks.size(), -1);
    for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) rank_at[place_of(shape.coordinates[rank])] = static_cast<Rank>(rank);
  }

  [[nodiscard]] std::size_t place_of(const std::vector<Rank>& coordinate) const {
    std::size_t place = 0;
    for (std::size_t d = shape.levels.size(); d-- > 0;)
      place = place * static_cast<std::size_t>(shape.levels[d].size) + static_cast<std::size_t>(coordinate[d]);
    return place;
  }
  [[nodiscard]] NodeId node_at(const std::vector<Rank>& coordinate) const { return node_of(rank_at[place_of(coordinate)]); }

  /// +1 or -1: the way to go in a dimension. What the size is to a ring's shorter way, the ends are to a line.
  [[nodiscard]] Rank direction(const Level& level, Rank from, Rank to) const {
    if (level.kind != LevelKind::ring) return to > from ? 1 : -1;
    const Rank up = (to - from + level.size) % level.size;
    if (2 * up == level.size) return from % 2 == 0 ? 1 : -1;
    return 2 * up < level.size ? 1 : -1;
  }

  /// Among the links that join two nodes directly, those of least latency, then of most bandwidth, take turns by variant.
  bool append_hop(NodeId from, NodeId to, std::uint32_t variant, std::vector<LinkId>& route) {
    std::vector<LinkId> equals;
    const auto key = [this](LinkId id) { return std::pair(picoseconds(topology.links[id]), -topology.links[id].bandwidth); };
    for (const LinkId id : best.leaving().of(from)) {
      if (topology.links[id].to != to) continue;
      if (!equals.empty() && key(id) < key(equals.front())) equals.clear();
      if (equals.empty() || key(id) == key(equals.front())) equals.push_back(id);
    }
    if (equals.empty()) return best.append(from, to, variant, route);
    route.push_back(equals[variant % equals.size()]);
    return true;
  }

  bool append_torus(Rank from, Rank to, std::uint32_t variant, std::vector<LinkId>& route) {
    std::vector<Rank> at = shape.coordinates[static_cast<std::size_t>(from)];
    const std::vector<Rank>& goal = shape.coordinates[static_cast<std::size_t>(to)];
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Level& level = shape.levels[d];
      const Rank step = direction(level, at[d], goal[d]);
      while (at[d] != goal[d]) {
        const NodeId here = node_at(at);
        at[d] = (at[d] + step + level.size) % level.size;
        if (!append_hop(here, node_at(at), variant, route)) return false;
      }
    }
    return true;
  }

  /// Where a torus's way is cut, which its shape denies, the best path there is.
  void find(Rank from, Rank to, std::uint32_t variant, std::vector<LinkId>& route) {
    if (node_of(from) == node_of(to)) return;
    if (follows_torus && append_torus(from, to, variant, route)) return;
    route.clear();
    best.append(node_of(from), node_of(to), variant, route);
  }

  [[nodiscard]] NodeId node_of(Rank rank) const { return topology.ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool has(Rank rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < topology.ranks.size(); }

  const Topology& topology;
  const Shape& shape;
  const bool follows_torus;
  std::vector<Rank> rank_at;  // by mixed-radix coordinate, the first level running fastest
  BestPaths best;
  std::unordered_map<std::uint64_t, std::vector<LinkId>> kept;  // its values stay where they are
};

Routes::Routes(const Topology& topology, const Shape& shape) : impl_(std::make_unique<Impl>(topology, shape)) {}
Routes::~Routes() = default;

std::span<const LinkId> Routes::route(Rank from, Rank to, std::uint32_t variant) const {
  if (!impl_->has(from) || !impl_->has(to)) return {};
  constexpr std::uint32_t variants = 1u << 16;
  const std::uint64_t pair = static_cast<std::uint64_t>(from) * impl_->topology.ranks.size() + static_cast<std::uint64_t>(to);
  const auto [found, is_new] = impl_->kept.try_emplace(pair * variants + variant % variants);
  if (is_new) impl_->find(from, to, variant % variants, found->second);
  return found->second;
}

bool Routes::connected(Rank from, Rank to) const {
  if (!impl_->has(from) || !impl_->has(to)) return false;
  return impl_->node_of(from) == impl_->node_of(to) || !route(from, to).empty();
}

}  // namespace toric
