// The links that bytes between two ranks travel on.
#pragma once

#include "toric/topology/shape.hpp"
#include "toric/topology/topology.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace toric {

/// Index into Topology::links.
using LinkId = std::uint32_t;

/// Routes are fixed: dimension by dimension on tori (the shorter way round; half way round: up, for even coordinates of
/// the sender, else down), else the path of least latency, then of fewest links (all latencies may be unknown), then of most
/// bandwidth, then of the smallest link numbers.
class Routes {
 public:
  /// Both must outlive this.
  Routes(const Topology& topology, const Shape& shape);
  ~Routes();

  /// In order of travel; empty: the same node, or no way there (see connected). `variant` (modulo 65536) chooses among
  /// parallel links and ways that are equally good up to link numbers (variants 0, 1, ... take turns in their order), and,
  /// on a doubled size-2 ring, the direction. Kept as long as this lives: a second look-up is one in a hash table. Not for
  /// several threads.
  [[nodiscard]] std::span<const LinkId> route(Rank from, Rank to, std::uint32_t variant = 0) const;
  [[nodiscard]] bool connected(Rank from, Rank to) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace toric
