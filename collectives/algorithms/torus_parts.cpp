#include "toric/algorithms/torus_parts.hpp"

#include <algorithm>
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

/// Counts weights up as the digits of a number; false after the last.
bool next(std::vector<std::uint32_t>& weights) {
  for (std::uint32_t& weight : weights) {
    if (++weight <= most_weight) return true;
    weight = 0;
  }
  return false;
}

std::vector<std::uint32_t> best_weights(const std::vector<std::vector<double>>& loads) {
  std::vector<std::uint32_t> weights(loads.size(), 0), best(loads.size(), 1);
  double least = busiest(loads, best);
  while (next(weights)) least = std::min(least, busiest(loads, weights));
  std::uint32_t smallest = UINT32_MAX;
  std::fill(weights.begin(), weights.end(), 0);
  while (next(weights)) {
    const std::uint32_t sum = std::accumulate(weights.begin(), weights.end(), 0U);
    if (sum >= smallest || busiest(loads, weights) > least * good_enough) continue;
    smallest = sum;
    best = weights;
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
