// A topology with the messages of one round.
#pragma once

#include "toric/draw/message_rounds.hpp"
#include "toric/ir/schedule.hpp"
#include "toric/topology/shape.hpp"
#include "toric/topology/topology.hpp"

#include <string>

namespace toric {

/// SVG. `round` counts from 1 to message_rounds(schedule).rounds; for others the picture says that there is none. Messages
/// of one round with the same ends and channel are one arrow: a group of class "message" with data-from, data-to,
/// data-channel and data-count. Messages to or from ranks that the picture leaves out are counted below it.
[[nodiscard]] std::string draw_rounds(const Schedule& schedule, const Topology& topology, const Shape& shape, int round);

}  // namespace toric
