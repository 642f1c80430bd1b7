// How a rank sleeps until a peer has done something for it, without a system call on either side while nobody sleeps.
//
// The sleeper sets `waiting` and then looks at its rings once more; a peer changes a ring and then looks at `waiting`.
// With a full fence between the two on both sides, at least one of them sees what the other did: no wake-up is lost.
// A fence right behind a store waits until the peer's cache has let the line go, on every message. So where the kernel
// can make the sleeper's fence count for every running thread (membarrier), the peer does without: arming is rare.
#pragma once

#include "toric/transport.hpp"

#include <atomic>
#include <cstdint>

namespace toric::ring {

/// Whether this process takes part in the kernel's barriers across processes, so that its own fences may be left out.
/// Asks the kernel once a transport, not once a message. Ranks that share memory share a kernel, so they agree.
[[nodiscard]] bool joins_barriers();

/// Stores `value` so that a look at the peer's doorbell may follow: published, and fenced unless the sleeper sees to it.
inline void publish(std::atomic<std::uint64_t>& target, std::uint64_t value, bool sleeper_fences) {
  if (sleeper_fences) {
    target.store(value, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps the order; the sleeper's barrier does the rest
  } else {
    target.exchange(value, std::memory_order_seq_cst);
  }
}

/// One per rank, in the memory that all ranks share. Zero is the state of nobody waiting.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> word;     // changes with every wake-up that somebody waited for
  std::atomic<std::uint32_t> waiting;  // 1 from arm() on, until somebody takes it upon himself to wake the rank

  /// To be called after publish(): wakes the rank if it sleeps or is about to.
  void ring(bool across_processes) {
    if (waiting.load(std::memory_order_acquire) != 0) [[unlikely]]
      wake(across_processes);
  }

  void wake(bool across_processes);
};
static_assert(sizeof(Doorbell) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

/// The owner's side of its doorbell. One thread at a time.
class Sleeper {
 public:
  Sleeper(Doorbell& bell, bool across_processes) : bell_(bell), across_processes_(across_processes), fences_for_all_(joins_barriers()) {}

  /// Whether arm() fences for the peers too.
  [[nodiscard]] bool fences_for_all() const { return fences_for_all_; }

  void arm();
  void disarm();
  /// Returns at once unless armed. Disarms.
  void wait(Deadline deadline);

 private:
  Doorbell& bell_;
  bool across_processes_;
  bool fences_for_all_;
  bool armed_ = false;
  std::uint32_t seen_ = 0;
};

}  // namespace toric::ring
