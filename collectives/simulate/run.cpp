#include "toric/simulate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace toric::simulation {

namespace {

// What can be true of a step, beside what its graph says.
constexpr std::uint8_t reached = 1;    // all that it waits for has ended
constexpr std::uint8_t begun = 2;      // of a send: the message is on its way
constexpr std::uint8_t permitted = 4;  // of a receive: there is room to buffer its message
constexpr std::uint8_t arrived = 8;    // of a receive: its message is in the buffer
constexpr std::uint8_t over = 16;

// Times that differ by less are one: sums of the same terms in another order must not come apart.
constexpr double tolerance = 1e-12;

}  // namespace

Run::Run(const Schedule& schedule, StepGraph graph, const StepBytes& bytes, std::span<const Path> paths, std::span<const double> capacities,
         const SimulationOptions& options)
    : schedule_(schedule),
      graph_(std::move(graph)),
      bytes_(bytes),
      paths_(paths),
      options_(options),
      sharing_(capacities),
      gates_(options.messages_per_port > 0 ? capacities.size() : 0),
      marks_(graph_.steps()) {
  if (schedule.fifo == 0) return;
  for (StepId id = 0; id < graph_.steps(); ++id) marks_[id] |= permitted;
  for (const StepId id : graph_.later)
    if (id != no_step) marks_[id] = 0;
}

Status Run::to_the_end() {
  for (StepId id = 0; id < graph_.steps(); ++id)
    if (graph_.waits[id] == 0) ready_.push_back(id);
  work_off();
  while (!queue_.empty()) {
    now_ = queue_.time();
    batch_.clear();
    while (!queue_.empty() && queue_.time() <= now_ * (1 + tolerance)) batch_.push_back(queue_.pop());
    events_ += batch_.size();
    for (const std::uint32_t activity : batch_) advance(activity);
    work_off();
  }
  return ended_ == graph_.steps() ? Status() : stuck();
}

/// All that happens now because of what has happened; then rates are shared anew.
void Run::work_off() {
  while (!ready_.empty() || !unheld_.empty()) {
    if (ready_.empty()) {
      const auto [id, begin] = unheld_.back();
      unheld_.pop_back();
      finish(id, begin);
    } else {
      const StepId id = ready_.back();
      ready_.pop_back();
      reach(id);
    }
  }
  open_gates();
  settle();
}

void Run::reach(StepId id) {
  marks_[id] |= reached;
  const Step& it = step(id);
  if (is_local(it.op) || (marks_[id] & arrived) != 0)
    compute(id, now_, seconds_of(it));
  else
    try_message(is_send(it.op) ? id : graph_.partner[id]);
}

void Run::permit(StepId receive) {
  marks_[receive] |= permitted;
  try_message(graph_.partner[receive]);
}

void Run::try_message(StepId send) {
  if ((marks_[send] & (reached | begun)) != reached) return;
  if ((marks_[graph_.partner[send]] & (reached | permitted)) == 0) return;
  marks_[send] |= begun;
  for (const StepId other : graph_.beside.of(send)) release(other);
  const std::uint32_t activity = start({.step = send, .phase = Phase::latency, .begin = now_});
  const double latency = paths_[graph_.port[send]].latency;
  if (latency > 0)
    queue_.set(activity, now_ + latency);
  else
    advance(activity);
}

std::uint32_t Run::start(const Activity& activity) {
  if (free_activities_.empty()) {
    activities_.push_back(activity);
    return static_cast<std::uint32_t>(activities_.size()) - 1;
  }
  const std::uint32_t number = free_activities_.back();
  free_activities_.pop_back();
  activities_[number] = activity;
  return number;
}

void Run::advance(std::uint32_t number) {
  Activity& activity = activities_[number];
  switch (activity.phase) {
    case Phase::latency:
      activity.left = bytes_.of(step(activity.step));
      if (activity.left <= 0 || links_of(activity.step).empty()) return arrive(number);
      activity.phase = Phase::flow;
      return gates_.empty() ? join(number) : wait_at_gate(number);
    case Phase::flow:
      leave(number);
      return arrive(number);
    case Phase::compute:
      const StepId id = activity.step;
      const double begin = activity.begin;
      free_activities_.push_back(number);
      return finish(id, begin);
  }
}

