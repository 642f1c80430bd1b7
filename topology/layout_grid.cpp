#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include "toric/topology/layout.hpp"

namespace toric {

namespace {

constexpr double cell = 50, pitch = 92, stub = 22;
constexpr double layer_gap = 60;
constexpr std::size_t most_places = 1024;

std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

/// Where the cell with these coordinates has its upper left corner. Layers stand side by side, rows of layers below.
Point corner_of(const std::vector<Rank>& sides, const std::vector<Rank>& at) {
  const auto side = [&](std::size_t i) { return i < sides.size() ? static_cast<double>(sides[i]) : 1.0; };
  const auto coordinate = [&](std::size_t i) { return i < at.size() ? static_cast<double>(at[i]) : 0.0; };
  return {coordinate(0) * pitch + coordinate(2) * (side(0) * pitch + layer_gap),
          coordinate(1) * pitch + coordinate(3) * (side(1) * pitch + layer_gap)};
}

Rectangle on_circle(Rank side, Rank at) {
  const double radius = std::max(70.0, side * 92 / (2 * std::numbers::pi));
  const double angle = 2 * std::numbers::pi * at / side - std::numbers::pi / 2;
  return {radius * std::cos(angle) - cell / 2, radius * std::sin(angle) - cell / 2, cell, cell};
}

/// From the middle of one cell to that of another, less what lies in the cells.
Path centre_line(const Rectangle& from, const Rectangle& to) {
  const Point a = from.centre(), b = to.centre();
  const double width = std::abs(b.x - a.x), height = std::abs(b.y - a.y);
  const double inside = cell / 2 / std::max({width, height, 1e-9});
  const Point step = {(b.x - a.x) * inside, (b.y - a.y) * inside};
  return {{{a.x + step.x, a.y + step.y}, {b.x - step.x, b.y - step.y}}};
}

/// Between cells that are no neighbours: bent, so that it does not run over the cells between.
Path bent_line(const Rectangle& from, const Rectangle& to) {
  Path line = centre_line(from, to);
  const Point a = line.points[0], b = line.points[1];
  const Point aside = {-(b.y - a.y) * 0.22, (b.x - a.x) * 0.22};
  return {{a,
           {a.x + (b.x - a.x) * 0.25 + aside.x, a.y + (b.y - a.y) * 0.25 + aside.y},
           {a.x + (b.x - a.x) * 0.75 + aside.x, a.y + (b.y - a.y) * 0.75 + aside.y},
           b},
          true};
}

/// Out of a cell: along the first two sides straight, along the others over a corner.
Path stub_of(const Rectangle& at, std::size_t side, bool upward) {
  const Point middle = at.centre();
  const double sign = upward ? 1 : -1, edge = cell / 2;
  if (side == 0) return {{{middle.x + sign * edge, middle.y}, {middle.x + sign * (edge + stub), middle.y}}};
  if (side == 1) return {{{middle.x, middle.y + sign * edge}, {middle.x, middle.y + sign * (edge + stub)}}};
  const double slope = side == 2 ? -1 : 1, length = 15;
  const Point corner = {middle.x + sign * edge, middle.y + sign * slope * edge};
  return {{corner, {corner.x + sign * length, corner.y + sign * slope * length}}};
}

Path reversed(Path path) {
  std::ranges::reverse(path.points);
  return path;
}

std::vector<std::size_t> differing_sides(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  std::vector<std::size_t> sides;
  for (std::size_t side = 0; side < a.size(); ++side)
    if (a[side] != b[side]) sides.push_back(side);
  return sides;
}

void say_how_to_read(Layout& layout) {
  if (layout.sides.size() == 1) return;
  layout.notes.push_back("x runs to the right, y downward; a stub at the border goes on at the opposite one");
  if (layout.sides.size() > 2)
    layout.notes.push_back(
        "layers (z) stand side by side: stubs up right lead to the same place in the next layer, down left in the one before, the last "
        "joins the first where the side wraps");
  if (layout.sides.size() > 3) layout.notes.push_back("the fourth side (w) runs down the rows of layers: stubs down right and up left");
}

void add_captions(Layout& layout) {
  if (layout.sides.size() < 3) return;
  const Rank rows = layout.sides.size() > 3 ? layout.sides[3] : 1;
  for (Rank w = 0; w < rows; ++w)
    for (Rank z = 0; z < layout.sides[2]; ++z) {
      const Point corner = corner_of(layout.sides, {0, 0, z, w});
      const bool drawn =
          std::ranges::any_of(layout.places, [&](const PlacedNode& node) { return node.frame.x == corner.x && node.frame.y == corner.y; });
      if (!drawn) continue;
      layout.captions.push_back(
          {{corner.x, corner.y - stub - 14}, layout.sides.size() > 3 ? fmt::format("z = {}, w = {}", z, w) : fmt::format("z = {}", z)});
    }
}

/// Places are in the order of ranks; whole layers only, as many as a picture may have.
bool is_drawn(const Layout& layout, const std::vector<Rank>& at) {
  std::size_t in_layer = index(layout.sides[0]);
  if (layout.sides.size() > 1) in_layer *= index(layout.sides[1]);
  std::size_t layer = at.size() > 2 ? index(at[2]) : 0;
  if (at.size() > 3) layer += index(at[3]) * index(layout.sides[2]);
  return layer == 0 || (layer + 1) * in_layer <= most_places;
}

void place_ranks(Layout& layout, const Topology& topology, std::vector<int>& place_of, std::vector<Rank>& rank_of_place) {
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) {
    layout.place_of_rank.push_back(-1);
    const std::vector<Rank>& at = layout.coordinates[rank];
    if (!is_drawn(layout, at)) continue;
    const NodeId id = topology.ranks[rank];
    PlacedNode placed;
    placed.nodes = {id};
    placed.kind = topology.node(id).kind;
    const Point corner = corner_of(layout.sides, at);
    placed.frame = layout.sides.size() == 1 ? on_circle(layout.sides[0], at[0]) : Rectangle{corner.x, corner.y, cell, cell};
    placed.body = placed.frame;
    placed.label = fmt::format("{}", rank);
    if (layout.sides.size() > 1) placed.second_line = fmt::format("{}", fmt::join(at, ","));
    layout.place_of_rank[rank] = place_of[static_cast<std::size_t>(id)] = static_cast<int>(layout.places.size());
    rank_of_place.push_back(static_cast<Rank>(rank));
    layout.places.push_back(std::move(placed));
  }
}

/// Everything that lies with one rank alone (a host of its own, its NICs) is drawn as that rank.
void take_in_companions(const Topology& topology, const std::vector<std::vector<Rank>>& ranks, std::vector<int>& place_of) {
  std::vector<int> inside(topology.nodes.size(), -1);  // by node: the one place below it; -2: several
  for (std::size_t i = topology.nodes.size(); i-- > 0;) {
    if (!ranks[i].empty()) inside[i] = ranks[i].size() == 1 ? place_of[i] : -2;
    if (topology.nodes[i].parent == no_node || inside[i] == -1) continue;
    int& above = inside[static_cast<std::size_t>(topology.nodes[i].parent)];
    above = above == -1 || above == inside[i] ? inside[i] : -2;
  }
  for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
    if (place_of[i] >= 0) continue;
    if (inside[i] >= 0) place_of[i] = inside[i];
    const NodeId parent = topology.nodes[i].parent;
    if (inside[i] == -1 && parent != no_node) place_of[i] = place_of[static_cast<std::size_t>(parent)];
  }
}

