#include "regimes.hpp"

#include <algorithm>
#include <cmath>

namespace toric::compare {

namespace {

constexpr double disturbed = 5;   // times the split: no regime, but a core taken away
constexpr double doubtful = 1.1;  // nearer to the split than this factor: no telling

// One group alone has one regime: when it lies across the fallback, the split moves to that side of it where few are.
double beside(const std::vector<double>& sorted, double fallback) {
  const double low = sorted[sorted.size() / 20], middle = sorted[sorted.size() / 2], high = sorted[sorted.size() * 19 / 20];
  return middle < fallback ? std::max(fallback, high * doubtful) : std::min(fallback, low / doubtful);
}

}  // namespace

double find_split(std::vector<double> probes, double fallback) {
  std::erase_if(probes, [fallback](double probe) { return !(probe > 0) || probe > disturbed * fallback; });
  std::sort(probes.begin(), probes.end());
  const std::size_t n = probes.size();
  const std::size_t least = std::max<std::size_t>(2, n * 3 / 100);
  if (n < 2 * least) return fallback;
  // The cut of the sorted logarithms that leaves the least variance inside the two groups.
  std::vector<double> sums(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) sums[i + 1] = sums[i] + std::log(probes[i]);
  double best = -1;
  std::size_t best_cut = least;
  for (std::size_t cut = least; cut + least <= n; ++cut) {
    const double below = sums[cut] / static_cast<double>(cut), above = (sums[n] - sums[cut]) / static_cast<double>(n - cut);
    const double between = static_cast<double>(cut) * static_cast<double>(n - cut) * (above - below) * (above - below);
    if (between > best) best = between, best_cut = cut;
  }
  // Medians, so that an outlier alone makes no group.
  const double low = probes[best_cut / 2], high = probes[best_cut + (n - best_cut) / 2];
  if (high >= 1.7 * low) return std::sqrt(low * high);
  return beside(probes, fallback);
}

std::string_view name_of(Regime regime) { return regime == Regime::near ? "near" : "far"; }

std::optional<Regime> regime_of(double probe, double split) {
  if (probe < split / doubtful) return Regime::near;
  if (probe > split * doubtful && probe <= split * disturbed) return Regime::far;
  return std::nullopt;
}

std::optional<Regime> regime_of(const Block& block, double split) {
  const auto before = regime_of(block.probe_before, split);
  return before == regime_of(block.probe_after, split) ? before : std::nullopt;
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Spread spread_of(const std::vector<double>& values) { return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)}; }

std::size_t RegimeResult::fewest_blocks() const {
  if (sizes.empty()) return 0;
  return std::min_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.blocks < b.blocks; })->blocks;
}

bool RegimeResult::seen() const {
  return std::any_of(sizes.begin(), sizes.end(), [](const SizeResult& size) { return size.blocks > 0; });
}

double RegimeResult::geometric_mean() const {
  double sum = 0;
  for (const SizeResult& size : sizes) sum += std::log(size.ratio);
  return std::exp(sum / static_cast<double>(sizes.size()));
}

const SizeResult& RegimeResult::worst() const {
  return *std::min_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.ratio < b.ratio; });
}

RegimeResult summarise(Regime regime, const std::vector<std::uint64_t>& sizes, const std::vector<Block>& blocks, double split) {
  std::vector<std::vector<double>> ours(sizes.size()), peer(sizes.size());
  for (const Block& block : blocks) {
    if (regime_of(block, split) != regime) continue;
    ours[block.size_index].push_back(block.ours);
    peer[block.size_index].push_back(block.peer);
  }
  RegimeResult result{regime, {}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    SizeResult size{sizes[i], ours[i].size(), spread_of(ours[i]), spread_of(peer[i]), 0};
    if (size.blocks > 0) size.ratio = size.peer.median / size.ours.median;
    result.sizes.push_back(size);
  }
  return result;
}

std::size_t next_size(Regime regime, std::size_t sizes, std::size_t last, const std::vector<Block>& blocks, double split) {
  std::vector<std::size_t> have(sizes, 0);
  for (const Block& block : blocks)
    if (regime_of(block, split) == regime) ++have[block.size_index];
  std::size_t best = (last + 1) % sizes;
  for (std::size_t k = 1; k <= sizes; ++k)
    if (const std::size_t candidate = (last + k) % sizes; have[candidate] < have[best]) best = candidate;
  return best;
}

bool complete(const std::vector<std::uint64_t>& sizes, const std::vector<Block>& blocks, double split, std::size_t wanted) {
  bool any = false;
  for (const Regime regime : all_regimes) {
    const RegimeResult result = summarise(regime, sizes, blocks, split);
    if (!result.seen()) continue;
    if (result.fewest_blocks() < wanted) return false;
    any = true;
  }
  return any;
}

}  // namespace toric::compare
