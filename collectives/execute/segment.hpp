// Moves the bytes of one segment of one step: between the caller's buffers, scratch and the transport's rooms and views.
#pragma once

#include "toric/execute/window.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace toric {

/// Cycles where the machine has a counter that costs little, else nanoseconds.
[[nodiscard]] inline std::uint64_t cycles_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

/// Times one kernel for Transport::observe; small segments are not worth the two counter reads.
class KernelTimer {
 public:
  explicit KernelTimer(std::size_t bytes) : bytes_(bytes), begin_(bytes >= worth_timing ? cycles_now() : 0) {}
  [[nodiscard]] bool counts() const { return bytes_ >= worth_timing; }
  void report(Transport& transport, Port port, Store how) const {
    if (counts()) transport.observe(port, how, static_cast<float>(cycles_now() - begin_) / static_cast<float>(bytes_));
  }

 private:
  static constexpr std::size_t worth_timing = 4096;
  std::size_t bytes_;
  std::uint64_t begin_;
};

class SegmentMover {
 public:
  /// Before the first window of a call. Grows scratch when needed; `sets` windows may be under way at once.
  void bind(const Plan& plan, const Call& call, std::uint64_t longest_chunk, std::uint32_t sets);

  [[nodiscard]] const Kernels& kernels() const { return *kernels_; }
  /// Where the first element of chunk 0 lies, were the whole vector there; of scratch: its first slot, of window 0.
  [[nodiscard]] std::byte* base(Buf buf) const {
    if (buf == Buf::scratch) return scratch_;
    return reinterpret_cast<std::byte*>(buf == Buf::input ? input_ : output_);
  }
  /// From one scratch slot to the next, where the longest chunk has that many elements.
  [[nodiscard]] static std::size_t slot_bytes(std::uint64_t longest_chunk, std::size_t element) {
    return (longest_chunk * element + 63) / 64 * 64;
  }
  [[nodiscard]] std::size_t bytes(std::uint64_t from, std::uint64_t to) const { return (to - from) * element_; }

  /// Fills `room` with the segment of a send from its position up to `end`.
  void gather(const Window& window, std::uint32_t index, std::uint64_t end, std::byte* room, Store store);
  /// Serves a receive from `view` and, when there is one, its partner: a send into `room`, or a copy into output.
  void deliver(const Window& window, std::uint32_t index, std::uint32_t partner, std::uint64_t end, const std::byte* view, std::byte* room,
               Store store);
  void local(const Window& window, std::uint32_t index, std::uint64_t end);
  /// Divides the complete values where the operator is an average.
  void finish_window(const Window& window);
  void finish_call();

 private:
  struct Place {
    std::byte* at;
    std::uint64_t end;  // position up to which the bytes are contiguous
  };
  struct Cursor {  // walks a segment chunk by chunk
    std::uint64_t position;
    std::uint32_t chunk;
  };
  [[nodiscard]] Place place(const Window& window, Buf buf, std::uint32_t first, std::uint32_t data, const Cursor& cursor) const;
  [[nodiscard]] Place user_place(const Window& window, std::uintptr_t base, std::uint32_t data, std::uint64_t position) const;
  void step_over(const Window& window, std::uint32_t data, std::uint32_t count, Cursor& cursor, std::uint64_t to) const;
  void reduce_from_input(ReduceArgs args, bool input_is_left);
  [[nodiscard]] bool scales(Buf buf) const { return kernels_->scale != nullptr && buf == Buf::input; }

  const Plan* plan_ = nullptr;
  Call call_;
  const Kernels* kernels_ = nullptr;
  std::size_t element_ = 1;
  std::uintptr_t input_ = 0, output_ = 0;  // of chunk 0's first element, were the whole vector there
  std::size_t slot_bytes_ = 0, set_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<std::byte[]> scratch_memory_;
  std::byte* scratch_ = nullptr;
  bool stream_results_ = false;
  alignas(64) std::byte scaled_[16 * 1024];
};

}  // namespace toric
