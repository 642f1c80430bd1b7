// The intermediate representation: a schedule is one program a rank, a program is steps of five kinds and what they wait for.
// A schedule holds no bytes, no data type and no pointer: one serves every size. The semantics are docs/ir.md.
#pragma once

#include "toric/base.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace toric {

enum class Op : std::uint8_t { send, recv, recv_reduce, copy, reduce };
enum class Buf : std::uint8_t { input, output, scratch };

/// recv_reduce: dst = src (+) wire. reduce: dst = dst (+) src. send reads src, recv writes dst, copy dst = src.
struct Step {
  Op op;
  Buf src_buf, dst_buf;
  std::uint8_t flags;                         // see wire_is_left
  std::uint16_t lane, channel;                // steps of one lane run in order; lanes overlap
  Rank peer;                                  // -1 for copy and reduce
  std::uint32_t src_first, dst_first, count;  // a run of neighbouring chunks (or scratch slots)
  std::uint32_t dep_begin, dep_count;         // a slice of Program::deps
};
static_assert(sizeof(Step) == 32);

/// Set on recv_reduce when the wire is the left operand, on reduce when src is.
inline constexpr std::uint8_t wire_is_left = 1;

/// An earlier step of the same program that a step waits for, position by position in the data.
struct Dep {
  std::uint32_t step;
};

struct Program {
  std::vector<Step> steps;
  std::vector<Dep> deps;
  // Steps that begin a further stage, ascending; as many on every rank. Only the pass that makes pieces looks at them, and
  // what it makes has none.
  std::vector<std::uint32_t> stages;

  [[nodiscard]] std::span<const Dep> deps_of(const Step& step) const { return {deps.data() + step.dep_begin, step.dep_count}; }
};

struct Schedule {
  Collective what = Collective::all_reduce;
  Rank ranks = 0;
  Rank root = -1;                    // -1 where the collective has none
  std::uint32_t chunks = 0;          // data chunks; a multiple of `ranks` where the API fixes blocks
  std::uint32_t scratch_chunks = 0;  // scratch slots; slot s holds data chunk s mod chunks
  std::uint32_t fifo = 0;            // messages of buffering a port needs; 0: a send may end only with its receive
  std::vector<std::uint32_t> place;  // schedule chunk -> API chunk; empty: identity
  std::vector<Program> programs;     // by rank; a schedule built for one rank leaves the others empty
  // What all ranks' programs together use, known even when only one of them was built: passes that shift channels must
  // shift by the same on every rank. 0: no more than the programs given show.
  std::uint32_t channels = 0, lanes = 0;
};

/// Channels (lanes) 0 .. n-1 are used: the schedule's own word, or, where that is 0, counted over its programs.
[[nodiscard]] std::uint32_t channels_used(const Schedule& s);
[[nodiscard]] std::uint32_t lanes_used(const Schedule& s);

[[nodiscard]] constexpr bool reads_src(Op op) { return op != Op::recv; }
[[nodiscard]] constexpr bool writes_dst(Op op) { return op != Op::send; }
[[nodiscard]] constexpr bool is_send(Op op) { return op == Op::send; }
[[nodiscard]] constexpr bool is_receive(Op op) { return op == Op::recv || op == Op::recv_reduce; }
[[nodiscard]] constexpr bool is_local(Op op) { return op == Op::copy || op == Op::reduce; }

/// The first data chunk a step is about (scratch slot s holds data chunk s mod chunks). The whole step covers
/// data chunks first .. first + count - 1, the same ones at source, destination and peer.
[[nodiscard]] constexpr std::uint32_t data_first(const Step& step, std::uint32_t chunks) {
  return (reads_src(step.op) ? step.src_first : step.dst_first) % chunks;
}

// --- what a collective's buffers hold: the API's layout -------------------------------------------------------------

/// Whether the API fixes one equal block a rank (all-gather, reduce-scatter, gather, scatter). Such a schedule has
/// chunks = ranks * k, and API chunk b*k + j is part j of block b.
[[nodiscard]] constexpr bool has_blocks(Collective what) {
  return what == Collective::all_gather || what == Collective::reduce_scatter || what == Collective::gather || what == Collective::scatter;
}

[[nodiscard]] inline std::uint32_t api_chunk(const Schedule& s, std::uint32_t chunk) { return s.place.empty() ? chunk : s.place[chunk]; }

/// The block (owner rank) that a schedule's chunk belongs to; 0 where there are no blocks.
[[nodiscard]] inline Rank block_of(const Schedule& s, std::uint32_t chunk) {
  if (!has_blocks(s.what)) return 0;
  return static_cast<Rank>(api_chunk(s, chunk) / (s.chunks / static_cast<std::uint32_t>(s.ranks)));
}

/// Whether rank's input (output) holds that chunk when the call begins (ends).
[[nodiscard]] bool input_holds(const Schedule& s, Rank rank, std::uint32_t chunk);
[[nodiscard]] bool output_holds(const Schedule& s, Rank rank, std::uint32_t chunk);

/// Where API chunk `api` starts, in elements from the start of the full vector, and how long it is.
/// `count` is the API's count argument: the vector's length, or one block's length where the API fixes blocks.
/// Chunk c of n over N covers floor(N*c/n) .. floor(N*(c+1)/n); products are formed in 128 bits.
struct Extent {
  std::uint64_t begin, length;
};
[[nodiscard]] Extent extent_of(const Schedule& s, std::uint32_t api, std::uint64_t count);

/// The most elements any chunk can have at that count: ceil(count / parts).
[[nodiscard]] std::uint64_t longest_chunk(const Schedule& s, std::uint64_t count);

/// Structure only: indices in range, deps backward, runs inside buffers and monotone in data chunks, lanes and peers sane.
/// Whatever reads a schedule (executor, verifier, drawer) may rely on it; every reader of files calls it.
[[nodiscard]] Status check_structure(const Schedule& s);

}  // namespace toric
