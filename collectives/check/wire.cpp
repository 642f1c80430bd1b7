// Counts what a schedule does on the wire.
//
// Rounds follow the data alone: a value read from `input` has depth 0, what arrives is one deeper than what was sent, what
// is combined is as deep as the deeper operand. Lanes, and dependencies that only keep a place from being overwritten too
// early, make no rounds: they may delay a message but it does not need what the earlier one carried.
#include "toric/check/proof.hpp"

#include <algorithm>

namespace toric {

namespace {

class Depths {
 public:
  explicit Depths(const check::Index& index)
      : index_(index),
        places_(*index.schedule, false),
        depth_(std::size_t{places_.count} * index.schedule->programs.size(), 0),
        payload_(index.payload_chunks, 0) {}

  std::uint32_t deepest(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t id : order)
      for (std::uint32_t i = 0; i < index_.step(id).count; ++i) run_chunk(id, index_.step(id), i);
    return deepest_;
  }

 private:
  void run_chunk(std::uint32_t id, const Step& step, std::uint32_t i) {
    std::uint32_t* places = depth_.data() + std::size_t{index_.rank[id]} * places_.count;
    std::uint32_t depth = reads_src(step.op) ? places[places_.at(step.src_buf, step.src_first + i)] : 0;
    if (is_send(step.op)) {
      payload_[index_.messages[index_.message[id]].payload + i] = depth + 1;
      return;
    }
    std::uint32_t& destination = places[places_.at(step.dst_buf, step.dst_first + i)];
    if (is_receive(step.op)) {
      depth = std::max(depth, payload_[index_.messages[index_.message[id]].payload + i]);
      deepest_ = std::max(deepest_, depth);
    }
    destination = step.op == Op::reduce ? std::max(depth, destination) : depth;
  }

  const check::Index& index_;
  check::Places places_;
  std::vector<std::uint32_t> depth_, payload_;
  std::uint32_t deepest_ = 0;
};

}  // namespace

Result<WireCount> count_wire(const Schedule& schedule) {
  check::Index index;
  std::vector<std::uint32_t> order;
  Verdict verdict = check::index_steps(schedule, index);
  if (verdict.ok()) verdict = check::pair_messages(index);
  if (verdict.ok()) verdict = check::order_steps(index, order);
  if (!verdict.ok())
    return Status(Code::invalid_argument,
                  "messages of a faulty schedule cannot be counted: " + std::string(name_of(verdict.fault)) + ": " + verdict.text);
  std::vector<std::uint64_t> out(schedule.programs.size()), in(schedule.programs.size());
  for (const check::Message& message : index.messages) {
    out[index.rank[message.send]] += index.step(message.send).count;
    in[index.rank[message.receive]] += index.step(message.receive).count;
  }
  WireCount count;
  count.rounds = Depths(index).deepest(order);
  count.busiest_rank_out = static_cast<double>(*std::max_element(out.begin(), out.end())) / schedule.chunks;
  count.busiest_rank_in = static_cast<double>(*std::max_element(in.begin(), in.end())) / schedule.chunks;
  count.messages = index.messages.size();
  return count;
}

}  // namespace toric
