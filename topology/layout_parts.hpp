// What a host's picture is made of, before it has a place. Internal to the layer.
#pragma once

#include "toric/topology/topology.hpp"

#include <vector>

namespace toric::picture {

/// A node as it is drawn, or several alike; with what is drawn inside it.
struct Part {
  std::vector<NodeId> nodes;
  NodeKind kind = NodeKind::host;
  std::vector<Part> above;   // bars over the row: what joins the devices of the row from there
  std::vector<Part> inside;  // a row, left to right
  std::vector<Part> below;   // bars under the row: NVSwitches
  double width = 0, height = 0;
  int columns = 0;       // of cores, which stand in several rows; 0: one row
  double arc_space = 0;  // under the row, for arcs
};

/// The host as parts, nested and in drawing order, with sizes. Where there are gpus, cores and caches are left out; caches
/// of one core and memory always are. Alike NVSwitches are folded, and more than two alike NICs.
[[nodiscard]] Part parts_of(const Topology& topology, NodeId host);

// Distances that measuring and placing share, in CSS pixels.
inline constexpr double padding = 10, bar_height = 24, bar_gap = 30, row_gap = 14, core_gap = 6, below_gap = 34;

/// Height of the row of `part`: of its highest part, or of all rows of cores.
[[nodiscard]] double row_height(const Part& part);

}  // namespace toric::picture
