// Plans of one communicator: by collective (and root) a small sorted array of byte thresholds, each with its plan once
// it was needed. A look-up costs a few nanoseconds; building one costs what building a rank's program costs.
#pragma once

#include "toric/comm/selection.hpp"
#include "toric/execute/plan.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace toric {

class PlanCache {
 public:
  struct Settings {
    Rank rank = 0, ranks = 1;
    Wish wish;
    std::size_t segment_bytes = 64 * 1024;
    std::uint32_t slots = 4;
    std::size_t window_setting = 0;
    const Topology* topology = nullptr;
  };
  static constexpr std::size_t most_rooted_plans = 16;

  PlanCache(Settings settings, Transport& transport);

  struct Entry {
    Choice choice;
    std::unique_ptr<const Plan> plan;
    std::uint64_t used = 0;  // rooted plans: tick of the last use
  };

  /// The entry, with its plan, for a full vector of `bytes`; root is -1 where the collective has none. Null: `error`
  /// says why. It lives until the next find(), so at most one call may use one at a time.
  const Entry* find(Collective collective, Rank root, std::uint64_t bytes, Status& error) {
    if (root >= 0) return find_rooted(collective, root, bytes, error);
    for (const Entry& entry : unrooted_[static_cast<std::size_t>(collective)]) {
      if (bytes >= entry.choice.end) continue;
      if (entry.plan) return &entry;
      break;
    }
    return find_slowly(collective, bytes, error);
  }

  [[nodiscard]] std::size_t rooted_plans() const;

 private:
  using Entries = std::vector<Entry>;
  struct Rooted {
    Collective collective;
    Rank root;
    Entries entries;
  };

  const Entry* find_rooted(Collective collective, Rank root, std::uint64_t bytes, Status& error);
  const Entry* find_slowly(Collective collective, std::uint64_t bytes, Status& error);
  Status fill(Entries& entries, Collective collective, Rank root) const;
  static Entry& entry_for(Entries& entries, std::uint64_t bytes);
  Status build(Entry& entry, Collective collective, Rank root);
  void drop_oldest_rooted();

  Settings settings_;
  Transport& transport_;
  std::array<Entries, collective_count> unrooted_;
  std::vector<Rooted> rooted_;
  std::uint64_t tick_ = 0;
};

}  // namespace toric
