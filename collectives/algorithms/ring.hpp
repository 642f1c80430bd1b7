// The phases of a ring, shared by the algorithms that run one or several rings.
#pragma once

#include "toric/algorithms/registry.hpp"
#include "toric/ir/builder.hpp"

#include <span>
#include <vector>

namespace toric {

/// One ring over part of the vector: rank r's block is chunk r * stride + first.
struct Ring {
  std::span<const Rank> order;  // each rank sends to the next, the last one to the first
  int first = 0;
  int stride = 1;

  [[nodiscard]] int size() const { return static_cast<int>(order.size()); }
  [[nodiscard]] Rank at(int i) const { return order[static_cast<std::size_t>(((i % size()) + size()) % size())]; }
  [[nodiscard]] int block(int i) const { return at(i) * stride + first; }
};

/// Ranks in the order in which a ring visits them.
[[nodiscard]] std::vector<Rank> ring_order(const Request& request);

/// Each rank ends with its own block reduced: p-1 rounds, (p-1)/p of the ring's part of the vector sent by each rank.
void ring_reduce_scatter(Builder& b, const Ring& ring);
/// Each rank starts with its own block: p-1 rounds, (p-1)/p.
void ring_all_gather(Builder& b, const Ring& ring);
/// The chunk `ring.first` travels from the root along the ring: p-1 rounds, each rank but the last sends it once.
void ring_chain(Builder& b, const Ring& ring, Rank root);
/// The phases of the request's collective, in order.
void ring_phases(Builder& b, const Request& request, const Ring& ring);

/// What they cost. Rings that share the vector cost together what one costs: bytes are counted per rank, not per direction.
[[nodiscard]] Cost ring_cost(const Request& request);
[[nodiscard]] CostFormula ring_formula(Collective collective);

}  // namespace toric
