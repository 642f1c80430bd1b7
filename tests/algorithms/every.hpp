// Walks everything the registry offers, so that a new entry is tested without touching a test.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "toric/algorithms/registry.hpp"

namespace toric::test {

/// First, middle and last; or none, written -1, where the collective has none.
inline std::vector<Rank> roots_of(Collective collective, Rank ranks) {
  if (!is_rooted(collective)) return {-1};
  const std::set<Rank> roots = {0, ranks / 2, ranks - 1};
  return {roots.begin(), roots.end()};
}

inline Request request_for(Collective collective, Rank ranks, Rank root = -1, std::uint32_t pieces = 1) {
  return {.collective = collective, .ranks = ranks, .root = root, .bytes = 1 << 20, .pieces = pieces};
}

inline std::string label(const Algorithm& algorithm, const Request& request) {
  return std::string(algorithm.name) + " " + std::string(name_of(request.collective)) + " p=" + std::to_string(request.ranks) +
         " root=" + std::to_string(request.root) + " pieces=" + std::to_string(request.pieces);
}

/// visit(algorithm, collective) for all that is offered for any ranks.
template <typename Visit>
void for_each_offer(Visit visit) {
  for (const Algorithm& algorithm : algorithms())
    for (Collective collective : algorithm.collectives)
      if (!algorithm.follows_shape) visit(algorithm, collective);
}

/// The same for algorithms that follow a shape.
template <typename Visit>
void for_each_shape_offer(Visit visit) {
  for (const Algorithm& algorithm : algorithms())
    for (Collective collective : algorithm.collectives)
      if (algorithm.follows_shape) visit(algorithm, collective);
}

}  // namespace toric::test
