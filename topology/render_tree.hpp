// A topology as a tree of text, ranks beside the cores that have them.
#pragma once

#include "toric/topology/placement.hpp"
#include "toric/topology/topology.hpp"

#include <span>
#include <string>

namespace toric {

/// Ends with a newline. Caches that belong to one core stand in that core's line.
[[nodiscard]] std::string render_tree(const Topology& topology, std::span<const Placement> placements = {});

/// "48 KiB", "2.5 MiB", "15.6 GiB": the largest unit that leaves at least 1, at most one decimal.
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

/// Ascending CPU numbers as ranges: "0-3,8".
[[nodiscard]] std::string readable_cpus(std::span<const int> cpus);

}  // namespace toric
