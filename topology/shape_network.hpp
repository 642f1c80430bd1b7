// How hosts are joined: by rails, or by a switch.
#pragma once

#include "toric/topology/topology.hpp"

#include <span>
#include <vector>

namespace toric {

/// The network switch behind each rank's nearest NIC (or other way out of its host); no_node: none. Among equally near
/// NICs of a host each rank takes the one that fewest have taken.
[[nodiscard]] std::vector<NodeId> leaves_of(const Topology& topology, std::span<const NodeId> ranks);

/// Whether each leaf serves exactly one rank of each unit, and each rank has one: then those ranks make a rail.
[[nodiscard]] bool are_rails(std::span<const NodeId> leaves, const std::vector<std::vector<Rank>>& units);

}  // namespace toric
