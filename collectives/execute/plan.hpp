// A plan is a schedule's one program made ready for one rank on one transport: ports resolved, chunk runs and fusion
// marks computed. It is immutable; what changes while it runs is the Executor's.
#pragma once

#include "toric/base.hpp"
#include "toric/ir/schedule.hpp"
#include "toric/transport.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace toric {

/// Decided by the communicator, the same on every rank: it changes the messages.
struct PlanOptions {
  std::size_t segment_bytes = 64 * 1024;  // no more than the transport's
  std::size_t window_bytes = 0;           // slice of the vector a window covers; 0: one window
};

struct PlanStep {
  Port port = 0;
  std::uint32_t fused_with = UINT32_MAX;  // a receive: the send (or output copy) that may be served from the same bytes
  bool dead_if_fused = false;             // its destination has no other reader, so it need not be written then
  std::uint32_t order = 0;                // (piece, step), for transports that queue
};

struct Plan {
  Schedule schedule;  // programs[rank] alone is filled
  Rank rank = 0;
  std::string algorithm;
  PlanOptions options;
  std::vector<PlanStep> steps;
  std::vector<std::vector<std::uint32_t>> lanes;    // steps of each lane, in order
  std::vector<std::uint32_t> scratch_index;         // scratch slot -> compact index, UINT32_MAX: not named by this rank
  std::uint32_t scratch_used = 0;
  [[nodiscard]] const Program& program() const { return schedule.programs[static_cast<std::size_t>(rank)]; }
};

/// Resolves ports (which makes the rings) and computes the marks. `schedule` must have passed check_structure.
Result<Plan> bind_plan(Schedule schedule, Rank rank, std::string algorithm, Transport& transport, const PlanOptions& options);

}  // namespace toric
