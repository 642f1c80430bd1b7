// Max-min fair rates by the definition, as slowly as that goes: all rates rise together, a flow stops where one of its links is
// full. Shares nothing with the library.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

namespace toric::test {

inline std::vector<double> fair_shares(const std::vector<double>& capacities, const std::vector<std::vector<unsigned>>& routes) {
  std::vector<double> rates(routes.size(), 0);
  std::vector<bool> stopped(routes.size(), false);
  for (std::size_t round = 0; round < routes.size(); ++round) {
    std::vector<double> left = capacities;
    std::vector<int> rising(capacities.size(), 0);
    for (std::size_t f = 0; f < routes.size(); ++f)
      for (const unsigned link : routes[f]) {
        left[link] -= rates[f];
        rising[link] += stopped[f] ? 0 : 1;
      }
    double rise = std::numeric_limits<double>::infinity();
    for (std::size_t link = 0; link < left.size(); ++link)
      if (rising[link] > 0) rise = std::min(rise, left[link] / rising[link]);
    if (rise == std::numeric_limits<double>::infinity()) break;
    std::vector<bool> full(left.size(), false);
    for (std::size_t link = 0; link < left.size(); ++link) full[link] = rising[link] > 0 && left[link] / rising[link] <= rise * (1 + 1e-12);
    for (std::size_t f = 0; f < routes.size(); ++f) {
      if (stopped[f]) continue;
      rates[f] += rise;
      for (const unsigned link : routes[f])
        if (full[link]) stopped[f] = true;
    }
  }
  return rates;
}

}  // namespace toric::test
