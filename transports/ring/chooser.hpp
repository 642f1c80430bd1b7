// Which stores a sender uses, learned while running: machines change between a regime in which a peer's cache is near
// and one in which it is far, and no fixed threshold is right in both.
#pragma once

#include "toric/transport.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace toric::ring {

/// Segments are judged by size class: each power of two from 4 KiB on has its own estimates.
inline constexpr std::size_t choice_from_bytes = 4096;
inline constexpr std::uint32_t size_classes = 8;

[[nodiscard]] inline std::uint32_t size_class(std::size_t bytes) {
  const auto doublings = static_cast<std::uint32_t>(std::bit_width((bytes - 1) / choice_from_bytes));
  return std::min(doublings, size_classes - 1);
}

/// A running estimate of a cost. The smaller of two neighbouring samples counts, so that one interrupted segment does
/// not; two slow ones in a row are a change. It falls faster than it rises: nothing makes a segment too fast by accident.
class CostFilter {
 public:
  void add(float sample) {
    if (!(sample > 0) || !std::isfinite(sample)) return;
    const float steady = previous_ > 0 ? std::min(previous_, sample) : sample;
    previous_ = sample;
    if (estimate_ == 0) {
      estimate_ = steady;
    } else {
      estimate_ += (steady < estimate_ ? 0.75F : 0.5F) * (steady - estimate_);
    }
  }
  /// 0: nothing known yet.
  [[nodiscard]] float estimate() const { return estimate_; }

 private:
  float estimate_ = 0;
  float previous_ = 0;
};

/// Chooses for one out port and one size class. One segment in `period` uses the kind that is not preferred.
class StoreChooser {
 public:
  static constexpr std::uint32_t period = 16;

  /// The same answer until the next advance() or observation. While nobody reports costs: cached, without trials.
  [[nodiscard]] Store choose() const {
    if (writer_[0].estimate() == 0) return Store::cached;
    return count_ % period == 1 ? other(preferred_) : preferred_;
  }
  void advance() { ++count_; }

  void writer_cost(Store how, float cycles_per_byte) {
    writer_[index(how)].add(cycles_per_byte);
    decide();
  }
  /// What the receiver says about itself; 0 where it knows nothing yet.
  void reader_costs(float cached, float streamed) {
    if (reader_[0] == cached && reader_[1] == streamed) return;
    reader_[0] = cached;
    reader_[1] = streamed;
    decide();
  }
  [[nodiscard]] Store preferred() const { return preferred_; }

 private:
  static std::size_t index(Store how) { return static_cast<std::size_t>(how); }
  static Store other(Store how) { return how == Store::cached ? Store::streamed : Store::cached; }

  // A change must promise a twentieth: between equals, staying is better than wavering.
  void decide() {
    if (writer_[0].estimate() == 0 || writer_[1].estimate() == 0) return;
    const bool both_ends = reader_[0] > 0 && reader_[1] > 0;
    const auto sum = [&](Store how) { return writer_[index(how)].estimate() + (both_ends ? reader_[index(how)] : 0); };
    if (sum(other(preferred_)) < 0.95F * sum(preferred_)) preferred_ = other(preferred_);
  }

  CostFilter writer_[2];
  float reader_[2] = {0, 0};
  std::uint32_t count_ = 0;
  Store preferred_ = Store::cached;
};

}  // namespace toric::ring
