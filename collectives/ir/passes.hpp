// Passes: schedule in, schedule out, after the builder and before the verifier ("verify what runs").
#pragma once

#include "toric/ir/schedule.hpp"

namespace toric {

/// Repeats the program `pieces` times, stage by stage, piece q on the q-th part of every chunk, on channels and lanes shifted
/// by q times what one piece uses, so that pieces overlap. Chunk q*n + c of the result is part q of chunk c. pieces >= 1.
Result<Schedule> split_into_pieces(const Schedule& schedule, std::uint32_t pieces);

/// Drops dependencies that lane order or other dependencies imply over the whole overlap of the two ends.
void drop_implied_deps(Schedule& schedule);

}  // namespace toric
