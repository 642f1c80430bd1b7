#include "toric/execute/executor.hpp"

#include "toric/execute/segment.hpp"
#include "toric/execute/short_run.hpp"
#include "toric/execute/window.hpp"

#include <algorithm>
#include <string>

namespace toric {

struct Executor::Impl {
  Impl(Transport& the_transport, bool may_be_short) : transport(the_transport), short_run(the_transport), short_runs(may_be_short) {}

  Transport& transport;
  SegmentMover mover;
  ShortRun short_run;
  const bool short_runs;     // may be used
  bool fits_short = false;  // this plan and count do
  bool is_short = false;    // the call that runs
  const Plan* plan = nullptr;
  const Step* steps = nullptr;      // of the plan
  const PlanStep* marks = nullptr;  // of the plan
  std::uint64_t count = 0, slice = 0, next_base = 0;
  std::size_t element = 0;
  std::uint64_t segment_elements = 1;
  SliceShape full, last;  // shapes of all slices but the last, and of the last where it is shorter
  Window windows[2];      // the older first
  std::uint32_t active = 0;
  std::uint32_t issued = 0;
  bool is_running = false;

  Status start(const Plan& the_plan, const Call& call);
  void cut(std::uint64_t the_count, std::size_t the_element);
  void open_windows();
  Progress poll();
  Progress poll_windows();
  bool visit(Window& window, const Window* older, std::uint32_t lane);
  bool advance(Window& window, const Window* older, std::uint32_t index);
  bool send(Window& window, std::uint32_t index, std::uint64_t end);
  bool receive(Window& window, const Window* older, std::uint32_t index, std::uint64_t end);
  std::uint32_t ready_partner(const Window& window, const Window* older, std::uint32_t index, std::uint64_t end) const;
  void move_on(Window& window, std::uint32_t index, std::uint64_t end);
  void pass_ended(Window& window, std::uint32_t lane) const;
  void end_step(Window& window, std::uint32_t index) const;

