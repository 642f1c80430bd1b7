// Direct: every rank sends to every other rank in a single round. The fewest rounds there are; what it costs in bytes
// depends on the collective.
//
//   all_reduce      1 round, p-1 vectors sent by each rank ("one-shot"); every rank folds all inputs in ascending rank order
//   all_gather      1 round, (p-1)/p of the vector
//   reduce_scatter  1 round, (p-1)/p; folded in ascending rank order
//   broadcast       1 round, p-1 vectors sent by the root
//
// Where nothing is folded, rank r sends to r+1 first, then to r+2, and so on: at any time each rank receives from one sender.
// A fold takes its operands in rank order, so there senders go through the receivers in rank order as well: the message from
// f to t waits only for those from f to lower ranks and from lower ranks to t, a wavefront that needs no buffering.
//
// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH, IJHPCA 19(1), 2005
// (the pairwise forms).
#include "toric/algorithms/direct.hpp"

#include "toric/algorithms/entry.hpp"

namespace toric {

void direct_reduce_scatter(Builder& b) {
  b.begin_round();
  for (Rank from = 0; from < b.ranks(); ++from)
    for (Rank to = 0; to < b.ranks(); ++to) b.send_reduce(from, to, to);
  b.end_round();
}

void direct_all_gather(Builder& b) {
  for (Rank shift = 1; shift < b.ranks(); ++shift)
    for (Rank from = 0; from < b.ranks(); ++from) b.send(from, (from + shift) % b.ranks(), from);
}

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

std::uint32_t chunks(const Request& request) { return has_blocks(request.collective) ? chunk_per_rank(request) : one_chunk(request); }

Cost cost(const Request& request) {
  if (request.ranks == 1) return {};
  return {1, has_blocks(request.collective) ? all_but_own(request) : static_cast<double>(request.ranks - 1)};
}

CostFormula formula(Collective collective) { return {"1", has_blocks(collective) ? "(p-1)/p" : "p-1"}; }

void one_shot(Builder& b) {
  b.begin_round();
  for (Rank from = 0; from < b.ranks(); ++from)
    for (Rank to = 0; to < b.ranks(); ++to) b.send_reduce(from, to, 0);
  b.end_round();
}

void fan_out(Builder& b, Rank root) {
  for (Rank shift = 1; shift < b.ranks(); ++shift) b.send(root, rotate(shift, root, b.ranks()), 0);
}

void build(Builder& b, const Request& request) {
  if (request.collective == Collective::all_reduce) return one_shot(b);
  if (request.collective == Collective::broadcast) return fan_out(b, request.root);
  if (request.collective == Collective::reduce_scatter) return direct_reduce_scatter(b);
  direct_all_gather(b);
}

}  // namespace

namespace entries {

Algorithm direct() {
  return {.name = "direct",
          .collectives = offered,
          .when = "any ranks; small vectors and few ranks for all_reduce and broadcast, fully connected ranks for the others",
          .reference = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005",
          .fits = fits,
          .chunks = chunks,
          .cost = cost,
          .formula = formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
