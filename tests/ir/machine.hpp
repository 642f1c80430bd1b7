// A small machine that runs a schedule in a random order with no buffering, for tests of the IR alone. A step begins and ends
// at different times, others in between; what it writes is rubbish from its begin on, what it reads is read at either
// time, so that a missing dependency shows in the result.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace toric::testing {

using Value = std::uint64_t;
inline constexpr Value rubbish = 0;

/// Not commutative and not associative: the value tells the whole tree.
inline Value combine(Value left, Value right) {
  if (left == rubbish || right == rubbish) return rubbish;
  const Value mixed = (left * 0x9e3779b97f4a7c15u) ^ (right + 0x632be59bd9b4e019u + (left >> 7));
  return (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u | 1u;
}

inline Value leaf(Rank rank, std::uint32_t chunk) { return combine(static_cast<Value>(rank) * 1000 + 17, chunk + 29); }

class Machine {
 public:
  Machine(const Schedule& schedule, bool in_place, std::uint32_t seed) : s_(schedule), in_place_(in_place), random_(seed) {
    const std::size_t places = std::size_t{2} * s_.chunks + s_.scratch_chunks;
    memory_.assign(s_.programs.size(), std::vector<Value>(places, rubbish));
    for (Rank r = 0; r < s_.ranks; ++r) {
      states_.emplace_back(s_.programs[static_cast<std::size_t>(r)].steps.size());
      for (std::uint32_t c = 0; c < s_.chunks; ++c)
        if (input_holds(s_, r, c)) at(r, Buf::input, c) = leaf(r, c);
    }
  }

  /// Empty when it ran to the end.
  std::string run() {
    while (true) {
      std::vector<std::pair<Rank, std::uint32_t>> can_begin, can_end;
      bool all_done = true;
      for (Rank r = 0; r < s_.ranks; ++r) look(r, can_begin, can_end, all_done);
      if (all_done) return {};
      if (can_begin.empty() && can_end.empty()) return "deadlock";
      const std::size_t choice = random_() % (can_begin.size() + can_end.size());
      if (choice < can_begin.size())
        begin(can_begin[choice].first, can_begin[choice].second);
      else if (std::string fault = end(can_end[choice - can_begin.size()].first, can_end[choice - can_begin.size()].second); !fault.empty())
        return fault;
    }
  }

  [[nodiscard]] Value output(Rank rank, std::uint32_t chunk) { return at(rank, Buf::output, chunk); }

 private:
  struct State {
    enum { waiting, begun, done } phase = waiting;
    std::optional<std::vector<Value>> early;  // operands read at begin
  };

  [[nodiscard]] const Program& program(Rank r) const { return s_.programs[static_cast<std::size_t>(r)]; }
  State& state(Rank r, std::uint32_t i) { return states_[static_cast<std::size_t>(r)][i]; }

  Value& at(Rank rank, Buf buf, std::uint32_t index) {
    std::size_t place = index;
    if (buf == Buf::scratch) place += std::size_t{2} * s_.chunks;
    // In place: one memory where the call's input and output coincide, which is wherever a rank has both.
    if (buf == Buf::output && !(in_place_ && input_holds(s_, rank, index) && output_holds(s_, rank, index))) place += s_.chunks;
    return memory_[static_cast<std::size_t>(rank)][place];
  }

  void look(Rank r, std::vector<std::pair<Rank, std::uint32_t>>& can_begin, std::vector<std::pair<Rank, std::uint32_t>>& can_end,
            bool& all_done) {
    std::vector<bool> lane_busy(65536);
    for (std::uint32_t i = 0; i < program(r).steps.size(); ++i) {
      const Step& step = program(r).steps[i];
      if (state(r, i).phase == State::done) continue;
      all_done = false;
      if (lane_busy[step.lane]) continue;
      lane_busy[step.lane] = true;
      if (state(r, i).phase == State::begun) {
        if (step.op != Op::send && (is_local(step.op) || partner(r, i))) can_end.emplace_back(r, i);
        continue;
      }
      bool ready = true;
      for (const Dep dep : program(r).deps_of(step)) ready = ready && state(r, dep.step).phase == State::done;
      if (ready) can_begin.emplace_back(r, i);
    }
  }

  /// The begun send that meets this receive: both are the n-th of their port.
  std::optional<std::uint32_t> partner(Rank r, std::uint32_t receive) {
    const Step& step = program(r).steps[receive];
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < receive; ++i) {
      const Step& other = program(r).steps[i];
      n += is_receive(other.op) && other.peer == step.peer && other.channel == step.channel;
    }
    const Program& peer = program(step.peer);
    for (std::uint32_t i = 0; i < peer.steps.size(); ++i) {
      const Step& send = peer.steps[i];
      if (send.op != Op::send || send.peer != r || send.channel != step.channel || n-- != 0) continue;
      return state(step.peer, i).phase == State::begun ? std::optional(i) : std::nullopt;
    }
    return std::nullopt;
  }

  std::vector<Value> read(Rank r, Buf buf, std::uint32_t first, std::uint32_t count) {
    std::vector<Value> values;
    for (std::uint32_t i = 0; i < count; ++i) values.push_back(at(r, buf, first + i));
    return values;
  }

  void begin(Rank r, std::uint32_t i) {
    const Step& step = program(r).steps[i];
    state(r, i).phase = State::begun;
    if (reads_src(step.op) && random_() % 2 == 0) state(r, i).early = read(r, step.src_buf, step.src_first, step.count);
    if (!writes_dst(step.op) || step.op == Op::reduce) return;
    for (std::uint32_t c = 0; c < step.count; ++c) {
      const bool reads_it = reads_src(step.op) && &at(r, step.src_buf, step.src_first + c) == &at(r, step.dst_buf, step.dst_first + c);
      if (!reads_it) at(r, step.dst_buf, step.dst_first + c) = rubbish;
    }
  }

  std::vector<Value> operands(Rank r, std::uint32_t i) {
    const Step& step = program(r).steps[i];
    return state(r, i).early ? *state(r, i).early : read(r, step.src_buf, step.src_first, step.count);
  }

  std::string end(Rank r, std::uint32_t i) {
    const Step& step = program(r).steps[i];
    std::vector<Value> own, wire;
    if (reads_src(step.op)) own = operands(r, i);
    if (is_receive(step.op)) {
      const std::uint32_t send = *partner(r, i);
      const Step& sent = program(step.peer).steps[send];
      const std::uint32_t there = data_first(sent, s_.chunks), here = step.dst_first % s_.chunks;
      if (sent.count != step.count || there != here)
        return "rank " + std::to_string(r) + " step " + std::to_string(i) + " meets other data";
      wire = operands(step.peer, send);
      state(step.peer, send).phase = State::done;
    }
    for (std::uint32_t c = 0; c < step.count; ++c) {
      Value& dst = at(r, step.dst_buf, step.dst_first + c);
      const bool left = step.flags == wire_is_left;
      switch (step.op) {
        case Op::recv:
          dst = wire[c];
          break;
        case Op::recv_reduce:
          dst = left ? combine(wire[c], own[c]) : combine(own[c], wire[c]);
          break;
        case Op::copy:
          dst = own[c];
          break;
        case Op::reduce:
          dst = left ? combine(own[c], dst) : combine(dst, own[c]);
          break;
        case Op::send:
          break;
      }
    }
    state(r, i).phase = State::done;
    return {};
  }

  const Schedule& s_;
  const bool in_place_;
  std::mt19937 random_;
  std::vector<std::vector<Value>> memory_;
  std::vector<std::vector<State>> states_;
};

}  // namespace toric::testing
