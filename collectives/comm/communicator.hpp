// One rank's communicator: from a checked call to a running schedule, and back with a result or everybody's error.
#pragma once

#include "toric/comm/agreement.hpp"
#include "toric/comm/call_log.hpp"
#include "toric/comm/fork_guard.hpp"
#include "toric/comm/operators.hpp"
#include "toric/comm/plan_cache.hpp"
#include "toric/comm/waiter.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace toric {

/// A collective call whose arguments have been checked.
struct CollectiveCall {
  Collective what = Collective::barrier;
  DataType type = DataType::uint8;
  RedOp op = RedOp::sum;
  Rank root = -1;
  std::uint64_t count = 0;
  const void* send = nullptr;
  void* receive = nullptr;
  Scalar factor;                      // pre_mul_sum
  const void* late_factor = nullptr;  // pre_mul_sum: read `factor` from here when the call begins
};

class Communicator {
 public:
  struct Options {
    std::string name;
    std::string algorithm;        // empty: the configuration's
    double timeout_seconds = -1;  // negative: the configuration's
    std::shared_ptr<Siblings> siblings;
  };
  /// Collective. `config` and `problem` as this rank has read them.
  static Result<std::unique_ptr<Communicator>> make(std::unique_ptr<Membership> members, Config config, Status problem,
                                                    const Options& options);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] Operators& operators() { return operators_; }
  [[nodiscard]] const WaitPolicy& wait_policy() const { return policy_; }

  /// The blocking call, whole.
  Status run(const CollectiveCall& call);

  // The same in parts, for groups. Between claim and unclaim one thread owns the communicator.
  Status claim() {
    if (!is_from_before_fork() && !busy_.exchange(true, std::memory_order_acquire)) [[likely]]
      return {};
    return why_not_claimed();
  }
  void unclaim() noexcept { busy_.store(false, std::memory_order_release); }
  /// Begins a call; running() says whether there is anything left to poll.
  Status begin(const CollectiveCall& call);
  [[nodiscard]] bool running() const noexcept { return running_; }
  /// done: the call has ended well.
  Progress poll() noexcept;
  /// Before going to sleep, whoever sleeps. Not ok: the call has failed and is over.
  Status look();
  /// After poll() or sleep() has not said idle: waiting is counted anew.
  void progressed() noexcept { watch_.moved(); }
  /// Sleeps until something moves, `until` at the latest; not idle: something moved before it came to that.
  Progress sleep(Deadline until);

  /// Keeps `error` as what last_error() tells. From any thread, as last_error().
  void note(const Status& error);
  [[nodiscard]] std::string last_error() const;
  /// The sticky error. From any thread.
  [[nodiscard]] Status async_error() const { return control_.failed() ? control_.error() : Status(); }
  /// No more calls.
  Status finalize();
  /// From any thread: ends what runs and tells the peers. Bounded. Not ok: a call did not come back, nothing may be freed.
  Status abort();
  /// Made before a fork() that this process is the child of: nothing of it may be touched.
  [[nodiscard]] bool is_from_before_fork() const noexcept { return fork_generation_ != fork_generation(); }

 private:
  Communicator(std::unique_ptr<Membership> members, std::unique_ptr<Transport> transport, const Agreement& agreed, Wish wish,
               const Config& config, const Options& options);
  [[nodiscard]] Status why_not_claimed() const;
  Status start(const CollectiveCall& call, std::string_view& algorithm);
  Progress step() noexcept;
  bool finishes_soon() noexcept;
  Status wait();
  Status fail(const Status& status);
  Status why_unusable();
  void dump_calls(LogLevel level) const;

  std::unique_ptr<Membership> members_;
  ControlChannel& control_;
  std::unique_ptr<Transport> transport_;
  const Rank rank_, ranks_;
  const std::uint32_t fork_generation_;
  const WaitPolicy policy_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> stopped_{false};
  bool finalized_ = false;
  bool running_ = false;
  std::uint64_t sequence_ = 0;
  CallRecord record_;
  Executor executor_;
  PlanCache plans_;
  CallLog calls_;
  Operators operators_;
  Watch watch_;
  std::shared_ptr<Siblings> siblings_;
  std::array<std::byte, 64> barrier_input_{}, barrier_output_{};
  std::atomic<bool> dumped_{false};
  mutable std::mutex last_error_mutex_;
  std::string last_error_;
};

}  // namespace toric
