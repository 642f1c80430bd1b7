// Shapes made from numbers, without a graph: for trying algorithms on every torus and every division into hosts.
#pragma once

#include "toric/topology/shape.hpp"

#include <vector>

namespace toric {

/// A torus with these sides, 2 or more each, ranks numbered with the first side running fastest. A side of 2 is joined by
/// two links. Bandwidths and latencies are unknown.
[[nodiscard]] Shape torus_shape(const std::vector<Rank>& sides);

/// All tori of that many ranks with up to `most_sides` sides in descending order; none for fewer than 2 ranks.
[[nodiscard]] std::vector<Shape> torus_shapes(Rank ranks, int most_sides = 3);

/// Hosts of these sizes, one after the other in rank order, each with a switch inside and one that joins them. Sizes that
/// differ make an irregular shape with groups.
[[nodiscard]] Shape hosts_shape(const std::vector<Rank>& sizes);

/// Hosts for that many ranks: every equal division, and some that are not.
[[nodiscard]] std::vector<Shape> hosts_shapes(Rank ranks);

}  // namespace toric
