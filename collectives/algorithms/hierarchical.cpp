// Hierarchical: reduce-scatter level by level from the inside out, on what the levels inside have left, and all-gather
// back. NVLink inside a host and one rail a device between hosts, or the rows and columns of a grid: every level is used
// for what it is good at. Pieces overlap the levels.
//
// n_i: ranks of a level's group. A level whose ranks all reach each other works in one round if it is small, else as a ring.
//
//   reduce_scatter  sum of r_i rounds, r_i = 1 or n_i - 1; (p-1)/p of the vector sent by each rank, of which level i has
//                   (n_i - 1) / (n_1 ... n_i)
//   all_gather      the same
//   all_reduce      twice that
//
// Hosts of different sizes (all_reduce only): R ranks a host, as many as the smallest has, own a share each: direct
// reduce-scatter to them, a ring a share between the k hosts, direct all-gather. 2k rounds.
//
// M. Cho, U. Finkler, M. Serrano, D. Kung, H. Hunter: BlueConnect, IBM J. Res. Dev. 63(6), 2019;
// H. Mikami et al.: Massively distributed SGD: ImageNet/ResNet-50 training in a flash, arXiv:1811.05233 (two levels of rings).
#include "toric/algorithms/entry.hpp"
#include "toric/algorithms/grid_phases.hpp"
#include "toric/algorithms/ring.hpp"

#include <algorithm>

namespace toric {

namespace {

constexpr Collective offered[] = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather};
constexpr Rank most_direct = 8;  // larger levels would have each rank send to too many at once

bool is_direct(const Level& level) {
  const bool all_reach_all = level.kind == LevelKind::switched || level.kind == LevelKind::clique || level.kind == LevelKind::rail;
  return all_reach_all && level.size <= most_direct;
}

GridPart whole_vector(const Shape& shape) {
  GridPart part;
  for (std::size_t level = 0; level < shape.levels.size(); ++level)
    if (shape.levels[level].size > 1) part.order.push_back(level);
  return part;
}

// --- hosts of different sizes ----------------------------------------------------------------------------------------

bool is_uneven(const Shape& shape) { return shape.coordinates.empty() && shape.groups.size() > 1; }

std::uint32_t smallest_group(const Shape& shape) {
  return static_cast<std::uint32_t>(
      std::min_element(shape.groups.begin(), shape.groups.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); })->size());
}

std::uint32_t hosts(const Shape& shape) { return static_cast<std::uint32_t>(shape.groups.size()); }

/// Share s, of as many chunks as there are hosts, belongs to rank s of each host.
void build_uneven(Builder& b, const Shape& shape) {
  const std::uint32_t shares = smallest_group(shape), k = hosts(shape);
  b.begin_round();
  for (const auto& host : shape.groups)
    for (std::uint32_t share = 0; share < shares; ++share)
      for (const Rank rank : host) b.send_reduce(rank, host[share], share * k, k);
  b.end_round();
  b.channel(1);
  for (std::uint32_t share = 0; share < shares; ++share) {
    const auto rank_at = [&](std::uint32_t host) { return shape.groups[host % k][share]; };
    for (std::uint32_t step = 1; step < k; ++step)
      for (std::uint32_t host = 0; host < k; ++host) b.send_reduce(rank_at(host), rank_at(host + 1), share * k + (host + k - step) % k);
    for (std::uint32_t step = 0; step + 1 < k; ++step)
      for (std::uint32_t host = 0; host < k; ++host) b.send(rank_at(host), rank_at(host + 1), share * k + (host + k - step) % k);
  }
  b.channel(2);
  b.begin_round();
  for (const auto& host : shape.groups)
    for (std::uint32_t share = 0; share < shares; ++share)
      for (const Rank rank : host) b.send(host[share], rank, share * k, k);
  b.end_round();
}

Cost cost_uneven(const Shape& shape) {
  const double shares = smallest_group(shape), k = hosts(shape);
  double largest = 0;
  for (const auto& host : shape.groups) largest = std::max(largest, static_cast<double>(host.size()));
  const double owner = (shares - 1 + largest - 1 + 2 * (k - 1) / k) / shares;
  return {2 * (k - 1) + 2, std::max(1.0, owner)};
}

// --- the registry's functions ----------------------------------------------------------------------------------------

bool fits(const Request& request) {
  if (request.shape == nullptr) return false;
  const Shape& shape = *request.shape;
  if (is_uneven(shape)) return request.collective == Collective::all_reduce && has_lanes_for(request, 3);
  const std::size_t levels = shape.coordinates.empty() ? 0 : whole_vector(shape).order.size();
  return levels > 1 && has_lanes_for(request, static_cast<std::uint32_t>(2 * levels));
}

std::uint32_t chunks(const Request& request) {
  return is_uneven(*request.shape) ? smallest_group(*request.shape) * hosts(*request.shape) : chunk_per_rank(request);
}

std::vector<std::uint32_t> place(const Request& request) {
  if (!has_blocks(request.collective)) return {};
  return place_of_parts({.parts = {whole_vector(*request.shape)}, .weight = 1, .load = 0}, *request.shape);
}

void build(Builder& b, const Request& request) {
  const Shape& shape = *request.shape;
  if (is_uneven(shape)) return build_uneven(b, shape);
  const GridPart part = whole_vector(shape);
  const GridPhases phases(part, shape);
  std::uint16_t channel = 0;
  if (request.collective != Collective::all_gather)
    for (std::size_t stage = 0; stage < part.order.size(); ++stage) {
      b.channel(channel++);
      b.begin_stage();
      is_direct(shape.levels[part.order[stage]]) ? phases.direct_reduce_scatter(b, stage) : phases.ring_reduce_scatter(b, stage);
    }
  if (request.collective != Collective::reduce_scatter)
    for (std::size_t stage = part.order.size(); stage-- > 0;) {
      b.channel(channel++);
      b.begin_stage();
      is_direct(shape.levels[part.order[stage]]) ? phases.direct_all_gather(b, stage) : phases.ring_all_gather(b, stage);
    }
}

Cost cost(const Request& request) {
  if (is_uneven(*request.shape)) return cost_uneven(*request.shape);
  double rounds = 0;
  for (const Level& level : request.shape->levels) rounds += level.size == 1 ? 0 : is_direct(level) ? 1 : level.size - 1;
  const int phases = request.collective == Collective::all_reduce ? 2 : 1;
  return {phases * rounds, phases * all_but_own(request)};
}

CostFormula formula(Collective collective) {
  if (collective == Collective::all_reduce) return {"2 sum r_i, r_i = 1 or n_i-1", "2(p-1)/p"};
  return {"sum r_i, r_i = 1 or n_i-1", "(p-1)/p"};
}

}  // namespace

namespace entries {

Algorithm hierarchical() {
  return {.name = "hierarchical",
          .collectives = offered,
          .when = "ranks in two levels or more, such as hosts on a network; hosts of different sizes for all_reduce",
          .reference = "Cho et al., IBM J. Res. Dev. 63(6), 2019; Mikami et al., arXiv:1811.05233",
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
