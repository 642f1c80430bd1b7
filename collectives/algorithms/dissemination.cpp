// Dissemination: in round k every rank tells the one 2^k further what it has heard of so far, so that after ceil(log2 p) rounds
// each rank has heard of all, whatever the rank count. Where that is no power of two some are heard of more
// than once, which a barrier may and a reduction may not.
//
//   barrier         ceil(log2 p) rounds, ceil(log2 p) messages sent by each rank
//
// D. Hensgen, R. Finkel, U. Manber: Two algorithms for barrier synchronization, IJPP 17(1), 1988.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/fold.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::barrier};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

Cost cost(const Request& request) {
  const double rounds = ceil_log2(request.ranks);
  return {rounds, rounds};
}

CostFormula formula(Collective) { return {"ceil(log2 p)", "ceil(log2 p)"}; }

void build(Builder& b, const Request&) {
  for (Rank distance = 1; distance < b.ranks(); distance *= 2) {
    b.begin_round();
    for (Rank rank = 0; rank < b.ranks(); ++rank) b.send_reduce(rank, (rank + distance) % b.ranks(), 0);
    b.end_round();
  }
}

}  // namespace

namespace entries {

Algorithm dissemination() {
  return {.name = "dissemination",
          .collectives = offered,
          .when = "any ranks",
          .reference = "Hensgen, Finkel and Manber, IJPP 17(1), 1988",
          .fits = fits,
          .chunks = one_chunk,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
