#include "toric/topology/grid_shape.hpp"

#include <algorithm>

namespace toric {

namespace {

/// All ways to write `ranks` as a product of up to `sides_left` factors from 2 to `largest`, in descending order.
void factorise(Rank ranks, Rank largest, int sides_left, std::vector<Rank>& sides, std::vector<std::vector<Rank>>& found) {
  if (ranks == 1) {
    found.push_back(sides);
    return;
  }
  if (sides_left == 0) return;
  for (Rank side = std::min(ranks, largest); side >= 2; --side) {
    if (ranks % side != 0) continue;
    sides.push_back(side);
    factorise(ranks / side, side, sides_left - 1, sides, found);
    sides.pop_back();
  }
}

}  // namespace

Shape torus_shape(const std::vector<Rank>& sides) {
  Shape shape;
  Rank ranks = 1;
  for (const Rank side : sides) {
    Level level;
    level.kind = LevelKind::ring;
    level.size = side;
    level.doubled = side == 2;
    shape.levels.push_back(level);
    ranks *= side;
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    std::vector<Rank> coordinate;
    Rank left = rank;
    for (const Rank side : sides) {
      coordinate.push_back(left % side);
      left /= side;
    }
    shape.coordinates.push_back(std::move(coordinate));
  }
  return shape;
}

std::vector<Shape> torus_shapes(Rank ranks, int most_sides) {
  std::vector<Shape> shapes;
  if (ranks < 2) return shapes;
  std::vector<Rank> sides;
  std::vector<std::vector<Rank>> found;
  factorise(ranks, ranks, most_sides, sides, found);
  for (const auto& one : found) shapes.push_back(torus_shape(one));
  return shapes;
}

Shape hosts_shape(const std::vector<Rank>& sizes) {
  const bool even = std::all_of(sizes.begin(), sizes.end(), [&](Rank size) { return size == sizes.front(); });
  Shape shape;
  Rank rank = 0;
  for (std::size_t host = 0; host < sizes.size(); ++host) {
    std::vector<Rank> group;
    for (Rank i = 0; i < sizes[host]; ++i, ++rank) {
      group.push_back(rank);
      if (even) shape.coordinates.push_back({i, static_cast<Rank>(host)});
    }
    if (!even) shape.groups.push_back(std::move(group));
  }
  const auto level = [](LevelKind kind, Rank size) {
    Level made;
    made.kind = kind;
    made.size = size;
    return made;
  };
  if (even)
    shape.levels = {level(LevelKind::switched, sizes.front()), level(LevelKind::switched, static_cast<Rank>(sizes.size()))};
  else
    shape.levels = {level(LevelKind::irregular, rank)};
  return shape;
}

std::vector<Shape> hosts_shapes(Rank ranks) {
  std::vector<Shape> shapes;
  for (Rank size = 2; size * 2 <= ranks; ++size)
    if (ranks % size == 0) shapes.push_back(hosts_shape(std::vector<Rank>(static_cast<std::size_t>(ranks / size), size)));
  if (ranks >= 3) shapes.push_back(hosts_shape({1, ranks - 1}));
  if (ranks >= 5) shapes.push_back(hosts_shape({ranks / 2 + 1, ranks - ranks / 2 - 1}));
  if (ranks >= 7) shapes.push_back(hosts_shape({2, ranks - 5, 3}));
  return shapes;
}

}  // namespace toric
