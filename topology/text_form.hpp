// Topologies as text: a form that people write and read (docs/topology.md), JSON for other programs, and one line that
// says what there is. Reading is in source.hpp.
#pragma once

#include "toric/topology/topology.hpp"

#include <string>
#include <string_view>

namespace toric {

/// The text form of a valid topology. read_topology_text makes exactly the same topology of it, unless the CPU lists of
/// the topology are out of all proportion (docs/topology.md has the limit).
[[nodiscard]] std::string topology_text(const Topology& topology);

/// {"format", "nodes", "links", "ranks", "allowed_cpus"}, indented by two. What is unknown is left out; bandwidths are
/// bytes/s and latencies seconds. Text that is not UTF-8 has its bad bytes replaced.
[[nodiscard]] std::string to_json(const Topology& topology);

/// "hosts 1 packages 2 numa 2 gpus 8 nics 8 switches 1 links 16 shape switch:8", without a newline. Switches are of all
/// three kinds. A link and its counterpart count once; a link without one counts too.
[[nodiscard]] std::string summary(const Topology& topology, std::string_view shape);

}  // namespace toric
