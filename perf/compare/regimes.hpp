// Pure part of the comparison: which regime a block was measured in, and what its figures say.
// Some machines flip every few seconds between two regimes, near and far, in which the same exchange between two cores
// costs three to four times as much. A figure without its regime means nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace toric::compare {

enum class Regime : std::uint8_t { near, far };
inline constexpr std::array all_regimes = {Regime::near, Regime::far};
[[nodiscard]] std::string_view name_of(Regime regime);

/// One turn of both sides at one size, in microseconds, between two probes.
struct Block {
  std::size_t size_index;
  double ours, peer;
  double probe_before, probe_after;
};

/// The probe time that parts near from far. Two groups that differ by at least 1.7 times, each with 3 % of the probes or
/// more, are parted in the (geometric) middle between them; one group alone is not parted: `fallback`, moved beside it.
/// Probes far beyond it do not count: another program had the core.
[[nodiscard]] double find_split(std::vector<double> probes, double fallback);

/// The regime of a probe; nullopt within a tenth of the split, and where a core was taken away: there it says nothing.
[[nodiscard]] std::optional<Regime> regime_of(double probe, double split);
/// Of a block: what both its probes say, nullopt when they differ or say nothing.
[[nodiscard]] std::optional<Regime> regime_of(const Block& block, double split);

/// By linear interpolation between the two nearest; 0 when empty. `part` is 0 .. 1.
[[nodiscard]] double quantile(std::vector<double> values, double part);

struct Spread {
  double low = 0, median = 0, high = 0;  // 25th, 50th, 75th percentile
};
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

struct SizeResult {
  std::uint64_t bytes = 0;
  std::size_t blocks = 0;  // clean ones, in this regime
  Spread ours, peer;
  double ratio = 0;  // peer's median over ours: above 1, Toric is the faster one; 0 without blocks
};

struct RegimeResult {
  Regime regime = Regime::near;
  std::vector<SizeResult> sizes;
  [[nodiscard]] std::size_t fewest_blocks() const;
  [[nodiscard]] bool seen() const;  // any clean block at all
  [[nodiscard]] double geometric_mean() const;
  [[nodiscard]] const SizeResult& worst() const;  // smallest ratio
};
[[nodiscard]] RegimeResult summarise(Regime regime, const std::vector<std::uint64_t>& sizes, const std::vector<Block>& blocks,
                                     double split);

/// The size that has the fewest clean blocks in `regime`; the next one after `last` among equals.
[[nodiscard]] std::size_t next_size(Regime regime, std::size_t sizes, std::size_t last, const std::vector<Block>& blocks, double split);

/// Every regime with a clean block has `wanted` of them at every size, and one has.
[[nodiscard]] bool complete(const std::vector<std::uint64_t>& sizes, const std::vector<Block>& blocks, double split, std::size_t wanted);

}  // namespace toric::compare
