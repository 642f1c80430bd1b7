// How a rank sleeps until a peer has done something for it, without a system call on either side while nobody sleeps.
//
// The sleeper sets `waiting` and then looks at its rings once more; a peer changes a ring and later looks at `waiting`.
// With a full fence between the two on both sides, at least one of them sees what the other did: no wake-up is lost.
// A fence right behind a change waits until the peer's cache has let the line go, so the peer looks when it has nothing
// else to do (Transport::flush): whoever is awake sees the change itself, and one fence serves all changes before it.
// The kernel's barriers for all threads (membarrier, global and expedited) cannot stand in for the peer's fence: once a
// thread has exited on a CPU, the next thread of the same process there is passed over by them.
#pragma once

#include "toric/transport.hpp"

#include <atomic>
#include <cstdint>

namespace toric::ring {

/// Between a change of one side and its look at what the other side changes.
inline void full_fence([[maybe_unused]] std::atomic<std::uint32_t>& looked_at) {
#if defined(__SANITIZE_THREAD__)
  looked_at.fetch_add(0, std::memory_order_seq_cst);  // the thread sanitizer has no model of fences
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// One per rank, in the memory that all ranks share. Zero is the state of nobody waiting.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> word;     // changes with every wake-up that somebody waited for
  std::atomic<std::uint32_t> waiting;  // 1 from arm() on, until somebody takes it upon himself to wake the rank

  /// To be called after a full fence behind the changes: wakes the rank if it sleeps or is about to.
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
  Sleeper(Doorbell& bell, bool across_processes) : bell_(bell), across_processes_(across_processes) {}

  void arm();
  void disarm();
  /// Returns at once unless armed. Disarms.
  void wait(Deadline deadline);

 private:
  Doorbell& bell_;
  bool across_processes_;
  bool armed_ = false;
  std::uint32_t seen_ = 0;
};

}  // namespace toric::ring
