#include "toric/algorithms/torus_parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace toric {

namespace {

constexpr std::uint32_t most_weight = 12;
constexpr double good_enough = 1.002;

/// Whether a rank's two neighbours in that dimension are reached by links of their own.
bool has_two_ports(const Level& level) { return level.size > 2 || level.doubled; }

std::vector<std::size_t> order_from(const std::vector<std::size_t>& dimensions, std::size_t start) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < dimensions.size(); ++i) order.push_back(dimensions[(start + i) % dimensions.size()]);
  return order;
}

/// What a reduce-scatter of a vector in that order puts on a link of each dimension, both directions of it working on one
/// half each: (n - 1) / n of what the dimensions before have left, half of it a direction; a single link carries both.
std::vector<double> loads_of(const Shape& shape, const std::vector<std::size_t>& order) {
  std::vector<double> loads(shape.levels.size(), 0);
  double left = 1;
  for (const std::size_t dimension : order) {
    const auto size = static_cast<double>(shape.levels[dimension].size);
    loads[dimension] = left * (size - 1) / size * (has_two_ports(shape.levels[dimension]) ? 0.5 : 1.0);
    left /= size;
  }
  return loads;
}

double busiest(const std::vector<std::vector<double>>& loads, const std::vector<std::uint32_t>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double most = 0;
  for (std::size_t dimension = 0; dimension < loads.front().size(); ++dimension) {
    double load = 0;
    for (std::size_t start = 0; start < weights.size(); ++start) load += weights[start] * loads[start][dimension];
    most = std::max(most, load / total);
  }
  return most;
}

/// Shares of one vector for which every dimension's links are loaded alike: loads * shares = 1, by elimination, scaled to a sum
/// of 1. The largest load of a column is its own dimension's, so there is no need for pivots. A dimension so quick that it
/// would take a share below nothing gets none.
std::vector<double> equal_loads(const std::vector<std::vector<double>>& loads) {
  const std::size_t n = loads.size();
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1, 1.0));
  for (std::size_t dimension = 0; dimension < n; ++dimension)
    for (std::size_t start = 0; start < n; ++start) rows[dimension][start] = loads[start][dimension];
  for (std::size_t pivot = 0; pivot < n; ++pivot)
    for (std::size_t row = 0; row < n; ++row) {
      if (row == pivot) continue;
      const double factor = rows[row][pivot] / rows[pivot][pivot];
      for (std::size_t column = pivot; column <= n; ++column) rows[row][column] -= factor * rows[pivot][column];
    }
  std::vector<double> shares;
  for (std::size_t start = 0; start < n; ++start) shares.push_back(std::max(0.0, rows[start][n] / rows[start][start]));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

/// Whole numbers with that sum, each next to its part of it; what rounding leaves goes where it is missed most.
std::vector<std::uint32_t> rounded(const std::vector<double>& shares, std::uint32_t sum) {
  std::vector<std::uint32_t> weights;
  std::vector<std::size_t> by_rest(shares.size());
  std::iota(by_rest.begin(), by_rest.end(), std::size_t{0});
  const auto rest = [&](std::size_t i) { return shares[i] * sum - std::floor(shares[i] * sum); };
  for (const double share : shares) weights.push_back(static_cast<std::uint32_t>(std::floor(share * sum)));
  std::stable_sort(by_rest.begin(), by_rest.end(), [&](std::size_t a, std::size_t b) { return rest(a) > rest(b); });
  const std::uint32_t given = std::accumulate(weights.begin(), weights.end(), 0U);
  for (std::uint32_t i = 0; i < sum - given; ++i) ++weights[by_rest[i % by_rest.size()]];
  return weights;
}

std::vector<std::uint32_t> best_weights(const std::vector<std::vector<double>>& loads) {
  const std::vector<double> shares = equal_loads(loads);
  double least = 0;  // where every dimension is loaded alike
  for (std::size_t start = 0; start < loads.size(); ++start) least += shares[start] * loads[start].front();
  std::vector<std::uint32_t> best(loads.size(), 1);
  for (std::uint32_t sum = 1; sum <= most_weight * loads.size(); ++sum) {
    const std::vector<std::uint32_t> weights = rounded(shares, sum);
    if (busiest(loads, weights) >= busiest(loads, best)) continue;
    best = weights;
    if (busiest(loads, best) <= least * good_enough) break;
  }
  return best;
}

}  // namespace

GridParts share_among_parts(const Shape& shape) {
  std::vector<std::size_t> dimensions;
  for (std::size_t i = 0; i < shape.levels.size(); ++i)
    if (shape.levels[i].size > 1) dimensions.push_back(i);
  GridParts shared;
  if (dimensions.empty()) return shared;
  std::vector<std::vector<double>> loads;
  for (std::size_t start = 0; start < dimensions.size(); ++start) loads.push_back(loads_of(shape, order_from(dimensions, start)));
  const std::vector<std::uint32_t> weights = best_weights(loads);
  shared.load = busiest(loads, weights);
  for (std::size_t start = 0; start < dimensions.size(); ++start)
    for (const bool forward : {true, false}) {
      if (weights[start] == 0) continue;
      const auto channel = static_cast<std::uint16_t>(2 * start + (forward ? 0 : 1));
      shared.parts.push_back({order_from(dimensions, start), forward, weights[start], shared.weight, channel});
      shared.weight += weights[start];
    }
  return shared;
}

}  // namespace toric
