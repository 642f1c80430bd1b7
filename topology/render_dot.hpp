// A topology for Graphviz.
#pragma once

#include "toric/topology/topology.hpp"

#include <string>

namespace toric {

/// A graph in the DOT language: every node ("n" and its id), hosts as clusters, and one edge for the links of one kind between
/// two nodes, labelled with their number and bandwidth one way. `dot -Tsvg` draws it.
[[nodiscard]] std::string render_dot(const Topology& topology);

}  // namespace toric
