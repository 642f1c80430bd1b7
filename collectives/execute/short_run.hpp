// A program whose every step is one message of one piece of memory: what short calls are. Addresses, sizes and
// dependencies are worked out once a count, and a step then costs a few nanoseconds around its bytes. What is sent is
// the same, message by message, as when the step is cut into segments: a peer cannot tell.
#pragma once

#include "toric/execute/segment.hpp"

#include <cstdint>
#include <vector>

namespace toric {

class ShortRun {
 public:
  explicit ShortRun(Transport& transport) : transport_(transport) {}

  /// Works out the plan over `shape`; false where some step is longer than one segment, or scattered, or there are too
  /// many. `shape` is that of the whole call.
  bool prepare(const Plan& plan, const SliceShape& shape, std::size_t element, std::size_t slot_bytes);

  /// The prepared plan with the buffers and kernels that `mover` is bound to.
  void start(const SegmentMover& mover);
  /// As Executor::poll().
  Progress poll();
  [[nodiscard]] Executor::Waiting waiting() const;

 private:
  using Steps = std::uint64_t;  // a set of steps
  static constexpr std::size_t most_steps = 64;

  struct ShortStep {
    Steps waits_for;
    Op op;
    Buf src_buf, dst_buf;
    bool wire_is_left, dead_if_fused;
    Port port;
    Rank peer;
    std::uint32_t fused_with, lane;
    std::size_t bytes, elements;
    std::ptrdiff_t src, dst;  // bytes from the base of their buffer
  };
  struct Lane {
    std::uint32_t next, end;  // places in order_
  };

  [[nodiscard]] static constexpr Steps only(std::uint32_t index) { return Steps{1} << index; }
  [[nodiscard]] std::byte* at(Buf buf, std::ptrdiff_t offset) const { return base_[static_cast<std::size_t>(buf)] + offset; }
  [[nodiscard]] bool may_run(const ShortStep& step, Steps besides = 0) const { return (step.waits_for & ~(ended_ | besides)) == 0; }
  bool lay_out(const Plan& plan, const SliceShape& shape, std::uint32_t index);
  void advance(std::uint32_t index);
  void send(const ShortStep& step, std::uint32_t index);
  void receive(const ShortStep& step, std::uint32_t index);
  void deliver(const ShortStep& step, const std::byte* view, const ShortStep* copy, std::byte* room, Store store) const;
  void local(const ShortStep& step) const;
  [[nodiscard]] const ShortStep* ready_partner(const ShortStep& step, std::uint32_t index) const;
  void end(const ShortStep& step, std::uint32_t index);

  Transport& transport_;
  void (*reduce_)(const ReduceArgs&, KernelQueue) = nullptr;
  std::byte* base_[3] = {};  // by Buf
  Steps ended_ = 0;
  Steps all_ = 0;
  std::vector<ShortStep> steps_;
  std::vector<std::uint32_t> order_;  // lane after lane
  std::vector<Lane> lanes_, at_start_;
  // As prepared.
  Steps empty_ = 0;
  std::size_t element_ = 1, slot_bytes_ = 0;
};

}  // namespace toric
