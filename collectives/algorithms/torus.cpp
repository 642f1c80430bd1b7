// Torus: rings along one dimension after the other, on all ports at once. The vector is cut into two parts a dimension;
// part j starts on dimension j and goes round it one way or the other, so that each link carries one ring a direction.
// On sides of unequal length the parts have unequal shares (torus_parts), which pieces that overlap make the most of.
//
//   reduce_scatter  S = sum of (d_i - 1) rounds; (1/2D)(p-1)/p of the vector on each link where all sides are equal
//   all_gather      the same
//   all_reduce      2S rounds, (1/D)(p-1)/p
//
// N. Jain, Y. Sabharwal: Optimal bucket algorithms for large MPI collectives on torus interconnects, ICS 2010;
// P. Sack, W. Gropp: Collective algorithms for multiported torus networks, ACM TOPC 1(2), 2015.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/torus_parts.hpp"

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather};

bool fits(const Request& request) {
  if (request.shape == nullptr || !request.shape->is_torus()) return false;
  const auto channels = static_cast<std::uint32_t>(2 * request.shape->levels.size());
  return request.ranks > 1 && has_lanes_for(request, channels);
}

std::uint32_t chunks(const Request& request) {
  return static_cast<std::uint32_t>(request.ranks) * share_among_parts(*request.shape).weight;
}

/// Where each of the schedule's chunks lies in the API's order: part after part here, rank after rank there.
std::vector<std::uint32_t> place(const Request& request) {
  if (!has_blocks(request.collective)) return {};
  return place_of_parts(share_among_parts(*request.shape), *request.shape);
}

/// The k-th dimension of every part, before the next of any.
void build(Builder& b, const Request& request) {
  const GridParts shared = share_among_parts(*request.shape);
  std::vector<GridPhases> parts;
  for (const GridPart& part : shared.parts) parts.emplace_back(part, *request.shape);
  const std::size_t stages = shared.parts.front().order.size();
  const auto each_part = [&](auto phase) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      b.channel(shared.parts[part].channel);
      phase(parts[part]);
    }
    b.begin_stage();
  };
  if (request.collective != Collective::all_gather)
    for (std::size_t stage = 0; stage < stages; ++stage) each_part([&](const GridPhases& part) { part.ring_reduce_scatter(b, stage); });
  if (request.collective != Collective::reduce_scatter)
    for (std::size_t stage = stages; stage-- > 0;) each_part([&](const GridPhases& part) { part.ring_all_gather(b, stage); });
}

Cost cost(const Request& request) {
  double steps = 0;
  for (const Level& level : request.shape->levels) steps += level.size - 1;
  const int phases = request.collective == Collective::all_reduce ? 2 : 1;
  return {phases * steps, phases * share_among_parts(*request.shape).load};
}

CostFormula formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"2 sum(d_i-1)", "(p-1)/(pD)"};
  return {"sum(d_i-1)", "(p-1)/(2pD)"};
}

}  // namespace

namespace entries {

Algorithm torus() {
  return {.name = "torus",
          .collectives = offered,
          .when = "ranks that form a torus, of any dimension and sides; 2 channels a dimension; large vectors",
          .reference = "Jain and Sabharwal, ICS 2010; Sack and Gropp, ACM TOPC 1(2), 2015",
          .fits = fits,
          .chunks = chunks,
          .cost = cost,
          .formula = formula,
          .build = build,
          .place = place,
          .follows_shape = true};
}

}  // namespace entries

}  // namespace toric
