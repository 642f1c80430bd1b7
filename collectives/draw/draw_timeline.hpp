// A schedule over simulated time.
#pragma once

#include "toric/ir/schedule.hpp"
#include "toric/simulate/simulator.hpp"

#include <string>

namespace toric {

/// SVG, from a simulation of this schedule with `timeline` asked for. A row for each lane of each rank, by rank and lane, up
/// to 48; how many more there are is said below. A box for each step of these rows: a group of class "transfer" with
/// data-rank, data-step, data-begin and data-end (seconds).
[[nodiscard]] std::string draw_timeline(const Schedule& schedule, const Simulation& simulation);

}  // namespace toric
