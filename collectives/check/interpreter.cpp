#include "toric/check/interpreter.hpp"

#include "toric/check/model.hpp"

#include <algorithm>
#include <iterator>

namespace toric {

std::string_view name_of(Outcome outcome) {
  constexpr std::string_view names[] = {"ok", "deadlock", "wrong", "uninitialised"};
  return static_cast<std::size_t>(outcome) < std::size(names) ? names[static_cast<std::size_t>(outcome)] : "unknown";
}

using check::Cell;
using check::Lane;
using check::nothing;
using check::Phase;
using check::StepState;
using check::Wire;

// How the next lane to advance is chosen: evenly; with some lanes much slower; or always the one of the highest priority,
// and priorities change now and then, so that some lanes starve for long.
enum class Pick : std::uint8_t { even, some_slow, by_priority };

struct Interpreter::Impl {
  explicit Impl(const Schedule& s) : model(s), memory(s) {}

  Interpretation run(const InterpretOptions& wanted) {
    if (!model.refused.empty()) return {Outcome::wrong, model.refused};
    start(wanted);
    while (!runnable.empty() && failure.ok()) {
      const std::size_t at = pick_lane();
      Lane& lane = model.lanes[runnable[at]];
      if (advance(lane)) continue;
      lane.runnable = false;
      runnable[at] = runnable.back();
      runnable.pop_back();
      changed = true;
    }
    return failure.ok() ? judge() : failure;
  }

 private:
  void start(const InterpretOptions& wanted) {
    options = wanted;
    random = check::Random(wanted.seed);
    memory.fill(wanted);
    model.reset();
    failure = {};
    const std::uint32_t cuts[] = {1, check::elements_per_chunk, nothing};
    cut = cuts[random.below(std::size(cuts))];
    pick = static_cast<Pick>(random.below(3));
    runnable.clear();
    changed = true;
    for (std::uint32_t i = 0; i < model.lanes.size(); ++i) {
      Lane& lane = model.lanes[i];
      lane.runnable = true;
      lane.slow = random.below(4) == 0;
      lane.priority = random.below(1u << 16);
      runnable.push_back(i);
    }
  }

  std::size_t pick_lane() {
    if (pick == Pick::by_priority) return pick_by_priority();
    std::size_t at = random.below(runnable.size());
    for (int again = 0; again < 4 && pick == Pick::some_slow && model.lanes[runnable[at]].slow; ++again) at = random.below(runnable.size());
    return at;
  }

  // Looks anew only when what may run, or a priority, has changed.
  std::size_t pick_by_priority() {
    if (random.below(32) == 0) {
      model.lanes[runnable[random.below(runnable.size())]].priority = random.below(1u << 16);
      changed = true;
    }
    if (!changed) return favourite;
    changed = false;
    favourite = 0;
    for (std::size_t i = 1; i < runnable.size(); ++i)
      if (model.lanes[runnable[i]].priority > model.lanes[runnable[favourite]].priority) favourite = i;
    return favourite;
  }

  void wake(std::uint32_t rank) {
    for (const std::uint32_t i : model.lanes_of[rank])
      if (!model.lanes[i].runnable) {
        model.lanes[i].runnable = true;
        runnable.push_back(i);
        changed = true;
      }
  }

  // --- one lane ---

  [[nodiscard]] std::uint32_t number(const Lane& lane) const { return lane.steps[lane.cursor]; }
  [[nodiscard]] const Step& step(const Lane& lane) const { return model.schedule.programs[lane.rank].steps[number(lane)]; }
  [[nodiscard]] StepState& state(const Lane& lane) { return model.states[lane.rank][number(lane)]; }
  [[nodiscard]] Wire& wire(const Lane& lane) { return model.wires[state(lane).wire]; }

  /// A little further; false: it waits for others, or is done with everything.
  bool advance(Lane& lane) {
    bool moved = false;
    do {
      if (lane.cursor == lane.steps.size() || !advance_once(lane)) return moved;
      moved = true;
    } while (lane.at_once && lane.phase != Phase::begin && failure.ok());
    return true;
  }

  bool advance_once(Lane& lane) {
    switch (lane.phase) {
      case Phase::begin:
        return begin_segment(lane);
      case Phase::read_early:
        return read_early(lane);
      case Phase::wait_taken:
        if (wire(lane).taken < lane.segment_end) return false;
        finish_segment(lane);
        return true;
      case Phase::wait_offered:
        if (wire(lane).offered < lane.segment_end) return false;
        lane.phase = Phase::load;
        return true;
      case Phase::load:
        return load(lane);
      case Phase::store:
        return store(lane);
    }
    return false;
  }

