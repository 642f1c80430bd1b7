// Selection is data: a table says which algorithm serves which collective, rank count and size, and a wish overrides it.
// Everything here is a pure function of values that are equal on all ranks, so all ranks decide alike.
#pragma once

#include "toric/algorithms/registry.hpp"
#include "toric/ir/schedule.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

/// For full vectors of `begin` and more but fewer than `end` bytes (UINT64_MAX: no end).
struct Choice {
  std::uint64_t begin = 0, end = UINT64_MAX;
  const Algorithm* algorithm = nullptr;
  std::uint32_t pieces = 1;
};

/// What a user asked for. Sizes are those of the full vector.
struct Wish {
  struct Range {
    std::uint64_t begin = 0, end = UINT64_MAX;
    const Algorithm* algorithm = nullptr;
    std::uint32_t pieces = 1;
  };
  std::array<std::vector<Range>, collective_count> ranges;  // in the order given; where they overlap the later one counts
};

/// wish = item {';' item}; item = algorithm | collective '=' algorithm | collective ':' range {',' range};
/// range = size '-' size '=' algorithm; algorithm = name ['@' pieces]; size = digits [k|M|G] | 'inf'.
/// A name alone is meant for every collective it offers. Empty text: no wish. Errors name the part and what fits there.
Result<Wish> parse_wish(std::string_view text);

/// Ok when every algorithm wished for fits that many ranks (a name alone: at least one of its collectives); else names what fits.
Status check_wish(std::string_view text, Rank ranks);

/// Choices in ascending order, the last one open. An error when no algorithm of the registry fits.
Result<std::vector<Choice>> choose(Collective collective, Rank ranks, Rank root, const Wish& wish, const Topology* topology = nullptr);

/// The window of a plan (PlanOptions::window_bytes): each chunk of a window takes at most half a ring of `slots` segments
/// (a 1/fifo part where the schedule needs more buffering). `setting`: 0 = this rule, SIZE_MAX = no windows, else taken as it is.
[[nodiscard]] std::size_t window_bytes_for(const Schedule& schedule, std::size_t segment_bytes, std::uint32_t slots, std::size_t setting);

/// "direct, ring": the names that offer `collective` and fit.
[[nodiscard]] std::string fitting_names(Collective collective, Rank ranks, Rank root);

}  // namespace toric
