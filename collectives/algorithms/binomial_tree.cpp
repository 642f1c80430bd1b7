// Binomial tree: rank v (counted from the root) hangs below v without its lowest set bit.
//
//   all_reduce      2 ceil(log2 p) rounds, ceil(log2 p) vectors received, then sent, by the root: a reduction to rank 0,
//                   then a broadcast from it. Operands stay in rank order.
//   broadcast       ceil(log2 p) rounds, ceil(log2 p) vectors sent by the root
//
// Rounds count what one port sends one after the other; the tree itself is floor(log2 p) messages deep.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19(1), 2005.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/fold.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::broadcast};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

Cost cost(const Request& request) {
  const double levels = ceil_log2(request.ranks);
  return {request.collective == Collective::all_reduce ? 2 * levels : levels, levels};
}

CostFormula formula(Collective collective) {
  return {collective == Collective::all_reduce ? "2 ceil(log2 p)" : "ceil(log2 p)", "ceil(log2 p)"};
}

// The nearest first: what arrives at v stands for the ranks right above those v already stands for.
void reduce_to_zero(Builder& b) {
  for (Rank bit = 1; bit < b.ranks(); bit *= 2)
    for (Rank v = 0; v + bit < b.ranks(); v += 2 * bit) b.send_reduce(v + bit, v, 0);
}

// The farthest first: the largest subtree starts earliest.
void broadcast_from(Builder& b, Rank root) {
  for (Rank bit = (1 << ceil_log2(b.ranks())) / 2; bit > 0; bit /= 2)
    for (Rank v = 0; v + bit < b.ranks(); v += 2 * bit) b.send(rotate(v, root, b.ranks()), rotate(v + bit, root, b.ranks()), 0);
}

void build(Builder& b, const Request& request) {
  if (request.collective == Collective::broadcast) return broadcast_from(b, request.root);
  reduce_to_zero(b);
  broadcast_from(b, 0);
}

}  // namespace

namespace entries {

Algorithm binomial_tree() {
  return {.name = "binomial_tree",
          .collectives = offered,
          .when = "any ranks; small vectors among many ranks",
          .reference = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
          .fits = fits,
          .chunks = one_chunk,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