  // The rule of the IR, element by element: a segment that ends at e waits for D.pos >= min(e, D.end) unless D.begin >= e.
  [[nodiscard]] bool may_begin(const Lane& lane, std::uint32_t end) {
    const std::uint32_t reach = state(lane).begin + end;
    for (const Dep& dep : model.schedule.programs[lane.rank].deps_of(step(lane))) {
      const StepState& before = model.states[lane.rank][dep.step];
      if (before.begin >= reach) continue;
      if (before.begin + before.done < std::min(reach, before.begin + before.length)) return false;
    }
    if (step(lane).op != Op::send || options.capacity == 0) return true;
    std::uint32_t earlier = state(lane).wire;
    for (std::uint32_t i = 0; i < options.capacity && earlier != nothing; ++i) earlier = model.wires[earlier].previous;
    return earlier == nothing || model.wires[earlier].taken == model.wires[earlier].cells.size();
  }

  bool begin_segment(Lane& lane) {
    const Op op = step(lane).op;
    const std::uint32_t done = state(lane).done, left = state(lane).length - done;
    const std::uint32_t end = done + std::min(cut, left);
    if (!may_begin(lane, end)) return false;
    lane.segment_begin = done;
    lane.segment_end = end;
    lane.index = 0;
    // A copy onto itself is no access, whoever runs it: it takes its turn in its lane and nothing more.
    if (op == Op::copy && cell_of(lane.rank, number(lane), false, 0) == cell_of(lane.rank, number(lane), true, 0)) {
      finish_segment(lane);
      return true;
    }
    const std::uint32_t choices = random.below(64);
    lane.early = (choices & 1) != 0;
    lane.batched = (choices & 2) != 0;
    lane.reversed = (choices & 4) != 0;
    lane.at_once = (choices & 24) == 0;
    if (op == Op::send) lane.early |= options.capacity > 0;
    const bool reads_early = lane.early && (op == Op::send || op == Op::recv_reduce);
    if (reads_early)
      lane.phase = Phase::read_early;
    else if (op == Op::send)
      offer(lane, true);
    else
      lane.phase = op == Op::recv || op == Op::recv_reduce ? Phase::wait_offered : Phase::load;
    return true;
  }

  /// The element of the segment that is next, counted from the step's first.
  [[nodiscard]] std::uint32_t element(const Lane& lane) const {
    return lane.reversed ? lane.segment_end - 1 - lane.index : lane.segment_begin + lane.index;
  }
  [[nodiscard]] bool at_end(const Lane& lane) const { return lane.index == lane.segment_end - lane.segment_begin; }

  bool read_early(Lane& lane) {
    const bool sends = step(lane).op == Op::send;
    std::vector<Cell>& into = sends ? wire(lane).cells : lane.own;
    if (into.size() < state(lane).length) into.resize(state(lane).length);
    into[element(lane)] = read(lane.rank, number(lane), false, element(lane));
    ++lane.index;
    if (!at_end(lane)) return true;
    lane.index = 0;
    if (sends)
      offer(lane, false);
    else
      lane.phase = Phase::wait_offered;
    return true;
  }

  void offer(Lane& lane, bool late) {
    wire(lane).late = late;
    wire(lane).offered = lane.segment_end;
    if (wire(lane).receive_step != nothing) wake(wire(lane).receive_rank);
    lane.phase = Phase::wait_taken;
    if (options.capacity > 0) finish_segment(lane);
  }

  bool load(Lane& lane) {
    if (lane.result.size() < state(lane).length) lane.result.resize(state(lane).length);
    lane.result[element(lane)] = compute(lane, element(lane));
    if (!lane.batched) {
      lane.phase = Phase::store;
      return true;
    }
    ++lane.index;
    if (!at_end(lane)) return true;
    lane.index = 0;
    lane.phase = Phase::store;
    return true;
  }

  bool store(Lane& lane) {
    write(lane.rank, number(lane), element(lane), lane.result[element(lane)]);
    ++lane.index;
    if (at_end(lane))
      finish_segment(lane);
    else if (!lane.batched)
      lane.phase = Phase::load;
    return true;
  }

  void finish_segment(Lane& lane) {
    StepState& now = state(lane);
    now.done = lane.segment_end;
    if (is_receive(step(lane).op)) {
      wire(lane).taken = lane.segment_end;
      if (wire(lane).send_step != nothing) wake(wire(lane).send_rank);
    }
    if (now.done == now.length) ++lane.cursor;
    lane.phase = Phase::begin;
    wake(lane.rank);
  }

