#include "toric/topology/layout.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace toric {

namespace {

bool is_grid(const Shape& shape) {
  if (shape.coordinates.empty() || shape.levels.empty() || shape.levels.size() > 4) return false;
  return std::ranges::all_of(shape.levels, [](const Level& level) {
    return level.kind == LevelKind::ring || level.kind == LevelKind::line || (level.kind == LevelKind::clique && level.size <= 2);
  });
}

/// Whether a host of several ranks has parts that a grid of ranks would not show.
bool has_parts(const Topology& topology) {
  std::vector<int> ranks(topology.nodes.size(), 0);
  for (const NodeId node : topology.ranks)
    if (const NodeId host = topology.host_of(node); host != no_node) ++ranks[static_cast<std::size_t>(host)];
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    const NodeKind kind = topology.nodes[i].kind;
    const bool part = kind == NodeKind::package || kind == NodeKind::pcie_switch || kind == NodeKind::nic || kind == NodeKind::nvswitch;
    if (!part) continue;
    const NodeId host = topology.host_of(static_cast<NodeId>(i));
    if (host == no_node || ranks[static_cast<std::size_t>(host)] > 1) return true;
  }
  return false;
}

}  // namespace

Layout place(const Topology& topology, const Shape& shape, bool room_for_messages) {
  const bool grid = is_grid(shape) && shape.coordinates.size() == topology.ranks.size() && !has_parts(topology);
  return grid ? place_grid(topology, shape) : place_hosts(topology, shape, room_for_messages);
}

std::vector<std::vector<Rank>> ranks_of_nodes(const Topology& topology) {
  std::vector<std::vector<Rank>> ranks(topology.nodes.size());
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank)
    ranks[static_cast<std::size_t>(topology.ranks[rank])].push_back(static_cast<Rank>(rank));
  return ranks;
}

std::vector<PlacedLink> joined_links(const Topology& topology, const std::vector<int>& place_of) {
  struct Both {
    int count[2] = {0, 0};
    double bandwidth[2] = {0, 0};
    double latency = 0;
  };
  std::map<std::tuple<int, int, LinkKind>, Both> joined;
  for (const TopologyLink& link : topology.links) {
    const int from = place_of[static_cast<std::size_t>(link.from)], to = place_of[static_cast<std::size_t>(link.to)];
    if (from < 0 || to < 0 || from == to) continue;
    Both& both = joined[{std::min(from, to), std::max(from, to), link.kind}];
    const int way = from < to ? 0 : 1;
    ++both.count[way];
    both.bandwidth[way] += link.bandwidth;
    if (link.latency > 0) both.latency = both.latency > 0 ? std::min(both.latency, link.latency) : link.latency;
  }
  std::vector<PlacedLink> links;
  for (const auto& [key, both] : joined) {
    PlacedLink link;
    std::tie(link.from, link.to, link.kind) = key;
    link.count = std::max(both.count[0], both.count[1]);
    link.bandwidth = std::max(both.bandwidth[0], both.bandwidth[1]);
    link.latency = both.latency;
    links.push_back(std::move(link));
  }
  return links;
}

Path joining_path(const Rectangle& from, const Rectangle& to, double depth_of_arc) {
  if (from.y > to.y && from.y >= to.bottom()) {
    Path path = joining_path(to, from, depth_of_arc);
    std::ranges::reverse(path.points);
    return path;
  }
  if (from.bottom() <= to.y) {
    const double left = std::max(from.x, to.x), right = std::min(from.right(), to.right());
    if (left < right) {
      const double x = from.width < to.width ? from.centre().x : to.centre().x;
      const double at = x > left && x < right ? x : (left + right) / 2;
      return {{{at, from.bottom()}, {at, to.y}}};
    }
    const double reach = from.width < to.width ? 0.3 * to.width : 0;
    const double end = std::clamp(from.centre().x, to.centre().x - reach, to.centre().x + reach);
    return {{{from.centre().x, from.bottom()}, {end, to.y}}};
  }
  if (depth_of_arc == 0) {
    const double y = (std::max(from.y, to.y) + std::min(from.bottom(), to.bottom())) / 2;
    if (from.right() <= to.x) return {{{from.right(), y}, {to.x, y}}};
    return {{{from.x, y}, {to.right(), y}}};
  }
  const double toward = from.centre().x < to.centre().x ? 1 : -1;
  const bool above = depth_of_arc < 0;
  const Point begin = {from.centre().x + toward * 0.28 * from.width, above ? from.y : from.bottom()};
  const Point end = {to.centre().x - toward * 0.12 * to.width, above ? to.y : to.bottom()};
  const double depth = depth_of_arc * 4 / 3;
  return {{begin, {begin.x, begin.y + depth}, {end.x, end.y + depth}, end}, true};
}

double arc_depth(double distance) { return 10 + 11 * std::sqrt(distance / 20); }

std::vector<Path> ways(const Layout& layout, Rank from, Rank to) {
  const auto place_of = [&](Rank rank) {
    const auto index = static_cast<std::size_t>(rank);
    return rank >= 0 && index < layout.place_of_rank.size() ? layout.place_of_rank[index] : -1;
  };
  const int a = place_of(from), b = place_of(to);
  if (a < 0 || b < 0 || a == b) return {};
  if (!layout.sides.empty()) return grid_ways(layout, from, to, goes_round(layout, from, to));
  const Rectangle& one = layout.places[static_cast<std::size_t>(a)].body;
  const Rectangle& other = layout.places[static_cast<std::size_t>(b)].body;
  const double distance = std::abs(one.centre().x - other.centre().x);
  const double depth = arc_depth(distance);
  return {joining_path(one, other, layout.arc_limit > 0 ? std::min(depth, layout.arc_limit) : depth)};
}

}  // namespace toric
