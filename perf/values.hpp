// What ranks put in, and what must come out. Inputs are chosen so that every partial result is exact in the type whatever
// the order of the operands; only averages are compared with a tolerance of one rounding.
#pragma once

#include "toric/base.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace toric::perf {

/// `op`'s operand of `rank` at `element`, as a number.
double input_value(DataType type, RedOp op, Rank ranks, Rank rank, std::uint64_t element);
/// The factor of `rank` for mulsum.
double pre_mul_factor(Rank rank);
/// The reduced value at `element`.
double reduced_value(DataType type, RedOp op, Rank ranks, std::uint64_t element);

/// A number in the type's own bits (the nearest, ties to even), and back.
std::uint64_t encode(DataType type, double value);
double decode(DataType type, std::uint64_t bits);

/// Elements repeat with this period, so that checking large buffers stays fast.
inline constexpr std::uint64_t period = 1021;

void fill_input(std::byte* to, DataType type, RedOp op, Rank ranks, Rank rank, std::uint64_t first, std::uint64_t count);
/// How many of the `count` elements differ from the reduced values of elements first ….
std::uint64_t count_wrong_reduced(const std::byte* at, DataType type, RedOp op, Rank ranks, std::uint64_t first, std::uint64_t count);
/// How many differ from what `owner` put in.
std::uint64_t count_wrong_moved(const std::byte* at, DataType type, Rank ranks, Rank owner, std::uint64_t first, std::uint64_t count);

}  // namespace toric::perf