  // --- data ---

  Cell compute(const Lane& lane, std::uint32_t i) {
    const Step& now = step(lane);
    const std::uint32_t own_number = number(lane);
    const bool swapped = (now.flags & wire_is_left) != 0;
    switch (now.op) {
      case Op::recv:
        return take(lane, i);
      case Op::copy:
        return read(lane.rank, own_number, false, i);
      case Op::recv_reduce: {
        const Cell own = lane.early ? lane.own[i] : read(lane.rank, own_number, false, i), wired = take(lane, i);
        return swapped ? memory.combine(wired, own) : memory.combine(own, wired);
      }
      case Op::reduce: {
        const Cell own = read(lane.rank, own_number, true, i), other = read(lane.rank, own_number, false, i);
        return swapped ? memory.combine(other, own) : memory.combine(own, other);
      }
      case Op::send:
        break;
    }
    return {};
  }

  Cell take(const Lane& lane, std::uint32_t i) {
    const Wire& from = wire(lane);
    return from.late ? read(from.send_rank, from.send_step, false, i) : from.cells[i];
  }

  [[nodiscard]] Cell* cell_of(std::uint32_t rank, std::uint32_t step_number, bool destination, std::uint32_t i) {
    const Step& now = model.schedule.programs[rank].steps[step_number];
    const std::uint32_t first = destination ? now.dst_first : now.src_first;
    return memory.find(rank, destination ? now.dst_buf : now.src_buf, first + i / check::elements_per_chunk, i % check::elements_per_chunk);
  }

  Cell read(std::uint32_t rank, std::uint32_t step_number, bool destination, std::uint32_t i) {
    const Cell* cell = cell_of(rank, step_number, destination, i);
    if (cell != nullptr && cell->written) return *cell;
    fail(Outcome::uninitialised, rank, step_number, cell == nullptr ? "reads outside a buffer" : "reads what nothing has written");
    return {};
  }

  void write(std::uint32_t rank, std::uint32_t step_number, std::uint32_t i, const Cell& value) {
    Cell* cell = cell_of(rank, step_number, true, i);
    if (cell == nullptr) return fail(Outcome::wrong, rank, step_number, "writes outside a buffer");
    *cell = value;
  }

  void fail(Outcome outcome, std::uint32_t rank, std::uint32_t step_number, const std::string& what) {
    if (failure.ok()) failure = {outcome, "rank " + std::to_string(rank) + " step " + std::to_string(step_number) + " " + what};
  }

  [[nodiscard]] Interpretation judge() {
    for (const Lane& lane : model.lanes)
      if (lane.cursor < lane.steps.size())
        return {Outcome::deadlock, "rank " + std::to_string(lane.rank) + " step " + std::to_string(number(lane)) + " waits for ever"};
    for (const Wire& one : model.wires)
      if (one.taken < one.cells.size())
        return {Outcome::wrong,
                "rank " + std::to_string(one.send_rank) + " step " + std::to_string(one.send_step) + ": nobody takes its message"};
    return memory.compare();
  }

  check::Model model;
  check::Memory memory;
  InterpretOptions options;
  check::Random random{1};
  std::uint32_t cut = 1;  // elements of a segment
  Pick pick = Pick::even;
  std::vector<std::uint32_t> runnable;  // lanes
  std::size_t favourite = 0;            // the runnable lane of the highest priority, unless something has changed
  bool changed = true;
  Interpretation failure;
};

Interpreter::Interpreter(const Schedule& schedule) : impl_(std::make_unique<Impl>(schedule)) {}
Interpreter::~Interpreter() = default;
Interpretation Interpreter::run(const InterpretOptions& options) { return impl_->run(options); }

Interpretation interpret(const Schedule& schedule, const InterpretOptions& options) { return Interpreter(schedule).run(options); }

Interpretation interpret_all(const Schedule& schedule, std::uint64_t seed, std::uint32_t runs, bool keep_rank_order) {
  Interpreter interpreter(schedule);
  for (std::uint32_t i = 0; i < runs; ++i)
    for (const bool in_place : {false, true})
      for (const std::uint32_t extra : {0u, 1u}) {
        const std::uint32_t capacity = schedule.fifo + extra;
        Interpretation result = interpreter.run({in_place, keep_rank_order, capacity, seed + i});
        if (result.ok()) continue;
        result.text += " [" + std::string(in_place ? "in place" : "apart") + ", capacity " + std::to_string(capacity) + ", seed " +
                       std::to_string(seed + i) + "]";
        return result;
      }
  return {};
}

}  // namespace toric
