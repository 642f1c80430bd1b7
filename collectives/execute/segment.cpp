#include "toric/execute/segment.hpp"

#include <algorithm>

namespace toric {

namespace {

constexpr std::size_t stream_results_from = std::size_t{8} << 20;  // smaller results are wanted in the cache by their reader

// The side of a collective that holds one block is given by the API as that block; chunks are addressed in the full vector.
bool input_is_one_block(Collective what) { return what == Collective::all_gather || what == Collective::gather; }
bool output_is_one_block(Collective what) { return what == Collective::reduce_scatter || what == Collective::scatter; }

}  // namespace

void SegmentMover::bind(const Plan& plan, const Call& call, std::uint64_t longest_chunk, std::uint32_t sets) {
  plan_ = &plan;
  if (kernels_ == nullptr || call.type != call_.type || call.op != call_.op) kernels_ = &kernels_for(call.type, call.op);
  call_ = call;
  const Collective what = plan.schedule.what;
  element_ = size_of(call.type);
  const std::uintptr_t before = static_cast<std::uintptr_t>(plan.rank) * call.count * element_;
  input_ = reinterpret_cast<std::uintptr_t>(call.input) - (input_is_one_block(what) ? before : 0);
  output_ = reinterpret_cast<std::uintptr_t>(call.output) - (output_is_one_block(what) ? before : 0);
  slot_bytes_ = slot_bytes(longest_chunk, element_);
  set_bytes_ = slot_bytes_ * plan.scratch_used;
  if (set_bytes_ * sets > scratch_bytes_) {
    scratch_bytes_ = set_bytes_ * sets;
    scratch_memory_.reset();  // first, so that old and new never stand side by side
    scratch_memory_ = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes_ + 64);
    scratch_ = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch_memory_.get()) + 63) / 64 * 64);
  }
  stream_results_ = call.count * element_ >= stream_results_from && call.op != RedOp::avg;
}

SegmentMover::Place SegmentMover::user_place(const Window& window, std::uintptr_t base, std::uint32_t data, std::uint64_t position) const {
  const SliceShape& shape = *window.shape;
  const std::uint64_t element = window.base + shape.memory[data] + (position - shape.start[data]);
  return {reinterpret_cast<std::byte*>(base + element * element_), shape.run_end[data]};
}

SegmentMover::Place SegmentMover::place(const Window& window, Buf buf, std::uint32_t first, std::uint32_t data,
                                        const Cursor& cursor) const {
  if (buf == Buf::input) return user_place(window, input_, data + cursor.chunk, cursor.position);
  if (buf == Buf::output) return user_place(window, output_, data + cursor.chunk, cursor.position);
  const SliceShape& shape = *window.shape;
  const std::size_t slot = plan_->scratch_index[first + cursor.chunk];
  const std::uint64_t inside = cursor.position - shape.start[data + cursor.chunk];
  return {scratch_ + window.scratch_set * set_bytes_ + slot * slot_bytes_ + inside * element_, shape.start[data + cursor.chunk + 1]};
}

void SegmentMover::step_over(const Window& window, std::uint32_t data, std::uint32_t count, Cursor& cursor, std::uint64_t to) const {
  cursor.position = to;
  window.shape->walk(data, count, cursor.chunk, to);
}

void SegmentMover::gather(const Window& window, std::uint32_t index, std::uint64_t end, std::byte* room, Store store) {
  const Step& step = plan_->program().steps[index];
  const std::uint32_t data = plan_->steps[index].data;
  Cursor cursor{window.steps[index].position, window.steps[index].chunk};
  while (cursor.position < end) {
    const Place from = place(window, step.src_buf, step.src_first, data, cursor);
    const std::uint64_t to = std::min(end, from.end);
    const std::size_t size = bytes(cursor.position, to);
    if (scales(step.src_buf))
      kernels_->scale(room, from.at, to - cursor.position, call_.factor, nullptr);
    else
      copy_bytes(room, nullptr, from.at, size, store, Store::cached);
    room += size;
    step_over(window, data, step.count, cursor, to);
  }
}

