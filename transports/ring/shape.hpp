// What one ring looks like in memory, computed from the configuration alone, so that both ends agree without talking.
#pragma once

#include "toric/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace toric::ring {

inline constexpr std::size_t line_bytes = 64;
/// A message of up to this many bytes travels inside the slot's header line.
inline constexpr std::size_t inline_bytes = 48;

[[nodiscard]] constexpr std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

/// The part of a TransportConfig that every rank must have alike. Plain numbers: it is compared byte by byte across
/// processes and stands in the header of a shared segment.
struct RingConfig {
  std::uint64_t segment_bytes = 0;
  std::uint64_t slots = 0;
  std::uint64_t small_bytes = 0;
  std::uint64_t small_slots = 0;
  std::uint64_t memory_budget = 0;

  friend bool operator==(const RingConfig&, const RingConfig&) = default;
  [[nodiscard]] std::string describe() const;
};

/// Refuses what no ring can be made of; the text names the member and what it may be.
Result<RingConfig> ring_config(const TransportConfig& config);

/// Offsets within one ring. All-zero memory is an empty ring: nobody has to initialise it.
struct Shape {
  /// The consumer's lines come first: its counters, then what reading costs it. Each has a pair of lines to itself,
  /// because processors fetch lines in pairs.
  static constexpr std::size_t costs_at = 2 * line_bytes;
  static constexpr std::size_t slots_at = 4 * line_bytes;

  std::size_t small_limit = 0;  // messages up to this use the small slots; 0: none do
  std::size_t segment_bytes = 0;
  std::uint32_t slots[2] = {0, 0};     // small, large; 0: that kind does not exist
  std::size_t stride[2] = {0, 0};      // from one slot to the next: header line and room; slots begin with a pair of lines
  std::size_t first_slot[2] = {0, 0};  // offset of slot 0
  std::size_t bytes = 0;               // of the whole ring

  explicit Shape(const RingConfig& config);
  [[nodiscard]] std::uint32_t kind_of(std::size_t message) const { return message > small_limit ? 1 : 0; }
};

/// The text for a ring that does not fit: what it needs, what is used, what is allowed, and the way out.
[[nodiscard]] Status over_budget(std::string_view transport, Rank from, Rank to, std::uint16_t channel, std::size_t needed,
                                 std::size_t used, std::size_t budget);

}  // namespace toric::ring
