// check_structure: what every reader of a schedule may rely on before it looks at meaning.
#include "toric/ir/schedule.hpp"

#include <algorithm>
#include <string>

namespace toric {

namespace {

// Far above any real schedule; they keep what a reader allocates by these numbers within reason.
constexpr std::uint64_t most_ranks = 1u << 20, most_chunks = 1u << 26, most_scratch = 1u << 28;

Status bad(const std::string& text) { return Status(Code::invalid_argument, "the schedule is not well formed: " + text); }

std::string number(std::uint64_t value) { return std::to_string(value); }

Status check_header(const Schedule& s) {
  if (static_cast<int>(s.what) >= collective_count)
    return bad("collective number " + number(static_cast<std::uint64_t>(s.what)) + " is unknown");
  if (s.ranks < 1 || static_cast<std::uint64_t>(s.ranks) > most_ranks)
    return bad("it has " + std::to_string(s.ranks) + " ranks; 1 to " + number(most_ranks) + " are possible");
  if (s.chunks < 1 || s.chunks > most_chunks)
    return bad("it has " + number(s.chunks) + " chunks; 1 to " + number(most_chunks) + " are possible");
  if (s.scratch_chunks > most_scratch)
    return bad("it has " + number(s.scratch_chunks) + " scratch chunks; at most " + number(most_scratch) + " are possible");
  if (is_rooted(s.what) && (s.root < 0 || s.root >= s.ranks))
    return bad(std::string(name_of(s.what)) + " needs a root from 0 to " + std::to_string(s.ranks - 1) + " and has " +
               std::to_string(s.root));
  if (!is_rooted(s.what) && s.root != -1) return bad(std::string(name_of(s.what)) + " has no root, but root is " + std::to_string(s.root));
  if (has_blocks(s.what) && s.chunks % static_cast<std::uint32_t>(s.ranks) != 0)
    return bad(std::string(name_of(s.what)) + " has one block a rank, but " + number(s.chunks) + " chunks are no multiple of " +
               std::to_string(s.ranks) + " ranks");
  if (s.programs.size() != static_cast<std::size_t>(s.ranks))
    return bad("it has " + number(s.programs.size()) + " programs for " + std::to_string(s.ranks) + " ranks");
  return {};
}

Status check_place(const Schedule& s) {
  if (s.place.empty()) return {};
  if (s.place.size() != s.chunks) return bad("place has " + number(s.place.size()) + " entries for " + number(s.chunks) + " chunks");
  std::vector<bool> taken(s.chunks);
  for (std::uint32_t c = 0; c < s.chunks; ++c) {
    if (s.place[c] >= s.chunks || taken[s.place[c]])
      return bad("place is no permutation: chunk " + number(c) + " goes to " + number(s.place[c]) + ", which is taken or out of range");
    taken[s.place[c]] = true;
  }
  return {};
}

/// A run of chunks or scratch slots: inside its buffer, and monotone in data chunks.
const char* fault_of_run(const Schedule& s, Buf buf, std::uint64_t first, std::uint64_t count) {
  if (buf > Buf::scratch) return "names an unknown buffer";
  if (first + count > (buf == Buf::scratch ? s.scratch_chunks : s.chunks)) return "reaches past the end of its buffer";
  if (first % s.chunks + count > s.chunks) return "names a run of scratch slots that wraps from the last data chunk to the first";
  return nullptr;
}

const char* fault_of(const Schedule& s, const Step& step, Rank rank) {
  if (step.op > Op::reduce) return "is of an unknown kind";
  if (step.count < 1) return "covers no chunk";
  if (step.flags > wire_is_left || (step.flags != 0 && step.op != Op::recv_reduce && step.op != Op::reduce))
    return "has a flag it cannot have";
  if (is_local(step.op) ? step.peer != -1 : step.peer < 0 || step.peer >= s.ranks || step.peer == rank)
    return is_local(step.op) ? "has a peer, though it is local" : "has a peer that is not another rank";
  if (reads_src(step.op)) {
    if (const char* fault = fault_of_run(s, step.src_buf, step.src_first, step.count)) return fault;
  } else if (step.src_buf != Buf::input || step.src_first != 0) {
    return "names a source, though it reads none (set it to input, 0)";
  }
  if (writes_dst(step.op)) {
    if (const char* fault = fault_of_run(s, step.dst_buf, step.dst_first, step.count)) return fault;
  } else if (step.dst_buf != Buf::input || step.dst_first != 0) {
    return "names a destination, though it writes none (set it to input, 0)";
  }
  if (s.channels != 0 && !is_local(step.op) && step.channel >= s.channels) return "is on a channel beyond those the schedule says it uses";
  if (s.lanes != 0 && step.lane >= s.lanes) return "is in a lane beyond those the schedule says it uses";
  return nullptr;
}

Status check_program(const Schedule& s, Rank rank) {
  const Program& program = s.programs[static_cast<std::size_t>(rank)];
  const auto bad_step = [&](std::size_t index, const std::string& what) {
    return bad("rank " + std::to_string(rank) + " step " + number(index) + " " + what);
  };
  if (program.steps.size() >= UINT32_MAX) return bad("rank " + std::to_string(rank) + " has too many steps");
  if (!std::is_sorted(program.stages.begin(), program.stages.end()) ||
      (!program.stages.empty() && program.stages.back() > program.steps.size()))
    return bad("the stages of rank " + std::to_string(rank) + " do not follow each other within its steps");
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (const char* fault = fault_of(s, step, rank)) return bad_step(i, fault);
    if (std::uint64_t{step.dep_begin} + step.dep_count > program.deps.size())
      return bad_step(i, "has dependencies past the end of the list");
    for (const Dep dep : program.deps_of(step))
      if (dep.step >= i) return bad_step(i, "depends on step " + number(dep.step) + ", which does not come before it");
  }
  return {};
}

}  // namespace

Status check_structure(const Schedule& s) {
  TORIC_TRY(check_header(s));
  TORIC_TRY(check_place(s));
  for (Rank rank = 0; rank < s.ranks; ++rank) TORIC_TRY(check_program(s, rank));
  return {};
}

}  // namespace toric
