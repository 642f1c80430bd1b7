// What the entries of the registry have in common.
#pragma once

#include "toric/algorithms/registry.hpp"

namespace toric {

/// A channel is a lane for sends and one for receives; pieces multiply them.
[[nodiscard]] inline bool has_lanes_for(const Request& request, std::uint32_t channels) {
  return request.pieces * 2 * channels <= request.max_lanes;
}

[[nodiscard]] inline std::uint32_t one_chunk(const Request&) { return 1; }
[[nodiscard]] inline std::uint32_t chunk_per_rank(const Request& request) { return static_cast<std::uint32_t>(request.ranks); }

/// (p-1)/p: what is left of a vector when one rank's share of it need not travel.
[[nodiscard]] inline double all_but_own(const Request& request) {
  return static_cast<double>(request.ranks - 1) / static_cast<double>(request.ranks);
}

}  // namespace toric
