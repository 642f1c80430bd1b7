// Bidirectional ring: two rings at once, one half of the vector each, turning against each other on two channels. Where the
// two directions are separate links, each carries half of what a single ring puts on one of them. With two ranks both rings
// join the same two ranks, by two channels.
//
//   all_reduce      2(p-1) rounds, 2(p-1)/p of the vector sent by each rank, half of it each way
//   all_gather      p-1 rounds, (p-1)/p
//   reduce_scatter  p-1 rounds, (p-1)/p
//   broadcast       p-1 rounds, the vector once: half of it clockwise, half counter-clockwise
//
// N. Jain, Y. Sabharwal: Optimal bucket algorithms for large MPI collectives on torus interconnects, ICS 2010 (one dimension).
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/ring.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast};

bool fits(const Request& request) { return has_lanes_for(request, 2); }

// Two parts of every block, so that each ring has a part of each.
std::uint32_t chunks(const Request& request) { return request.collective == Collective::broadcast ? 2 : 2 * chunk_per_rank(request); }

void build(Builder& b, const Request& request) {
  const std::vector<Rank> order = ring_order(request);
  const std::vector<Rank> reversed(order.rbegin(), order.rend());
  b.channel(0);
  ring_phases(b, request, {.order = order, .first = 0, .stride = 2});
  b.channel(1);
  ring_phases(b, request, {.order = reversed, .first = 1, .stride = 2});
}

}  // namespace

namespace entries {

Algorithm bidirectional_ring() {
  return {.name = "bidirectional_ring",
          .collectives = offered,
          .when = "any ranks, 4 lanes a piece; large vectors where both directions of a ring are links of their own",
          .reference = "Jain and Sabharwal, ICS 2010",
          .fits = fits,
          .chunks = chunks,
          .cost = ring_cost,
          .formula = ring_formula,
          .build = build};
}

}  // namespace entries

}  // namespace toric