void SegmentMover::deliver(const Window& window, std::uint32_t index, std::uint32_t partner, std::uint64_t end, const std::byte* view,
                           std::byte* room, Store store) {
  const Step& step = plan_->program().steps[index];
  const std::uint32_t data = plan_->steps[index].data;
  const Step* copy = partner != no_step && room == nullptr ? &plan_->program().steps[partner] : nullptr;
  const bool skip = partner != no_step && plan_->steps[index].dead_if_fused;
  const bool final_write = copy != nullptr ? plan_->steps[partner].final_write : plan_->steps[index].final_write;
  const Store result_store = stream_results_ && final_write ? Store::streamed : Store::cached;
  Cursor cursor{window.steps[index].position, window.steps[index].chunk};
  while (cursor.position < end) {
    const Place own = place(window, step.dst_buf, step.dst_first, data, cursor);
    std::uint64_t to = std::min(end, own.end);
    std::byte* first = own.at;
    std::byte* second = nullptr;
    Store first_store = result_store;
    if (room != nullptr) {
      first = room;
      second = skip ? nullptr : own.at;
      first_store = store;
    } else if (copy != nullptr) {
      const Place target = place(window, Buf::output, copy->dst_first, data, cursor);
      to = std::min(to, target.end);
      first = target.at;
      second = skip ? nullptr : own.at;
    }
    if (step.op == Op::recv) {
      copy_bytes(first, second, view, bytes(cursor.position, to), first_store, room != nullptr ? result_store : Store::cached);
    } else {
      const Place operand = place(window, step.src_buf, step.src_first, data, cursor);
      to = std::min(to, operand.end);
      const bool wire_left = (step.flags & wire_is_left) != 0;
      ReduceArgs args{first,
                      second,
                      wire_left ? view : operand.at,
                      wire_left ? operand.at : view,
                      to - cursor.position,
                      first_store,
                      room != nullptr ? result_store : Store::cached};
      if (scales(step.src_buf))
        reduce_from_input(args, !wire_left);
      else
        kernels_->reduce(args, nullptr);
    }
    view += bytes(cursor.position, to);
    if (room != nullptr) room += bytes(cursor.position, to);
    step_over(window, data, step.count, cursor, to);
  }
}

void SegmentMover::local(const Window& window, std::uint32_t index, std::uint64_t end) {
  const Step& step = plan_->program().steps[index];
  const std::uint32_t data = plan_->steps[index].data;
  Cursor cursor{window.steps[index].position, window.steps[index].chunk};
  while (cursor.position < end) {
    const Place from = place(window, step.src_buf, step.src_first, data, cursor);
    const Place into = place(window, step.dst_buf, step.dst_first, data, cursor);
    const std::uint64_t to = std::min({end, from.end, into.end});
    const std::uint64_t elements = to - cursor.position;
    if (step.op == Op::copy) {
      const Store how = stream_results_ && plan_->steps[index].final_write ? Store::streamed : Store::cached;
      if (scales(step.src_buf))
        kernels_->scale(into.at, from.at, elements, call_.factor, nullptr);
      else if (from.at != into.at)  // in place they may coincide: no access
        copy_bytes(into.at, nullptr, from.at, elements * element_, how, Store::cached);
    } else {
      const bool src_left = (step.flags & wire_is_left) != 0;
      ReduceArgs args{into.at, nullptr, src_left ? from.at : into.at, src_left ? into.at : from.at, elements, Store::cached, Store::cached};
      if (scales(step.src_buf))
        reduce_from_input(args, src_left);
      else
        kernels_->reduce(args, nullptr);
    }
    step_over(window, data, step.count, cursor, to);
  }
}

// The operand that comes from input is multiplied by this rank's factor first, a block that stays in the cache at a time.
void SegmentMover::reduce_from_input(ReduceArgs args, bool input_is_left) {
  const std::size_t block = sizeof(scaled_) / element_;
  const std::byte*& input = input_is_left ? args.left : args.right;
  const std::byte*& other = input_is_left ? args.right : args.left;
  const std::byte* raw = input;
  for (std::size_t left = args.elements; left > 0;) {
    args.elements = std::min(left, block);
    const std::size_t size = args.elements * element_;
    kernels_->scale(scaled_, raw, args.elements, call_.factor, nullptr);
    input = scaled_;
    kernels_->reduce(args, nullptr);
    raw += size;
    other += size;
    args.dst += size;
    if (args.also != nullptr) args.also += size;
    left -= args.elements;
  }
}

void SegmentMover::finish_window(const Window& window) {
  const Schedule& s = plan_->schedule;
  if (call_.op != RedOp::avg || !is_reduction(s.what)) return;
  for (std::uint32_t c = 0; c < s.chunks; ++c) {
    if (!output_holds(s, plan_->rank, c)) continue;
    const Place at = user_place(window, output_, c, window.shape->start[c]);
    kernels_->divide(at.at, window.shape->start[c + 1] - window.shape->start[c], s.ranks, nullptr);
  }
}

void SegmentMover::finish_call() {
  if (stream_results_) fence_streamed();
}

}  // namespace toric