void Run::join(std::uint32_t number) { sharing_.add(number, links_of(activities_[number].step)); }

void Run::wait_at_gate(std::uint32_t number) {
  const StepId send = activities_[number].step;
  const LinkId link = links_of(send).front();
  gates_[link].waiting.emplace_back(send, number);
  std::ranges::push_heap(gates_[link].waiting, std::greater<>());
  touched_gates_.push_back(link);
}

void Run::leave(std::uint32_t number) {
  sharing_.remove(number);
  if (gates_.empty()) return;
  const LinkId link = links_of(activities_[number].step).front();
  --gates_[link].inside;
  touched_gates_.push_back(link);
}

/// Only when all that happens now has happened: who comes last may go first.
void Run::open_gates() {
  for (const LinkId link : touched_gates_) {
    Gate& gate = gates_[link];
    while (gate.inside < options_.messages_per_port && !gate.waiting.empty()) {
      std::ranges::pop_heap(gate.waiting, std::greater<>());
      ++gate.inside;
      join(gate.waiting.back().second);
      gate.waiting.pop_back();
    }
  }
  touched_gates_.clear();
}

void Run::arrive(std::uint32_t number) {
  const StepId send = activities_[number].step, receive = graph_.partner[send];
  const double begin = activities_[number].begin;
  free_activities_.push_back(number);
  if (schedule_.fifo > 0) end(send, begin);
  if ((marks_[receive] & reached) != 0)
    compute(receive, begin, seconds_of(step(receive)));
  else
    marks_[receive] |= arrived;
}

double Run::seconds_of(const Step& it) const {
  switch (it.op) {
    case Op::copy:
      return options_.copy_seconds_per_byte * bytes_.of(it);
    case Op::reduce:
    case Op::recv_reduce:
      return options_.reduce_seconds_per_byte * bytes_.of(it);
    case Op::send:
    case Op::recv:
      return 0;
  }
  return 0;
}

void Run::compute(StepId id, double begin, double seconds) {
  if (seconds > 0)
    queue_.set(start({.step = id, .phase = Phase::compute, .begin = begin}), now_ + seconds);
  else
    finish(id, begin);
}

/// A local step or a receive has done its work. With nothing buffered a send ends with its receive.
void Run::finish(StepId id, double begin) {
  if (graph_.holds[id] > 0) {
    held_.emplace(id, begin);
    return;
  }
  if (is_local(step(id).op)) return end(id, begin);
  if (schedule_.fifo == 0) end(graph_.partner[id], begin);
  end(id, begin);
  if (schedule_.fifo > 0 && graph_.later[id] != no_step) permit(graph_.later[id]);
}

void Run::end(StepId id, double begin) {
  marks_[id] |= over;
  ++ended_;
  if (options_.timeline) {
    const Rank rank = graph_.rank[id];
    timeline_.push_back({rank, id - graph_.first[static_cast<std::size_t>(rank)], begin, now_});
  }
  for (const StepId next : graph_.after.of(id)) release(next);
  for (const StepId other : graph_.beside.of(id)) {
    if (--graph_.holds[other] > 0) continue;
    if (const auto held = held_.extract(other); !held.empty()) unheld_.emplace_back(other, held.mapped());
  }
}

/// One thing less to wait for before it begins.
void Run::release(StepId id) {
  if (--graph_.waits[id] == 0) ready_.push_back(id);
}

void Run::settle() {
  for (const FlowId flow : sharing_.settle()) {
    Activity& activity = activities_[flow];
    activity.left = std::max(0.0, activity.left - activity.rate * (now_ - activity.since));
    activity.since = now_;
    activity.rate = sharing_.rate(flow);
    queue_.set(flow, now_ + activity.left / activity.rate);
  }
}

/// Dependencies point backward, so where steps remain an end of a message was reached and is not over.
Status Run::stuck() const {
  StepId id = 0;
  while (id + 1 < graph_.steps() && ((marks_[id] & (reached | over)) != reached || is_local(step(id).op))) ++id;
  return {Code::invalid_argument, fmt::format("the schedule does not end: {} of its {} steps remain, {} among them, which waits for ever",
                                              graph_.steps() - ended_, graph_.steps(), describe(schedule_, graph_, id))};
}

}  // namespace toric::simulation
