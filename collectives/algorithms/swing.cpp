// Swing: recursive halving and doubling whose partners lie 1, 1, 3, 5, 11, ... places away, alternately on either side, so
// that messages travel a third less far than with 1, 2, 4, ... and both directions of a ring are used. On a torus
// dimensions take turns, and two instances a dimension, one mirrored, use all ports. Sides must be even; what is no power
// of two works because each block leaves at the last step from which it can still reach its owner.
//
// L = sum of ceil(log2 d_i):
//   reduce_scatter  L rounds; (p-1)/p of the vector sent by each rank, over up to (1/2D) 6/5, 28/27 or 120/119 of it a
//                   link for 2, 3 or 4 equal sides
//   all_gather      the same
//   all_reduce      2L rounds
//
// D. De Sensi, T. Bonato, D. Saam, T. Hoefler: Swing: Short-cutting rings for higher bandwidth allreduce, NSDI 2024.
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/swing_steps.hpp"

#include <algorithm>
#include <map>

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather};

std::vector<std::size_t> dimensions_of(const Shape& shape) {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < shape.levels.size(); ++d)
    if (shape.levels[d].size > 1) dimensions.push_back(d);
  return dimensions;
}

std::uint32_t instances(const Shape& shape) { return static_cast<std::uint32_t>(2 * dimensions_of(shape).size()); }

/// The instance that uses that channel; odd ones are mirrored.
SwingSteps steps_on(const Shape& shape, std::uint32_t channel) { return {shape, dimensions_of(shape)[channel / 2], channel % 2 != 0}; }

bool fits(const Request& request) {
  if (request.shape == nullptr || request.ranks < 2 || !request.shape->is_torus()) return false;
  const bool even = std::all_of(request.shape->levels.begin(), request.shape->levels.end(),
                                [](const Level& level) { return level.size == 1 || level.size % 2 == 0; });
  return even && has_lanes_for(request, instances(*request.shape));
}

std::uint32_t chunks(const Request& request) { return chunk_per_rank(request) * instances(*request.shape); }

std::vector<std::uint32_t> place(const Request& request) {
  if (!has_blocks(request.collective)) return {};
  const std::uint32_t parts = instances(*request.shape), ranks = chunk_per_rank(request);
  std::vector<std::uint32_t> places(std::size_t{ranks} * parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const SwingSteps steps = steps_on(*request.shape, part);
    for (Rank rank = 0; rank < request.ranks; ++rank)
      places[part * ranks + steps.place(rank)] = static_cast<std::uint32_t>(rank) * parts + part;
  }
  return places;
}

/// visit(first, count) for each run of neighbours.
template <typename Visit>
void for_each_run(const std::vector<std::uint32_t>& places, Visit visit) {
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    visit(places[begin], static_cast<std::uint32_t>(end - begin));
    begin = end;
  }
}

void reduce_scatter(Builder& b, const SwingSteps& steps, std::uint32_t first) {
  for (std::size_t step = 0; step < steps.count(); ++step) {
    b.begin_round();
    for (Rank rank = 0; rank < steps.ranks(); ++rank)
      for_each_run(steps.handed_over(rank, step),
                   [&](std::uint32_t place, std::uint32_t count) { b.send_reduce(rank, steps.partner(rank, step), first + place, count); });
    b.end_round();
  }
}

/// Everything goes back the way it came.
void all_gather(Builder& b, const SwingSteps& steps, std::uint32_t first) {
  for (std::size_t step = steps.count(); step-- > 0;) {
    b.begin_round();
    for (Rank rank = 0; rank < steps.ranks(); ++rank)
      for_each_run(steps.handed_over(rank, step),
                   [&](std::uint32_t place, std::uint32_t count) { b.send(steps.partner(rank, step), rank, first + place, count); });
    b.end_round();
  }
}

void build(Builder& b, const Request& request) {
  for (std::uint32_t channel = 0; channel < instances(*request.shape); ++channel) {
    const SwingSteps steps = steps_on(*request.shape, channel);
    const std::uint32_t first = channel * chunk_per_rank(request);
    b.channel(static_cast<std::uint16_t>(channel));
    if (request.collective != Collective::all_gather) reduce_scatter(b, steps, first);
    if (request.collective != Collective::reduce_scatter) all_gather(b, steps, first);
  }
}

/// Blocks over the busiest directed link of a reduce-scatter, every message taking the shorter way along its dimension.
double busiest_link(const Shape& shape) {
  const std::uint32_t parts = instances(shape);
  std::map<std::tuple<std::size_t, Rank, bool, std::uint32_t>, double> load;  // dimension, rank, upward, which of two links
  std::map<std::vector<Rank>, Rank> rank_at;
  for (std::size_t rank = 0; rank < shape.coordinates.size(); ++rank) rank_at[shape.coordinates[rank]] = static_cast<Rank>(rank);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const SwingSteps steps = steps_on(shape, part);
    for (std::size_t step = 0; step < steps.count(); ++step)
      for (Rank rank = 0; rank < steps.ranks(); ++rank) {
        const std::size_t dimension = steps.hop(step).dimension;
        const Rank side = shape.levels[dimension].size;
        std::vector<Rank> at = shape.coordinates[static_cast<std::size_t>(rank)];
        const Rank target = shape.coordinates[static_cast<std::size_t>(steps.partner(rank, step))][dimension];
        const Rank up = (target - at[dimension] + side) % side;
        const bool upward = up * 2 < side || (up * 2 == side && at[dimension] % 2 == 0);
        const auto bytes = static_cast<double>(steps.handed_over(rank, step).size());
        for (Rank hops = upward ? up : side - up; hops > 0; --hops) {
          const bool doubled = side == 2 && shape.levels[dimension].doubled;
          load[{dimension, rank_at[at], side == 2 || upward, doubled ? part % 2 : 0}] += bytes;
          at[dimension] = (at[dimension] + (upward ? 1 : side - 1)) % side;
        }
      }
  }
  double most = 0;
  for (const auto& [link, bytes] : load) most = std::max(most, bytes);
  return most / (static_cast<double>(shape.coordinates.size()) * parts);
}

Cost cost(const Request& request) {
  const int phases = request.collective == Collective::all_reduce ? 2 : 1;
  return {phases * static_cast<double>(steps_on(*request.shape, 0).count()), phases * busiest_link(*request.shape)};
}

CostFormula formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"2 sum log2 d_i", "(p-1)/(pD) * 6/5, 28/27, ..."};
  return {"sum log2 d_i", "(p-1)/(2pD) * 6/5, 28/27, ..."};
}

}  // namespace

namespace entries {

Algorithm swing() {
  return {.name = "swing",
          .collectives = offered,
          .when = "ranks that form a torus with even sides, 2 channels a dimension; medium vectors",
          .reference = "De Sensi, Bonato, Saam and Hoefler, NSDI 2024",
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
