// Two-shot: a direct reduce-scatter, then a direct all-gather. Bandwidth optimal in two rounds where every rank reaches every
// other at full speed. The phases have a channel each: a rank may already gather from one peer while it still folds
// what another one sends.
//
//   all_reduce      2 rounds, 2(p-1)/p of the vector sent by each rank
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19(1), 2005
// (all-reduce as reduce-scatter and all-gather, here with both in their pairwise forms).
#include "toric/algorithms/direct.hpp"
#include "toric/algorithms/entry.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce};

bool fits(const Request& request) { return has_lanes_for(request, 2); }

Cost cost(const Request& request) {
  if (request.ranks == 1) return {};
  return {2, 2 * all_but_own(request)};
}

CostFormula formula(Collective) { return {"2", "2(p-1)/p"}; }

void build(Builder& b, const Request&) {
  b.channel(0);
  direct_reduce_scatter(b);
  b.channel(1);
  direct_all_gather(b);
}

}  // namespace

namespace entries {

Algorithm two_shot() {
  return {.name = "two_shot",
          .collectives = offered,
          .when = "any ranks, 4 lanes a piece; medium vectors among fully connected ranks",
          .reference = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
          .fits = fits,
          .chunks = chunk_per_rank,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
