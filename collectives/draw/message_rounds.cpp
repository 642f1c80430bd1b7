#include "toric/draw/message_rounds.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace toric {

namespace {

using StepNumber = std::uint32_t;  // over all programs, one after the other
constexpr StepNumber nobody = UINT32_MAX;

class Rounds {
 public:
  explicit Rounds(const Schedule& schedule) : schedule_(schedule) {
    for (const Program& program : schedule.programs) {
      first_.push_back(total_);
      total_ += static_cast<StepNumber>(program.steps.size());
    }
    partner_.assign(total_, nobody);
    waits_.assign(total_, 0);
    round_.assign(total_, 0);
    reached_.assign(total_, false);
    after_.resize(total_);
    owner_.resize(total_);
  }

  MessageRounds find() {
    number_steps();
    pair();
    for (StepNumber step = 0; step < total_; ++step)
      if (waits_[step] == 0) ready_.push_back(step);
    while (!ready_.empty()) {
      const StepNumber step = ready_.back();
      ready_.pop_back();
      reach(step);
    }
    return collect();
  }

 private:
  [[nodiscard]] const Step& step_of(StepNumber number) const {
    const Rank rank = owner_[number];
    return schedule_.programs[static_cast<std::size_t>(rank)].steps[number - first_[static_cast<std::size_t>(rank)]];
  }

  void order(StepNumber before, StepNumber after) {
    after_[before].push_back(after);
    ++waits_[after];
  }

  void number_steps() {
    for (std::size_t rank = 0; rank < schedule_.programs.size(); ++rank) {
      const Program& program = schedule_.programs[rank];
      std::map<std::uint16_t, StepNumber> last_of_lane;
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const Step& step = program.steps[i];
        const StepNumber number = first_[rank] + static_cast<StepNumber>(i);
        owner_[number] = static_cast<Rank>(rank);
        for (const Dep& dep : program.deps_of(step)) order(first_[rank] + dep.step, number);
        const auto [last, fresh] = last_of_lane.try_emplace(step.lane, number);
        if (!fresh) order(std::exchange(last->second, number), number);
      }
    }
  }

  /// The n-th send meets the n-th receive of the same two ranks and channel.
  void pair() {
    std::map<std::tuple<Rank, Rank, std::uint16_t>, std::pair<std::vector<StepNumber>, std::vector<StepNumber>>> ports;
    for (StepNumber number = 0; number < total_; ++number) {
      const Step& step = step_of(number);
      if (is_send(step.op)) ports[{owner_[number], step.peer, step.channel}].first.push_back(number);
      if (is_receive(step.op)) ports[{step.peer, owner_[number], step.channel}].second.push_back(number);
    }
    for (const auto& [port, ends] : ports)
      for (std::size_t i = 0; i < std::min(ends.first.size(), ends.second.size()); ++i) {
        partner_[ends.first[i]] = ends.second[i];
        partner_[ends.second[i]] = ends.first[i];
      }
  }

  void reach(StepNumber number) {
    reached_[number] = true;
    if (is_local(step_of(number).op)) {
      finish(number);
      return;
    }
    const StepNumber partner = partner_[number];
    if (partner == nobody || !reached_[partner]) return;
    round_[number] = round_[partner] = std::max(round_[number], round_[partner]) + 1;
    finish(number);
    finish(partner);
  }

  void finish(StepNumber number) {
    for (const StepNumber next : after_[number]) {
      round_[next] = std::max(round_[next], round_[number]);
      if (--waits_[next] == 0) ready_.push_back(next);
    }
  }

  MessageRounds collect() const {
    MessageRounds result;
    std::uint32_t ends = 0;
    for (StepNumber number = 0; number < total_; ++number) {
      const Step& step = step_of(number);
      if (!is_local(step.op)) ++ends;
      const StepNumber partner = partner_[number];
      if (!is_send(step.op) || partner == nobody || !reached_[number] || !reached_[partner]) continue;
      const Rank from = owner_[number], to = owner_[partner];
      result.messages.push_back({from, to, step.channel, number - first_[static_cast<std::size_t>(from)],
                                 partner - first_[static_cast<std::size_t>(to)], data_first(step, schedule_.chunks), step.count,
                                 step_of(partner).op == Op::recv_reduce, round_[number]});
      result.rounds = std::max(result.rounds, round_[number]);
    }
    result.unplaced = ends - 2 * static_cast<std::uint32_t>(result.messages.size());
    std::ranges::stable_sort(result.messages, {}, &Message::round);
    return result;
  }

  const Schedule& schedule_;
  StepNumber total_ = 0;
  std::vector<StepNumber> first_;    // by rank
  std::vector<Rank> owner_;          // by step
  std::vector<StepNumber> partner_;  // by step; nobody: none
  std::vector<std::uint32_t> waits_;
  std::vector<int> round_;
  std::vector<bool> reached_;  // waits for nothing but its partner
  std::vector<std::vector<StepNumber>> after_;
  std::vector<StepNumber> ready_;
};

}  // namespace

MessageRounds message_rounds(const Schedule& schedule) {
  if (!check_structure(schedule).ok()) return {};
  return Rounds(schedule).find();
}

}  // namespace toric
