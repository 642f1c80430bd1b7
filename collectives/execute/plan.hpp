// A plan is a schedule's one program made ready for one rank on one transport: ports resolved, chunk runs and fusion
// marks computed. It is immutable; what changes while it runs is the Executor's.
#pragma once

#include "toric/base.hpp"
#include "toric/ir/schedule.hpp"
#include "toric/transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace toric {

/// Decided by the communicator, the same on every rank: it changes the messages.
struct PlanOptions {
  std::size_t segment_bytes = 64 * 1024;  // no more than the transport's
  std::size_t window_bytes = 0;           // slice of the call's `count` elements that a window covers; 0: one window
};

inline constexpr std::uint32_t no_step = UINT32_MAX;

struct PlanStep {
  Port port = 0;
  std::uint32_t port_index = 0;        // the same port counted from 0 within this plan
  std::uint32_t data = 0;              // data_first() of the step
  std::uint32_t lane = 0;              // index into Plan::lanes
  std::uint32_t fused_with = no_step;  // a receive: the send (or copy into output) that may be served from the same bytes
  bool dead_if_fused = false;          // its destination has no other reader, so it need not be written then
  bool final_write = false;            // what it writes into output stays: nobody here reads or overwrites it
};

struct Plan {
  Schedule schedule;  // programs[rank] is what runs
  Rank rank = 0;
  std::string algorithm;
  PlanOptions options;
  std::vector<PlanStep> steps;
  std::vector<std::vector<std::uint32_t>> lanes;  // steps of each lane, in order
  std::vector<std::uint32_t> scratch_index;       // scratch slot -> compact index, UINT32_MAX: not named by this rank
  std::uint32_t scratch_used = 0;
  std::uint32_t port_count = 0;
  std::shared_ptr<const char> identity;  // differs between plans as long as anyone holds it
  [[nodiscard]] const Program& program() const { return schedule.programs[static_cast<std::size_t>(rank)]; }
};

/// Resolves ports (which makes the rings) and computes the marks. `schedule` must have passed check_structure.
Result<Plan> bind_plan(Schedule schedule, Rank rank, std::string algorithm, Transport& transport, const PlanOptions& options);

}  // namespace toric