void route(Layout& layout, const std::vector<Rank>& rank_of_place) {
  for (PlacedLink& link : layout.links) {
    const Rank from = rank_of_place[static_cast<std::size_t>(link.from)], to = rank_of_place[static_cast<std::size_t>(link.to)];
    link.paths = grid_ways(layout, from, to, goes_round(layout, from, to));
    const auto sides = differing_sides(layout.coordinates[index(from)], layout.coordinates[index(to)]);
    // A side of two that is joined twice: the second link goes round.
    if (sides.size() == 1 && layout.sides[sides[0]] == 2 && link.count > 1 && layout.sides.size() > 1) {
      for (Path& path : grid_ways(layout, from, to, true)) link.paths.push_back(std::move(path));
    }
  }
}

}  // namespace

bool goes_round(const Layout& layout, Rank from, Rank to) {
  const auto& a = layout.coordinates[index(from)];
  const auto& b = layout.coordinates[index(to)];
  const auto sides = differing_sides(a, b);
  if (sides.size() != 1) return false;
  const Rank size = layout.sides[sides[0]];
  return size > 2 && std::abs(a[sides[0]] - b[sides[0]]) == size - 1;
}

std::vector<Path> grid_ways(const Layout& layout, Rank from, Rank to, bool round) {
  const auto& one = layout.places[static_cast<std::size_t>(layout.place_of_rank[index(from)])].body;
  const auto& other = layout.places[static_cast<std::size_t>(layout.place_of_rank[index(to)])].body;
  if (layout.sides.size() == 1) return {centre_line(one, other)};
  const auto& a = layout.coordinates[index(from)];
  const auto& b = layout.coordinates[index(to)];
  const auto sides = differing_sides(a, b);
  if (sides.size() != 1) return {bent_line(one, other)};
  const std::size_t side = sides[0];
  const bool neighbours = round || std::abs(a[side] - b[side]) == 1;
  if (!neighbours) return {bent_line(one, other)};
  const bool upward = (b[side] > a[side]) != round;
  if (side < 2 && !round) return {centre_line(one, other)};
  return {stub_of(one, side, upward), reversed(stub_of(other, side, !upward))};
}

Layout place_grid(const Topology& topology, const Shape& shape) {
  Layout layout;
  layout.heading = fmt::format("{}: {} ranks", shape.text(), topology.ranks.size());
  for (const Level& level : shape.levels) layout.sides.push_back(level.size);
  layout.coordinates = shape.coordinates;
  std::vector<int> place_of(topology.nodes.size(), -1);
  std::vector<Rank> rank_of_place;
  place_ranks(layout, topology, place_of, rank_of_place);
  take_in_companions(topology, ranks_of_nodes(topology), place_of);
  layout.links = joined_links(topology, place_of);
  route(layout, rank_of_place);
  add_captions(layout);
  say_how_to_read(layout);
  if (const std::size_t left_out = topology.ranks.size() - layout.places.size(); left_out > 0)
    layout.notes.push_back(fmt::format("{} of {} ranks are drawn; the other layers, with {} ranks, are placed alike", layout.places.size(),
                                       topology.ranks.size(), left_out));
  return layout;
}

}  // namespace toric
