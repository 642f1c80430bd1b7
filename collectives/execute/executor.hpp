// Runs plans on a transport, one at a time, without blocking: start, then poll until done.
#pragma once

#include "toric/execute/plan.hpp"
#include "toric/execute/reduce.hpp"

#include <memory>

namespace toric {

/// One collective call as the API gave it. Pointers are the API's: this rank's block for the side that holds one block.
struct Call {
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t count = 0;  // the API's count argument
  DataType type = DataType::uint8;
  RedOp op = RedOp::sum;
  Scalar factor;  // pre_mul_sum
  MemoryKind memory = MemoryKind::host;
  int device = -1;
};

enum class Progress : std::uint8_t { idle, moved, done };

class Executor {
 public:
  /// `short_runs` off: short calls take the way of long ones. Results and messages are the same; for tests.
  explicit Executor(Transport& transport, bool short_runs = true);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Begins `call`; nothing may be running. `plan` and the buffers must live until done. Allocates only when this plan
  /// needs more run state or scratch than any before. A bad alignment of nothing is refused; memory kinds other than host are.
  [[nodiscard]] Status start(const Plan& plan, const Call& call);
  /// Moves what can move. Peers that sleep are told at the end of the call; before that whoever polls flushes the
  /// transport when idle polls are no longer rare, and before resting in any way. done: the result is in output and the caller owns its buffers again.
  /// idle for ever is how a failed transport shows: ask its failed().
  Progress poll();
  [[nodiscard]] bool running() const;
  /// Forgets the running call (abort); the buffers are not touched afterwards.
  void cancel();

  /// For error texts: what the oldest unfinished step waits for.
  struct Waiting {
    bool any = false;
    Op op = Op::send;
    Rank peer = -1;
    std::uint32_t step = 0;
    std::uint64_t bytes_done = 0, bytes_total = 0;
  };
  [[nodiscard]] Waiting waiting() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace toric
