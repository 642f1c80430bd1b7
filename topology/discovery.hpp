// Discovery: what this host consists of, and what a host described in words would consist of.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <string>

namespace toric {

/// Packages, NUMA nodes, caches and cores of this host, and the CPUs this process may use. Whatever the operating
/// system does not tell is left out or unknown; there is always a host, and a core for each CPU.
Result<Topology> discover_host();

/// The same of an imaginary host, in hwloc's synthetic notation ("package:2 numa:1 l3:1 core:4 pu:2"): any machine's
/// shape can be tested on any other. All its CPUs are allowed.
Result<Topology> describe_host(const std::string& synthetic);

}  // namespace toric
