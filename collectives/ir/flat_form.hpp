// The flat form: one block of bytes with offsets instead of pointers, for files, other processes and GPU kernels.
// Header {magic, version, ...}, then a table of programs, steps, deps, place; little endian, 64-byte aligned parts.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace toric {

[[nodiscard]] std::vector<std::byte> to_flat(const Schedule& schedule);
/// Any bytes may be given: sizes and offsets are checked before use, and the result has passed check_structure.
Result<Schedule> from_flat(std::span<const std::byte> bytes);

}  // namespace toric
