#include "toric/execute/short_run.hpp"

#include <optional>

namespace toric {

namespace {

/// Where a run of chunks begins, in bytes from the base of its buffer; nothing where it does not lie in one piece.
std::optional<std::ptrdiff_t> piece_of_user(const SliceShape& shape, std::uint32_t data, std::uint64_t end, std::size_t element) {
  if (shape.run_end[data] < end) return std::nullopt;
  return static_cast<std::ptrdiff_t>(shape.memory[data] * element);
}

std::optional<std::ptrdiff_t> piece_of_scratch(const Plan& plan, std::uint32_t first, std::uint32_t count, std::size_t slot_bytes) {
  if (count != 1) return std::nullopt;
  return static_cast<std::ptrdiff_t>(plan.scratch_index[first] * slot_bytes);
}

}  // namespace

bool ShortRun::prepare(const Plan& plan, const SliceShape& shape, std::size_t element, std::size_t slot_bytes) {
  const auto& program = plan.program().steps;
  if (program.size() > most_steps) return false;
  element_ = element;
  slot_bytes_ = slot_bytes;
  steps_.clear();
  order_.clear();
  at_start_.clear();
  empty_ = all_ = 0;
  for (std::uint32_t i = 0; i < program.size(); ++i) {
    steps_.emplace_back();
    all_ |= only(i);
    if (shape.steps[i].begin == shape.steps[i].end)
      empty_ |= only(i);
    else if (!lay_out(plan, shape, i))
      return false;
  }
  for (const auto& lane : plan.lanes) {
    const auto begin = static_cast<std::uint32_t>(order_.size());
    for (const std::uint32_t index : lane)
      if ((empty_ & only(index)) == 0) order_.push_back(index);
    at_start_.push_back({begin, static_cast<std::uint32_t>(order_.size())});
  }
  return true;
}

bool ShortRun::lay_out(const Plan& plan, const SliceShape& shape, std::uint32_t index) {
  const Step& from = plan.program().steps[index];
  const PlanStep& marks = plan.steps[index];
  const StepState& extent = shape.steps[index];
  ShortStep& step = steps_[index];
  step = {};
  step.op = from.op;
  step.src_buf = from.src_buf;
  step.dst_buf = from.dst_buf;
  step.wire_is_left = (from.flags & wire_is_left) != 0;
  step.dead_if_fused = marks.dead_if_fused;
  step.port = marks.port;
  step.peer = from.peer;
  step.fused_with = marks.fused_with;
  step.lane = marks.lane;
  step.elements = extent.end - extent.begin;
  step.bytes = step.elements * element_;
  if (step.bytes > plan.options.segment_bytes / element_ * element_) return false;
  for (const Dep dep : plan.program().deps_of(from)) {
    const StepState& before = shape.steps[dep.step];
    if (before.begin < extent.end && before.end > extent.begin) step.waits_for |= only(dep.step);
  }
  const auto piece = [&](Buf buf, std::uint32_t first) {
    return buf == Buf::scratch ? piece_of_scratch(plan, first, from.count, slot_bytes_)
                               : piece_of_user(shape, marks.data, extent.end, element_);
  };
  const auto src = reads_src(from.op) ? piece(from.src_buf, from.src_first) : 0;
  const auto dst = writes_dst(from.op) ? piece(from.dst_buf, from.dst_first) : 0;
  if (!src || !dst) return false;
  step.src = *src;
  step.dst = *dst;
  return true;
}

void ShortRun::start(const SegmentMover& mover) {
  reduce_ = mover.kernels().reduce;
  for (const Buf buf : {Buf::input, Buf::output, Buf::scratch}) base_[static_cast<std::size_t>(buf)] = mover.base(buf);
  ended_ = empty_;
  lanes_ = at_start_;
}

Progress ShortRun::poll() {
  const Steps before = ended_;
  for (const Lane& lane : lanes_)
    if (lane.next != lane.end) advance(order_[lane.next]);
  if (ended_ == all_) return Progress::done;
  return ended_ != before ? Progress::moved : Progress::idle;
}

void ShortRun::advance(std::uint32_t index) {
  const ShortStep& step = steps_[index];
  if (!may_run(step)) return;
  if (is_send(step.op)) return send(step, index);
  if (is_receive(step.op)) return receive(step, index);
  local(step);
  end(step, index);
}

void ShortRun::send(const ShortStep& step, std::uint32_t index) {
  std::byte* room = transport_.reserve(step.port, step.bytes);
  if (room == nullptr) return;
  const KernelTimer timer(step.bytes);
  const Store store = timer.counts() ? transport_.store_for(step.port, step.bytes) : Store::cached;
  copy_bytes(room, nullptr, at(step.src_buf, step.src), step.bytes, store, Store::cached);
  timer.report(transport_, step.port, store);
  transport_.commit(step.port, step.bytes, store, index);
  end(step, index);
}

// As in the executor: the partner is served from the same bytes if it could run now, and is never waited for.
const ShortRun::ShortStep* ShortRun::ready_partner(const ShortStep& step, std::uint32_t index) const {
  if (step.fused_with == no_step) return nullptr;
  const ShortStep& partner = steps_[step.fused_with];
  const Lane& lane = lanes_[partner.lane];
  const std::uint32_t place = lane.next + (partner.lane == step.lane ? 1 : 0);
  if (place >= lane.end || order_[place] != step.fused_with) return nullptr;
  return may_run(partner, only(index)) ? &partner : nullptr;
}

void ShortRun::receive(const ShortStep& step, std::uint32_t index) {
  const std::byte* view = transport_.peek(step.port, step.bytes);
  if (view == nullptr) return;
  const ShortStep* partner = ready_partner(step, index);
  std::byte* room = nullptr;
  if (partner != nullptr && is_send(partner->op)) {
    room = transport_.reserve(partner->port, step.bytes);
    if (room == nullptr) partner = nullptr;
  }
  const KernelTimer timer(step.bytes);
  const Store store = room != nullptr && timer.counts() ? transport_.store_for(partner->port, step.bytes) : Store::cached;
  deliver(step, view, partner, room, store);
  timer.report(transport_, step.port, Store::cached);
  if (room != nullptr) {
    timer.report(transport_, partner->port, store);
    transport_.commit(partner->port, step.bytes, store, step.fused_with);
  }
  transport_.release(step.port, step.bytes);
  end(step, index);
  if (partner != nullptr) end(*partner, step.fused_with);
}

void ShortRun::deliver(const ShortStep& step, const std::byte* view, const ShortStep* partner, std::byte* room, Store store) const {
  std::byte* own = at(step.dst_buf, step.dst);
  std::byte* first = own;
  std::byte* second = nullptr;
  if (partner != nullptr) {
    first = room != nullptr ? room : at(partner->dst_buf, partner->dst);
    second = step.dead_if_fused ? nullptr : own;
  }
  if (step.op == Op::recv) return copy_bytes(first, second, view, step.bytes, store, Store::cached);
  const std::byte* operand = at(step.src_buf, step.src);
  reduce_({first, second, step.wire_is_left ? view : operand, step.wire_is_left ? operand : view, step.elements, store, Store::cached},
          nullptr);
}

void ShortRun::local(const ShortStep& step) const {
  const std::byte* from = at(step.src_buf, step.src);
  std::byte* into = at(step.dst_buf, step.dst);
  if (step.op == Op::reduce)
    reduce_({into, nullptr, step.wire_is_left ? from : into, step.wire_is_left ? into : from, step.elements, Store::cached, Store::cached},
            nullptr);
  else if (from != into)  // in place they may coincide: no access
    copy_bytes(into, nullptr, from, step.bytes, Store::cached, Store::cached);
}

void ShortRun::end(const ShortStep& step, std::uint32_t index) {
  ended_ |= only(index);
  ++lanes_[step.lane].next;
}

Executor::Waiting ShortRun::waiting() const {
  Executor::Waiting found;
  for (const Lane& lane : lanes_) {
    if (lane.next == lane.end) continue;
    const std::uint32_t index = order_[lane.next];
    const ShortStep& step = steps_[index];
    const bool ready = may_run(step);
    if (is_local(step.op) || (found.any && !ready)) continue;
    found = {true, step.op, step.peer, index, 0, step.bytes};
    if (ready) break;
  }
  return found;
}

}  // namespace toric
