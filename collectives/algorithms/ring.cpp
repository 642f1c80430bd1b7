// Ring: every rank sends to the next only. Bandwidth optimal for any rank count, latency linear in it; no link of a ring
// embedded in the topology carries two messages at a time.
//
//   all_reduce      2(p-1) rounds, 2(p-1)/p of the vector sent by each rank (reduce-scatter, then all-gather)
//   all_gather      p-1 rounds, (p-1)/p
//   reduce_scatter  p-1 rounds, (p-1)/p
//   broadcast       p-1 rounds, the vector once: a chain from the root; an executor that cuts steps into segments
//                   pipelines it, so that a large vector takes little longer than one hop
//
// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69(2), 2009.
#include "toric/algorithms/ring.hpp"

#include "toric/algorithms/entry.hpp"

#include <algorithm>
#include <numeric>

namespace toric {

std::vector<Rank> ring_order(const Request& request) {
  std::vector<Rank> order(static_cast<std::size_t>(request.ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void ring_reduce_scatter(Builder& b, const Ring& ring) {
  for (int step = 0; step < ring.size() - 1; ++step)
    for (int i = 0; i < ring.size(); ++i) b.send_reduce(ring.at(i), ring.at(i + 1), ring.block(i - 1 - step));
}

void ring_all_gather(Builder& b, const Ring& ring) {
  for (int step = 0; step < ring.size() - 1; ++step)
    for (int i = 0; i < ring.size(); ++i) b.send(ring.at(i), ring.at(i + 1), ring.block(i - step));
}

void ring_chain(Builder& b, const Ring& ring, Rank root) {
  const int start = static_cast<int>(std::find(ring.order.begin(), ring.order.end(), root) - ring.order.begin());
  for (int i = start; i < start + ring.size() - 1; ++i) b.send(ring.at(i), ring.at(i + 1), ring.first);
}

void ring_phases(Builder& b, const Request& request, const Ring& ring) {
  if (request.collective == Collective::broadcast) return ring_chain(b, ring, request.root);
  if (request.collective != Collective::all_gather) ring_reduce_scatter(b, ring);
  if (request.collective != Collective::reduce_scatter) ring_all_gather(b, ring);
}

Cost ring_cost(const Request& request) {
  const double steps = request.ranks - 1;
  if (request.ranks == 1) return {};
  if (request.collective == Collective::broadcast) return {steps, 1};
  const int phases = request.collective == Collective::all_reduce ? 2 : 1;
  return {phases * steps, phases * all_but_own(request)};
}

CostFormula ring_formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"2(p-1)", "2(p-1)/p"};
  return {"p-1", collective == Collective::broadcast ? "1" : "(p-1)/p"};
}

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast};

bool fits(const Request& request) { return has_lanes_for(request, 1); }

std::uint32_t chunks(const Request& request) {
  return request.collective == Collective::broadcast ? one_chunk(request) : chunk_per_rank(request);
}

void build(Builder& b, const Request& request) {
  const std::vector<Rank> order = ring_order(request);
  const Ring ring{.order = order};
  ring_phases(b, request, ring);
}

}  // namespace

namespace entries {

Algorithm ring() {
  return {.name = "ring",
          .collectives = offered,
          .when = "any ranks; large vectors, or where only ring neighbours have a fast link",
          .reference = "Patarasuk and Yuan, JPDC 69(2), 2009",
          .fits = fits,
          .chunks = chunks,
          .cost = ring_cost,
          .formula = ring_formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
