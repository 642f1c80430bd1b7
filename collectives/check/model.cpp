#include "toric/check/model.hpp"

#include <map>
#include <tuple>

namespace toric::check {

Model::Model(const Schedule& s) : schedule(s), states(s.programs.size()), lanes_of(s.programs.size()) {
  for (std::uint32_t rank = 0; rank < s.programs.size(); ++rank) add_rank(rank);
  match_wires();
}

void Model::reset() {
  for (std::vector<StepState>& of_rank : states)
    for (StepState& state : of_rank) state.done = 0;
  for (Wire& wire : wires) wire.offered = wire.taken = 0;
  for (Lane& lane : lanes) {
    lane.cursor = 0;
    lane.phase = Phase::begin;
  }
}

void Model::add_rank(std::uint32_t rank) {
  const std::vector<Step>& steps = schedule.programs[rank].steps;
  std::map<std::uint16_t, std::uint32_t> numbers;
  states[rank].resize(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    const auto [found, is_new] = numbers.try_emplace(steps[i].lane, static_cast<std::uint32_t>(lanes.size()));
    if (is_new) {
      lanes_of[rank].push_back(found->second);
      lanes.emplace_back().rank = rank;
    }
    lanes[found->second].steps.push_back(i);
    const std::uint32_t data = (steps[i].op == Op::recv ? steps[i].dst_first : steps[i].src_first) % schedule.chunks;
    states[rank][i].begin = data * elements_per_chunk;
    states[rank][i].length = steps[i].count * elements_per_chunk;
  }
}

void Model::match_wires() {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;
  std::map<Key, std::vector<std::uint32_t>> ports;
  std::map<std::pair<Key, bool>, std::uint32_t> count;
  for (std::uint32_t rank = 0; rank < schedule.programs.size(); ++rank)
    for (std::uint32_t i = 0; i < states[rank].size(); ++i) {
      const Step& step = schedule.programs[rank].steps[i];
      if (step.op == Op::copy || step.op == Op::reduce) continue;
      const bool sends = step.op == Op::send;
      const auto peer = static_cast<std::uint32_t>(step.peer);
      const Key key = sends ? Key{rank, peer, step.channel} : Key{peer, rank, step.channel};
      attach(ports[key], count[{key, sends}]++, rank, i);
    }
}

void Model::attach(std::vector<std::uint32_t>& port, std::uint32_t nth, std::uint32_t rank, std::uint32_t i) {
  if (nth == port.size()) {
    wires.emplace_back().previous = port.empty() ? nothing : port.back();
    port.push_back(static_cast<std::uint32_t>(wires.size() - 1));
  }
  Wire& wire = wires[port[nth]];
  StepState& state = states[rank][i];
  state.wire = port[nth];
  const bool sends = schedule.programs[rank].steps[i].op == Op::send;
  (sends ? wire.send_rank : wire.receive_rank) = rank;
  (sends ? wire.send_step : wire.receive_step) = i;
  if (!wire.cells.empty() && wire.cells.size() != state.length)
    refused = "rank " + std::to_string(rank) + " step " + std::to_string(i) + ": the other end of its message has another length";
  wire.cells.resize(state.length);
}

}  // namespace toric::check
