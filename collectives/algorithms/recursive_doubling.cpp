// Recursive doubling: in round k participant i exchanges all it has with participant i xor 2^k. For rank counts that are no
// power of two, p' is the largest one below; the p-p' surplus ranks send to their neighbour first and receive from
// it last (two rounds more).
//
//   all_reduce      log2 p' (+2) rounds, log2 p' (+1) vectors sent by the busiest rank. Operands stay in rank order.
//   all_gather      log2 p (+2) rounds, (p-1)/p of the vector; folded, the busiest rank sends the sum over the rounds k
//                   of (2^k + min(2^k, p-p'))/p, and then (p-1)/p to the neighbour that sat out
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19(1), 2005.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/fold.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::all_gather};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

std::uint32_t chunks(const Request& request) {
  return request.collective == Collective::all_reduce ? one_chunk(request) : chunk_per_rank(request);
}

Cost cost(const Request& request) {
  const Fold fold(request.ranks);
  const double doublings = floor_log2(request.ranks);
  const double rounds = doublings + (fold.surplus > 0 ? 2 : 0);
  if (request.collective == Collective::all_reduce) return {rounds, doublings + (fold.surplus > 0 ? 1 : 0)};
  int blocks = fold.surplus > 0 ? request.ranks - 1 : 0;
  for (int size = 1; size < fold.power; size *= 2) blocks += fold.at(size);  // of participant 0, whose groups are the largest
  return {rounds, static_cast<double>(blocks) / request.ranks};
}

CostFormula formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"log2 p' (+2 folded)", "log2 p' (+1 folded)"};
  return {"log2 p' (+2 folded)", "(p-1)/p; folded: (p-1 + sum of 2^k + min(2^k, p-p'))/p"};
}

void all_reduce(Builder& b) {
  const Fold fold(b.ranks());
  for (int i = 0; i < fold.surplus; ++i) b.send_reduce(fold.beside(i), fold.at(i), 0);
  for (int size = 1; size < fold.power; size *= 2) {
    b.begin_round();
    for (int i = 0; i < fold.power; ++i) b.send_reduce(fold.at(i), fold.at(i ^ size), 0);
    b.end_round();
  }
  for (int i = 0; i < fold.surplus; ++i) b.send(fold.at(i), fold.beside(i), 0);
}

void all_gather(Builder& b) {
  const Fold fold(b.ranks());
  for (int i = 0; i < fold.surplus; ++i) b.send(fold.beside(i), fold.at(i), fold.beside(i));
  for (int size = 1; size < fold.power; size *= 2)
    for (int i = 0; i < fold.power; ++i) {
      const Rank first = fold.at(group_of(i, size)), end = fold.at(group_of(i, size) + size);
      b.send(fold.at(i), fold.at(i ^ size), first, end - first);
    }
  for (int i = 0; i < fold.surplus; ++i) {  // all but the block that came from there
    b.send(fold.at(i), fold.beside(i), 0, fold.beside(i));
    b.send(fold.at(i), fold.beside(i), fold.beside(i) + 1, b.ranks() - fold.beside(i) - 1);
  }
}

void build(Builder& b, const Request& request) { return request.collective == Collective::all_reduce ? all_reduce(b) : all_gather(b); }

}  // namespace

namespace entries {

Algorithm recursive_doubling() {
  return {.name = "recursive_doubling",
          .collectives = offered,
          .when = "any ranks (two rounds more where they are no power of two); small vectors",
          .reference = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
          .fits = fits,
          .chunks = chunks,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
