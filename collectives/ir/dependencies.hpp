// Dependencies from what steps read and write. Internal to the layer.
#pragma once

#include "toric/ir/schedule.hpp"

namespace toric {

/// Replaces the program's dependencies by those its steps need to have the effect of running them one after the other,
/// chunk by chunk: a read waits for the last writer, a write for the readers since then (or the last writer if there are none).
/// input[c] and output[c] are one place, so that the result is right with both apart and with both the same.
/// A copy from input[c] to output[c] changes nothing where they are one place, so readers of input and it do not wait for
/// each other. What lane order already gives is left out.
void find_dependencies(Program& program, std::uint32_t chunks);

}  // namespace toric
