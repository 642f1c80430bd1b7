// Recursive halving and doubling: participants far apart exchange halves of the vector first, then quarters, and so on,
// until each has a share of its own reduced; an all-reduce then gathers the shares the other way round. For rank counts
// that are no power of two, p' is the largest one below; the p-p' surplus ranks send their vector to their neighbour first
// and receive what is theirs from it last (two rounds more).
//
//   all_reduce      2 log2 p' (+2) rounds, 2(p'-1)/p' (+1) of the vector sent by the busiest rank
//   reduce_scatter  log2 p' (+2) rounds, (p-1)/p of the vector; folded, the busiest rank receives the vector of the neighbour
//                   that sits out, and then the sum over the rounds k of (2^k + min(2^k, p-p'))/p
//
// R. Rabenseifner: Optimization of collective reduction operations, ICCS 2004.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/fold.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::reduce_scatter};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

// An all-reduce has one share a participant, so that shares are equal; a reduce-scatter has the blocks the API fixes.
std::uint32_t chunks(const Request& request) {
  return request.collective == Collective::all_reduce ? static_cast<std::uint32_t>(Fold(request.ranks).power) : chunk_per_rank(request);
}

Cost cost(const Request& request) {
  const Fold fold(request.ranks);
  const double halvings = floor_log2(request.ranks), extra_rounds = fold.surplus > 0 ? 2 : 0;
  if (request.collective == Collective::all_reduce)
    return {2 * halvings + extra_rounds, 2.0 * (fold.power - 1) / fold.power + (fold.surplus > 0 ? 1 : 0)};
  int blocks = fold.surplus > 0 ? request.ranks : 0;
  for (int size = 1; size < fold.power; size *= 2) blocks += fold.at(size);  // of participant 0, whose groups are the largest
  return {halvings + extra_rounds, static_cast<double>(blocks) / request.ranks};
}

CostFormula formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"2 log2 p' (+2 folded)", "2(p'-1)/p' (+1 folded)"};
  return {"log2 p' (+2 folded)", "(p-1)/p; folded: (p + sum of 2^k + min(2^k, p-p'))/p"};
}

void all_reduce(Builder& b) {
  const Fold fold(b.ranks());
  for (int i = 0; i < fold.surplus; ++i) b.send_reduce(fold.beside(i), fold.at(i), 0, fold.power);
  for (int size = fold.power / 2; size > 0; size /= 2)
    for (int i = 0; i < fold.power; ++i) b.send_reduce(fold.at(i), fold.at(i ^ size), group_of(i ^ size, size), size);
  for (int size = 1; size < fold.power; size *= 2)
    for (int i = 0; i < fold.power; ++i) b.send(fold.at(i), fold.at(i ^ size), group_of(i, size), size);
  for (int i = 0; i < fold.surplus; ++i) b.send(fold.at(i), fold.beside(i), 0, fold.power);
}

void reduce_scatter(Builder& b) {
  const Fold fold(b.ranks());
  for (int i = 0; i < fold.surplus; ++i) b.send_reduce(fold.beside(i), fold.at(i), 0, b.ranks());
  for (int size = fold.power / 2; size > 0; size /= 2)
    for (int i = 0; i < fold.power; ++i) {
      const Rank first = fold.at(group_of(i ^ size, size)), end = fold.at(group_of(i ^ size, size) + size);
      b.send_reduce(fold.at(i), fold.at(i ^ size), first, end - first);
    }
  for (int i = 0; i < fold.surplus; ++i) b.send(fold.at(i), fold.beside(i), fold.beside(i));
}

void build(Builder& b, const Request& request) { return request.collective == Collective::all_reduce ? all_reduce(b) : reduce_scatter(b); }

}  // namespace

namespace entries {

Algorithm halving_doubling() {
  return {.name = "halving_doubling",
          .collectives = offered,
          .when = "any ranks (two rounds and up to one vector more where they are no power of two); medium vectors",
          .reference = "Rabenseifner, ICCS 2004",
          .fits = fits,
          .chunks = chunks,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
