// Placement: which CPU each rank of a host gets. Pure: the same topology gives the same placement everywhere.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <vector>

namespace toric {

struct Placement {
  Rank local_rank = 0;
  int cpu = -1;           // logical CPU, the operating system's number; -1: none is allowed
  NodeId core = no_node;  // the core that has it
  int numa = -1;          // its NUMA node; -1: unknown
  bool pinned = false;    // whether the rank should be bound to it: only when every rank has a CPU to itself
};

/// One rank a core, cores in the order of the machine so that neighbours in rank share caches; when the cores are used
/// up, their second hardware threads, and so on; when the allowed CPUs are used up it starts over, and nobody is pinned.
[[nodiscard]] std::vector<Placement> place_ranks(const Topology& topology, Rank ranks);

/// Binds the calling thread. Errors name the CPU and why not.
[[nodiscard]] Status pin_this_thread(int cpu);

}  // namespace toric
