// Reduction and copy kernels for host memory: every NCCL type and operator, run-time dispatched SIMD, cached or
// streaming stores. 16-bit and 8-bit floats are computed in fp32 and rounded once (nearest even) per step.
// All ranks must end bitwise equal whatever the operand order: min and max order -0 below +0, any NaN operand gives the
// canonical quiet NaN, and sums and products canonicalise NaN results. Integers wrap.
#pragma once

#include "toric/base.hpp"
#include "toric/transport.hpp"  // Store

#include <cstddef>
#include <cstdint>

namespace toric {

/// A device's queue; null on the host, where kernels are done when they return.
using KernelQueue = void*;

/// A pre-multiplication scalar in the data type's own representation.
struct Scalar {
  alignas(8) std::byte bytes[8] = {};
};

/// dst[i] = left[i] (+) right[i]. dst may be left or right or apart from them, never partly overlapping.
/// Any alignment of the element type or less. `also` (second destination) is written too when not null.
struct ReduceArgs {
  std::byte* dst;
  std::byte* also;
  const std::byte* left;
  const std::byte* right;
  std::size_t elements;
  Store store;       // how dst is written
  Store also_store;  // how also is written
};

/// Kernels of one (type, operator); avg reduces as sum, pre_mul_sum as sum (see scale).
struct Kernels {
  void (*reduce)(const ReduceArgs&, KernelQueue);
  /// dst = src * factor, rounded once; dst may be src. For pre_mul_sum, where input is read. Null for other operators.
  void (*scale)(std::byte* dst, const std::byte* src, std::size_t elements, Scalar factor, KernelQueue);
  /// dst = dst / ranks, in place, for avg on the complete value (integers: truncated). Null for other operators.
  void (*divide)(std::byte* dst, std::size_t elements, Rank ranks, KernelQueue);
};
[[nodiscard]] const Kernels& kernels_for(DataType type, RedOp op);

/// Copies `bytes`; regions are apart or the same. `also` (may be null) is a second destination.
void copy_bytes(std::byte* dst, std::byte* also, const std::byte* src, std::size_t bytes, Store store, Store also_store);

/// Orders earlier streaming stores before later stores.
void fence_streamed();

}  // namespace toric
