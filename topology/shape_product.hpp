// Recognises products of rings, lines and cliques (tori, meshes and their like) in a graph, whatever its numbering.
#pragma once

#include "toric/topology/shape.hpp"
#include "toric/topology/shape_graph.hpp"

#include <string>
#include <vector>

namespace toric {

/// Either levels and coordinates, or none and what is known about why.
struct Product {
  std::vector<Level> levels;                   // larger ones first; empty: no such product
  std::vector<std::vector<Rank>> coordinates;  // [vertex][level]; vertex 0 is at 0 wherever the level has no ends
  std::string note;                            // what is odd about a product that is one all the same
  bool like_a_torus = false;                   // no product, but each vertex has two neighbours in each of several directions

  [[nodiscard]] bool found() const { return !levels.empty(); }
  /// "torus 4x4", "mesh 3x5", else the levels as Shape::text writes them.
  [[nodiscard]] std::string name() const;
};

/// The one way to see a connected graph as a product with the fewest levels. Single pairs join into rings of four; a pair
/// with two links stays a ring of two; a triangle is a clique where it is alone or all else are cliques of four or more, else
/// a ring. Every edge is checked, so nothing that merely resembles a product is taken for one. Time grows with the sum of
/// the cubes of the degrees; above some 10^9 of that a graph counts as no product.
[[nodiscard]] Product factorise(const JoinGraph& graph);

/// "ring:4 x ring:2"
[[nodiscard]] std::string text_of(const std::vector<Level>& levels);

}  // namespace toric
