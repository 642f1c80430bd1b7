// What the proofs of the verifier share: a schedule's steps numbered across ranks, its messages, and one legal order.
// Internal to this folder: callers use verifier.hpp.
#pragma once

#include "toric/check/verifier.hpp"
#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toric::check {

inline constexpr std::uint32_t none = UINT32_MAX;

struct Message {
  std::uint32_t send, receive;  // global step numbers
  std::uint32_t port_first;     // the first message of the same (from, to, channel); the n-th of the port is port_first + n
  std::uint32_t payload;        // where its chunks start when all messages are laid one behind the other
};

/// Steps are numbered rank by rank in program order, so on a rank a lower number is an earlier step.
struct Index {
  const Schedule* schedule = nullptr;
  std::vector<std::uint32_t> base;          // by rank: number of its first step; one past the last at the end
  std::vector<std::uint32_t> rank;          // by step
  std::vector<std::uint32_t> message;       // by step; none: a local step
  std::vector<std::uint32_t> next_in_lane;  // by step; none: the last
  std::vector<std::uint32_t> lane;          // by step: lanes of all ranks numbered without gaps
  std::vector<std::uint32_t> lane_base;     // by rank: number of its first lane; one past the last at the end
  std::vector<std::uint32_t> lane_first;    // by lane: its first step
  std::vector<Message> messages;
  std::uint32_t payload_chunks = 0;
  std::vector<std::uint8_t> input_held, output_held;  // by rank * chunks + chunk

  [[nodiscard]] std::uint32_t steps() const { return base.back(); }
  [[nodiscard]] const Program& program_of(std::uint32_t id) const { return schedule->programs[rank[id]]; }
  [[nodiscard]] const Step& step(std::uint32_t id) const { return program_of(id).steps[id - base[rank[id]]]; }
  [[nodiscard]] bool holds(const std::vector<std::uint8_t>& held, std::uint32_t on, std::uint32_t chunk) const {
    return held[std::size_t{on} * schedule->chunks + chunk] != 0;
  }
};

/// The places of one rank under an alias model: input, output, scratch slots. In place, input[c] and output[c] are one
/// place for every chunk c; a rank that uses only one of the two loses nothing by that.
struct Places {
  std::uint32_t chunks, output_begin, scratch_begin, count;

  Places(const Schedule& s, bool in_place)
      : chunks(s.chunks),
        output_begin(in_place ? 0 : s.chunks),
        scratch_begin(output_begin + s.chunks),
        count(scratch_begin + s.scratch_chunks) {}
  [[nodiscard]] std::uint32_t at(Buf buf, std::uint32_t index) const {
    return buf == Buf::input ? index : buf == Buf::output ? output_begin + index : scratch_begin + index;
  }
  /// A copy onto itself is no access at all.
  [[nodiscard]] bool is_no_access(const Step& step) const {
    return step.op == Op::copy && at(step.src_buf, step.src_first) == at(step.dst_buf, step.dst_first);
  }
};

[[nodiscard]] constexpr std::uint32_t data_end(const Step& step, std::uint32_t chunks) { return data_first(step, chunks) + step.count; }

/// Structure, then each step for itself: input never a destination, the same data at source and destination, buffers held.
[[nodiscard]] Verdict index_steps(const Schedule& schedule, Index& index);
/// Fills messages: the n-th send meets the n-th receive of the same (from, to, channel), with the same data.
[[nodiscard]] Verdict pair_messages(Index& index);
/// One legal order of all steps at capacity `fifo`, or why there is none.
[[nodiscard]] Verdict order_steps(const Index& index, std::vector<std::uint32_t>& order);
[[nodiscard]] Verdict check_races(const Index& index, bool in_place);
[[nodiscard]] Verdict check_values(const Index& index, const std::vector<std::uint32_t>& order, const VerifyOptions& options);

// --- texts -----------------------------------------------------------------------------------------------------------

[[nodiscard]] std::string_view name_of(Op op);
[[nodiscard]] std::string_view name_of(Buf buf);
/// "rank 3 step 5 (recv_reduce from rank 2 on channel 0)"
[[nodiscard]] std::string describe(const Index& index, std::uint32_t id);
[[nodiscard]] std::string describe(const Schedule& schedule, std::uint32_t rank, std::uint32_t step);
/// "output chunk 2", "scratch slot 7 (chunk 3)"
[[nodiscard]] std::string describe_place(const Schedule& schedule, Buf buf, std::uint32_t at);

}  // namespace toric::check
