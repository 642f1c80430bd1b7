// Waiting: what a rank does while its schedule cannot move, and what it looks at meanwhile. Cores free: spin, yield, then
// sleep on the doorbell. More ranks than cores: no spinning, some yields, then sleep. No sleep is longer than 100 ms, and
// after each the peers are examined, so every wait ends: with the result, or with an error that names who and why.
#pragma once

#include "toric/comm/control.hpp"
#include "toric/execute/executor.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace toric {

struct WaitPolicy {
  int spins = 2000;
  int yields = 100;
};
/// Spinning pays only while every rank of the host has a CPU of its own.
[[nodiscard]] WaitPolicy policy_for(int ranks_here, int cpus_here);

inline constexpr Clock::duration longest_sleep = std::chrono::milliseconds(100);
inline constexpr Clock::duration late_after = std::chrono::seconds(10);
inline constexpr Clock::duration late_again_after = std::chrono::seconds(60);

inline void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Names the calling thread as the library's own; threads that it starts inherit the name. What starts ranks for a program
/// runs under it, so that the program's threads can be told from Toric's.
void name_own_thread() noexcept;

/// The ranks of one communicator that one thread made together, to find a thread that waits for itself.
struct Siblings {
  explicit Siblings(Rank ranks);
  void add(Rank rank) { last_user[static_cast<std::size_t>(rank)] = 0; }
  /// A number that no two threads share, not even one after the other.
  [[nodiscard]] static std::uint64_t this_thread() noexcept;

  std::uint64_t creator;
  std::vector<std::atomic<std::uint64_t>> last_user;  // by rank; 0: unused so far; UINT64_MAX: made elsewhere
};

/// Counts how long a thread has been idle and does the next thing about it.
class Backoff {
 public:
  explicit Backoff(const WaitPolicy& policy) : policy_(policy) {}
  void moved() noexcept { idle_ = 0; }
  /// True: polled again soon. False: it is time to sleep.
  bool stay_awake() noexcept;

 private:
  WaitPolicy policy_;
  int idle_ = 0;
};

/// Watches one communicator while a call of it waits. Used by the thread that makes the call.
class Watch {
 public:
  struct Parts {
    Transport& transport;
    ControlChannel& control;
    const Executor& executor;
    const std::atomic<bool>& stopped;  // set by an abort
    Rank rank;
    Rank ranks;
    double timeout_seconds;  // 0: never
    std::string name;        // the communicator's, for texts
    std::shared_ptr<Siblings> siblings;
  };
  explicit Watch(Parts parts) : parts_(std::move(parts)) {}

  /// Something moved, or a call begins: waiting is counted from the next look().
  void moved() noexcept { waiting_ = false; }
  /// Before each sleep. Not ok: the call has failed, everyone has been told.
  Status look(const CallRecord& record);
  /// Makes `status` everybody's error, unless there is one; returns the one in force.
  Status raise(const Status& status);
  /// "all_reduce #17 on rank 2 (hostA) of communicator x", the beginning of every text about a call.
  [[nodiscard]] std::string call_name(const CallRecord& record) const;
  [[nodiscard]] std::string rank_name(Rank rank) const;

 private:
  Status examine(const CallRecord& record, Clock::duration waited);
  Status explain_transport(const CallRecord& record, const Status& failure) const;
  Status waits_for_itself(const CallRecord& record, Clock::duration waited) const;
  [[nodiscard]] std::optional<CallRecord> record_with(Rank rank, std::uint64_t signature) const;
  [[nodiscard]] std::string differing_call(const CallRecord& record, const Transport::Mismatch& mismatch) const;
  [[nodiscard]] std::string late_ranks() const;

  Parts parts_;
  bool waiting_ = false;
  Clock::time_point began_, examined_, next_late_;
};

}  // namespace toric
