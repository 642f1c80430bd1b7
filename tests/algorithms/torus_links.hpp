// Where a torus's messages go, for tests: every message must move along one dimension; it takes the shorter way round,
// half way round up from even coordinates and down from odd ones. The two links of a side of 2 are told apart by the
// channel's parity.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "toric/ir/schedule.hpp"
#include "toric/topology/shape.hpp"

namespace toric::test {

struct TorusLinks {
  double busiest = 0;  // bytes on the busiest directed link, in vectors
  Rank longest = 0;    // hops of the longest message
};

inline TorusLinks count_links(const Schedule& schedule, const Shape& shape) {
  std::map<std::vector<Rank>, Rank> rank_at;
  for (std::size_t rank = 0; rank < shape.coordinates.size(); ++rank) rank_at[shape.coordinates[rank]] = static_cast<Rank>(rank);
  std::map<std::tuple<Rank, Rank, int>, double> links;  // from, to, which
  TorusLinks counted;
  const auto travel = [&](Rank from, const Step& step) {
    std::vector<Rank> at = shape.coordinates[static_cast<std::size_t>(from)];
    const auto& target = shape.coordinates[static_cast<std::size_t>(step.peer)];
    const auto differing = std::mismatch(at.begin(), at.end(), target.begin());
    ASSERT_NE(differing.first, at.end()) << "a message to itself";
    const auto d = static_cast<std::size_t>(differing.first - at.begin());
    ASSERT_TRUE(std::equal(at.begin() + static_cast<std::ptrdiff_t>(d) + 1, at.end(), target.begin() + static_cast<std::ptrdiff_t>(d) + 1))
        << "a message along two dimensions";
    const Rank side = shape.levels[d].size, up = (target[d] - at[d] + side) % side;
    const bool upward = 2 * up < side || (2 * up == side && at[d] % 2 == 0);
    const Rank hops = upward ? up : side - up;
    counted.longest = std::max(counted.longest, hops);
    for (Rank hop = 0; hop < hops; ++hop) {
      const Rank here = rank_at[at];
      at[d] = (at[d] + (upward ? 1 : side - 1)) % side;
      links[{here, rank_at[at], side == 2 ? step.channel % 2 : 0}] += static_cast<double>(step.count) / schedule.chunks;
    }
  };
  for (Rank rank = 0; rank < schedule.ranks; ++rank)
    for (const Step& step : schedule.programs[static_cast<std::size_t>(rank)].steps)
      if (is_send(step.op)) travel(rank, step);
  for (const auto& [link, bytes] : links) counted.busiest = std::max(counted.busiest, bytes);
  return counted;
}

}  // namespace toric::test
