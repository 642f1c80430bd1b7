#include "toric/topology/shape.hpp"

#include "toric/topology/shape_graph.hpp"
#include "toric/topology/shape_network.hpp"
#include "toric/topology/shape_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace toric {

namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

Level level_of(LevelKind kind, Rank size) {
  Level level;
  level.kind = kind;
  level.size = size;
  return level;
}

Shape irregular(Rank ranks, std::string note) {
  Shape shape;
  shape.levels = {level_of(LevelKind::irregular, ranks)};
  shape.note = std::move(note);
  return shape;
}

/// Ranks that share a host, or are joined by links or nvswitches across hosts.
std::vector<std::vector<Rank>> units_of(const Topology& topology, const std::vector<NodeId>& ranks) {
  DisjointSets sets(topology.nodes.size());
  std::vector<bool> ranked(topology.nodes.size(), false);
  for (const NodeId node : ranks) {
    ranked[index(node)] = true;
    const NodeId host = topology.host_of(node);
    if (host != no_node) sets.unite(index(host), index(node));
  }
  const auto near = [&](NodeId node) { return ranked[index(node)] || topology.node(node).kind == NodeKind::nvswitch; };
  for (const TopologyLink& link : topology.links)
    if (near(link.from) && near(link.to)) sets.unite(index(link.from), index(link.to));
  std::map<std::size_t, std::size_t> place;
  std::vector<std::vector<Rank>> units;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto [at, added] = place.emplace(sets.find(index(ranks[rank])), units.size());
    if (added) units.emplace_back();
    units[at->second].push_back(static_cast<Rank>(rank));
  }
  return units;
}

/// "torus 4x4 without the link from rank 3 to rank 7", where two ranks lack one neighbour each and that mends it; else empty.
std::string missing_link(const JoinGraph& part, const std::vector<Rank>& unit) {
  Rank most = 0;
  for (Rank rank = 0; rank < part.size(); ++rank) most = std::max(most, part.degree(rank));
  std::vector<Rank> lacking;
  for (Rank rank = 0; rank < part.size() && lacking.size() < 3; ++rank)
    if (part.degree(rank) < most) lacking.push_back(rank);
  if (lacking.size() != 2 || part.degree(lacking[0]) + 1 != most || part.degree(lacking[1]) + 1 != most) return {};
  if (part.joined(lacking[0], lacking[1])) return {};
  JoinGraph mended = part;
  mended.add(lacking[0], lacking[1], 0, 0);
  mended.add(lacking[1], lacking[0], 0, 0);
  mended.finish();
  const Product whole = factorise(mended);
  if (!whole.found()) return {};
  return fmt::format("{} without the link from rank {} to rank {}", whole.name(), unit[index(lacking[0])], unit[index(lacking[1])]);
}

/// Inside one unit: the product its links make, or a switch where nothing but a switch or the host joins them.
Product inside(const JoinGraph& graph, const std::vector<Rank>& unit) {
  const JoinGraph part = graph.among(unit);
  Product product = factorise(part);
  if (product.found()) return product;
  const Rank size = part.size();
  const bool linked = size > 1 && part.connected();
  product.levels = {level_of(linked ? LevelKind::irregular : LevelKind::switched, size)};
  if (linked) product.note = missing_link(part, unit);
  const bool unsaid = product.note.empty();
  if (unsaid && product.like_a_torus)
    product.note = "each rank has the neighbours of a torus, but the way round is twisted";
  else if (unsaid && linked)
    product.note = fmt::format("the {} links among {} ranks make no ring, line, clique, torus or mesh", part.edges(), size);
  else if (unsaid && part.edges() > 0)
    product.note = fmt::format("the links among {} ranks do not join all of them: taken as one switch", size);
  for (Rank rank = 0; rank < size; ++rank) product.coordinates.push_back({rank});
  return product;
}

/// The level between hosts. On rails, ranks of one rail get the same place in their host, where the host's level lets any
/// rank have any place; elsewhere rails that do not follow the places count as a switch.
void add_network(Shape& shape, const Topology& topology, const std::vector<NodeId>& ranks, const std::vector<std::vector<Rank>>& units) {
  const std::vector<NodeId> leaves = leaves_of(topology, ranks);
  const bool free = shape.levels.size() == 1 && (shape.levels[0].kind == LevelKind::switched || shape.levels[0].kind == LevelKind::clique);
  const bool rails = free && are_rails(leaves, units);
  shape.levels.push_back(level_of(rails ? LevelKind::rail : LevelKind::switched, static_cast<Rank>(units.size())));
  if (std::find(leaves.begin(), leaves.end(), no_node) != leaves.end() && shape.note.empty())
    shape.note = fmt::format("nothing in the graph joins all of the {} hosts: taken as one switch", units.size());
  if (!rails) return;
  std::map<NodeId, Rank> place;
  for (const Rank rank : units.front()) place[leaves[index(rank)]] = shape.coordinates[index(rank)][0];
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) shape.coordinates[rank][0] = place[leaves[rank]];
}

}  // namespace

std::string_view name_of(LevelKind kind) {
  constexpr std::string_view names[] = {"switch", "clique", "rail", "ring", "line", "mesh", "irregular"};
  return static_cast<std::size_t>(kind) < std::size(names) ? names[static_cast<std::size_t>(kind)] : "unknown";
}

std::string Shape::text() const { return text_of(levels); }

Rank Shape::at(const std::vector<Rank>& coordinate) const {
  const auto found = std::find(coordinates.begin(), coordinates.end(), coordinate);
  return found == coordinates.end() ? -1 : static_cast<Rank>(found - coordinates.begin());
}

bool Shape::is_torus() const {
  return !levels.empty() && !coordinates.empty() && std::all_of(levels.begin(), levels.end(), [](const Level& level) {
    return level.kind == LevelKind::ring || (level.kind == LevelKind::clique && level.size == 2);
  });
}

Shape shape_of(const Topology& topology) {
  const std::vector<NodeId> ranks = ranked_nodes(topology);
  const Rank count = static_cast<Rank>(ranks.size());
  if (count < 2) return irregular(count, "");
  const JoinGraph graph = direct_links(topology, ranks);
  const auto units = units_of(topology, ranks);
  const std::size_t size = units.front().size();
  if (std::any_of(units.begin(), units.end(), [&](const auto& unit) { return unit.size() != size; })) {
    Shape shape = irregular(count, fmt::format("{} hosts of different sizes", units.size()));
    shape.groups = units;
    return shape;
  }
  Shape shape;
  shape.coordinates.resize(ranks.size());
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    Product inner = inside(graph, units[unit]);
    if (unit == 0) {
      shape.levels = inner.levels;
      shape.note = inner.note;
    }
    if (inner.levels != shape.levels) return irregular(count, "the hosts differ inside");
    for (std::size_t i = 0; i < size; ++i) {
      auto& coordinate = shape.coordinates[index(units[unit][i])];
      if (size > 1) coordinate = inner.coordinates[i];
      if (units.size() > 1) coordinate.push_back(static_cast<Rank>(unit));
    }
  }
  if (size == 1) shape.levels.clear();
  if (units.size() > 1)
    add_network(shape, topology, ranks, units);
  else if (shape.levels.front().kind == LevelKind::irregular)
    shape.coordinates.clear();
  return shape;
}

}  // namespace toric
