// Whether a topology keeps the promises that its readers rely on, and a number that tells topologies apart.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <cstddef>
#include <cstdint>

namespace toric {

/// invalid_argument with the node, link or rank and what is wrong with it, unless: node 0 is a host; hosts and network
/// switches have no parent, all others but NVSwitches have one, which comes before them; links join two different nodes,
/// with finite bandwidths and latencies not below 0; cache and memory links stay among the parts of a host's processors;
/// ranks are on gpus or cores, none twice; lists of CPUs ascend; addresses look like dddd:bb:dd.f.
[[nodiscard]] Status validate(const Topology& topology);

// The parts of it, for readers that know the line a thing came from.

[[nodiscard]] Status validate_node(const Topology& topology, NodeId id);
[[nodiscard]] Status validate_link(const Topology& topology, std::size_t index);

/// Equal for topologies with equal contents, on all machines and in all versions; different with all likelihood for
/// others. Everything counts: names, unknown values, and the order of nodes, links and ranks.
[[nodiscard]] std::uint64_t hash_of(const Topology& topology);

}  // namespace toric
