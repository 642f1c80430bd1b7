// A schedule's steps, numbered through all ranks, and what waits for what. Internal to the layer.
#pragma once

#include "toric/base.hpp"
#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace toric::simulation {

using StepId = std::uint32_t;
inline constexpr StepId no_step = UINT32_MAX;

/// What the sends from one rank to another on one channel leave by.
struct Port {
  Rank from = 0, to = 0;
  std::uint16_t channel = 0;
};

/// For each step a list of others, in two flat arrays.
struct StepLists {
  std::vector<std::uint64_t> from;  // by step, and one more at the end: where its list begins
  std::vector<StepId> all;

  [[nodiscard]] std::span<const StepId> of(StepId id) const { return std::span(all).subspan(from[id], from[id + 1] - from[id]); }
};

/// Flat arrays: a schedule for thousands of ranks has millions of steps. Waiting is of two kinds. Where a step overwrites
/// what a send reads, the two may go on together, position by position: it begins no sooner than the send, and ends no sooner.
/// All else waits for the other's end.
struct StepGraph {
  std::vector<StepId> first;         // by rank: its step 0; and one more at the end
  std::vector<Rank> rank;            // by step
  std::vector<std::uint32_t> waits;  // by step: how many others must have ended (sends it overwrites: begun) before it begins
  std::vector<std::uint32_t> holds;  // by step: how many sends it overwrites must have ended before it ends
  StepLists after, beside;           // by step: those that wait for its end; those that overwrite what this send reads
  std::vector<StepId> partner;       // by step: the other end of its message; no_step: it is local
  std::vector<std::uint32_t> port;   // by step: of its message; UINT32_MAX: it is local
  std::vector<Port> ports;
  std::vector<StepId> later;  // by step, where fifo > 0: the receive that takes this receive's place in the buffer

  [[nodiscard]] StepId steps() const { return first.back(); }
};

/// Refuses what is not well formed and sends without receives.
Result<StepGraph> graph_of(const Schedule& schedule);

/// "step 3 of rank 0, a send to rank 1 on channel 0"
[[nodiscard]] std::string describe(const Schedule& schedule, const StepGraph& graph, StepId id);

[[nodiscard]] inline const Step& step_of(const Schedule& schedule, const StepGraph& graph, StepId id) {
  const auto rank = static_cast<std::size_t>(graph.rank[id]);
  return schedule.programs[rank].steps[id - graph.first[rank]];
}

/// How many bytes a step moves. Chunks have the lengths of extent_of at the count that the API would be called with.
class StepBytes {
 public:
  StepBytes(const Schedule& schedule, std::uint64_t bytes, std::size_t element);
  [[nodiscard]] double of(const Step& step) const {
    const std::uint32_t first = data_first(step, static_cast<std::uint32_t>(before_.size() - 1));
    return static_cast<double>(before_[first + step.count] - before_[first]);
  }

 private:
  std::vector<std::uint64_t> before_;  // bytes of the chunks before each, in the schedule's order
};

}  // namespace toric::simulation
