// What no schedule can beat on a topology: lower bounds from what must leave a rank and what must leave a host.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <cstdint>
#include <string>

namespace toric {

struct Bound {
  double seconds = 0;  // 0: unknown, because bandwidths are, or nothing has to move
  std::string why;     // "each rank sends 2(p-1)/p of the vector at 300GB/s"
};

/// Bandwidth alone, latencies left out. A rank's ports are all links that leave it, but where it has others those of its
/// host's inside (PCIe, memory) do not count; a host's are the links that leave it, of which each rank's share is the same.
[[nodiscard]] Bound lower_bound(const Topology& topology, Collective collective, std::uint64_t bytes);

}  // namespace toric