  [[nodiscard]] const Step& step(std::uint32_t index) const { return steps[index]; }
  [[nodiscard]] bool may_run(const Window& window, std::uint32_t index, std::uint64_t end, std::uint32_t except = no_step) const;
  [[nodiscard]] std::uint64_t segment_end(const StepState& state) const { return std::min(state.end, state.position + segment_elements); }
  [[nodiscard]] bool port_is_free(const Window* older, std::uint32_t index) const {
    return older == nullptr || older->port_left[marks[index].port_index] == 0;
  }
};

Status Executor::Impl::start(const Plan& the_plan, const Call& call) {
  if (is_running) return {Code::internal_error, "a schedule is still running on this executor"};
  if (call.memory != MemoryKind::host) return {Code::invalid_argument, "this executor runs on host memory only"};
  plan = &the_plan;
  steps = plan->program().steps.data();
  marks = plan->steps.data();
  const std::size_t wanted = size_of(call.type);
  if (full.plan != plan->identity || count != call.count || element != wanted) cut(call.count, wanted);
  mover.bind(*plan, call, full.longest, count > slice ? 2 : 1);
  is_running = true;
  // Operators that treat input or output apart take the long way.
  is_short = fits_short && mover.kernels().scale == nullptr && mover.kernels().divide == nullptr;
  if (is_short) {
    short_run.start(mover);
    return {};
  }
  next_base = 0;
  active = issued = 0;
  open_windows();
  return {};
}

void Executor::Impl::cut(std::uint64_t the_count, std::size_t the_element) {
  count = the_count;
  element = the_element;
  segment_elements = plan->options.segment_bytes / element;
  slice = count;
  if (plan->options.window_bytes != 0) slice = std::min(count, std::max<std::uint64_t>(1, plan->options.window_bytes / 64 * 64 / element));
  const std::uint64_t rest = slice == 0 ? 0 : count % slice;
  full.shape(*plan, count, slice);
  if (rest != 0) last.shape(*plan, count, rest);
  fits_short = short_runs && count == slice && short_run.prepare(*plan, full, element, SegmentMover::slot_bytes(full.longest, element));
}

void Executor::Impl::open_windows() {
  while (active < 2 && (next_base < count || issued == 0)) {
    const bool whole = count - next_base >= slice;
    windows[active].begin(whole ? full : last, next_base, issued % 2, count > slice);
    next_base += whole ? slice : count - next_base;
    ++active;
    ++issued;
  }
}

Progress Executor::Impl::poll() {
  if (!is_running) return Progress::done;
  const Progress progress = is_short ? short_run.poll() : poll_windows();
  if (progress != Progress::done) return progress;
  is_running = false;
  transport.flush();
  return progress;
}

Progress Executor::Impl::poll_windows() {
  bool moved = false;
  for (std::uint32_t w = 0; w < active; ++w)
    for (std::uint32_t lane = 0; lane < windows[w].cursor.size(); ++lane) moved |= visit(windows[w], w == 0 ? nullptr : windows, lane);
  for (std::uint32_t w = 0; w < active;) {
    if (windows[w].steps_left != 0) break;  // in order: a younger window ends after the older one
    mover.finish_window(windows[w]);
    std::swap(windows[0], windows[1]);
    --active;
    moved = true;
  }
  if (active == 0 && next_base >= count) {
    mover.finish_call();
    return Progress::done;
  }
  if (active < 2 && next_base < count) open_windows();
  return moved ? Progress::moved : Progress::idle;
}

// One segment a lane a visit: greedy lanes starve the others.
bool Executor::Impl::visit(Window& window, const Window* older, std::uint32_t lane) {
  const auto& order = plan->lanes[lane];
  if (window.cursor[lane] == order.size()) return false;
  const bool moved = advance(window, older, order[window.cursor[lane]]);
  if (moved) pass_ended(window, lane);
  return moved;
}

// A lane's cursor never stands on a step that has ended: called whenever a step has moved.
void Executor::Impl::pass_ended(Window& window, std::uint32_t lane) const {
  const auto& order = plan->lanes[lane];
  std::uint32_t& cursor = window.cursor[lane];
  while (cursor < order.size() && window.steps[order[cursor]].position == window.steps[order[cursor]].end)
    end_step(window, order[cursor++]);
}

void Executor::Impl::end_step(Window& window, std::uint32_t index) const {
  --window.steps_left;
  if (!window.port_left.empty() && !is_local(step(index).op)) --window.port_left[marks[index].port_index];
}

bool Executor::Impl::may_run(const Window& window, std::uint32_t index, std::uint64_t end, std::uint32_t except) const {
  for (const Dep dep : plan->program().deps_of(step(index))) {
    if (dep.step == except) continue;
    const StepState& before = window.steps[dep.step];
    if (before.position < std::min(end, before.end) && before.begin < end) return false;
  }
  return true;
}

bool Executor::Impl::advance(Window& window, const Window* older, std::uint32_t index) {
  const std::uint64_t end = segment_end(window.steps[index]);
  if (!may_run(window, index, end)) return false;
  const Step& what = step(index);
  if (is_local(what.op)) {
    mover.local(window, index, end);
    move_on(window, index, end);
    return true;
  }
  if (!port_is_free(older, index)) return false;
  return is_send(what.op) ? send(window, index, end) : receive(window, older, index, end);
}

bool Executor::Impl::send(Window& window, std::uint32_t index, std::uint64_t end) {
  const Port port = marks[index].port;
  const std::size_t bytes = mover.bytes(window.steps[index].position, end);
  std::byte* room = transport.reserve(port, bytes);
  if (room == nullptr) return false;
  const Store store = transport.store_for(port, bytes);
  const KernelTimer timer(bytes);
  mover.gather(window, index, end, room, store);
  timer.report(transport, port, store);
  transport.commit(port, bytes, store, index);
  move_on(window, index, end);
  return true;
}

// The step that may be served from the same received bytes now. It is never waited for, so the capacity-0 proof holds.
std::uint32_t Executor::Impl::ready_partner(const Window& window, const Window* older, std::uint32_t index, std::uint64_t end) const {
  const std::uint32_t partner = marks[index].fused_with;
  if (partner == no_step || window.steps[partner].position != window.steps[index].position) return no_step;
  const std::uint32_t lane = marks[partner].lane;
  const std::uint32_t at = window.cursor[lane] + (lane == marks[index].lane ? 1 : 0);
  if (at >= plan->lanes[lane].size() || plan->lanes[lane][at] != partner) return no_step;
  if (!may_run(window, partner, end, index)) return no_step;
  return is_send(step(partner).op) && !port_is_free(older, partner) ? no_step : partner;
}

bool Executor::Impl::receive(Window& window, const Window* older, std::uint32_t index, std::uint64_t end) {
  const Port port = marks[index].port;
  const std::size_t bytes = mover.bytes(window.steps[index].position, end);
  const std::byte* view = transport.peek(port, bytes);
  if (view == nullptr) return false;
  std::uint32_t partner = ready_partner(window, older, index, end);
  const bool onward = partner != no_step && is_send(step(partner).op);
  std::byte* room = nullptr;
  Port out = 0;
  if (onward) {
    out = marks[partner].port;
    room = transport.reserve(out, bytes);
    if (room == nullptr) partner = no_step;
  }
  const Store store = room != nullptr ? transport.store_for(out, bytes) : Store::cached;
  const KernelTimer timer(bytes);
  mover.deliver(window, index, partner, end, view, room, store);
  timer.report(transport, port, Store::cached);
  if (room != nullptr) {
    timer.report(transport, out, store);
    transport.commit(out, bytes, store, partner);
  }
  transport.release(port, bytes);
  if (partner != no_step) {
    move_on(window, partner, end);
    pass_ended(window, marks[partner].lane);
  }
  move_on(window, index, end);
  return true;
}

void Executor::Impl::move_on(Window& window, std::uint32_t index, std::uint64_t end) {
  StepState& state = window.steps[index];
  state.position = end;
  window.shape->walk(marks[index].data, step(index).count, state.chunk, end);
}

Executor::Executor(Transport& transport, bool short_runs) : impl_(std::make_unique<Impl>(transport, short_runs)) {}
Executor::~Executor() = default;
Status Executor::start(const Plan& plan, const Call& call) { return impl_->start(plan, call); }
Progress Executor::poll() { return impl_->poll(); }
bool Executor::running() const { return impl_->is_running; }
void Executor::cancel() {
  impl_->transport.cancel_all();
  impl_->is_running = false;
  impl_->active = 0;
}

Executor::Waiting Executor::waiting() const {
  Waiting found;
  if (!impl_->is_running) return found;
  if (impl_->is_short) return impl_->short_run.waiting();
  if (impl_->active == 0) return found;
  const Window& window = impl_->windows[0];
  for (std::size_t lane = 0; lane < window.cursor.size(); ++lane) {
    const auto& order = impl_->plan->lanes[lane];
    if (window.cursor[lane] >= order.size()) continue;
    const std::uint32_t index = order[window.cursor[lane]];
    const StepState& state = window.steps[index];
    const Step& step = impl_->step(index);
    if (is_local(step.op)) continue;
    const bool ready = impl_->may_run(window, index, impl_->segment_end(state));
    if (found.any && !ready) continue;
    found = {true, step.op, step.peer, index, impl_->mover.bytes(state.begin, state.position), impl_->mover.bytes(state.begin, state.end)};
    if (ready) break;
  }
  return found;
}

}  // namespace toric
