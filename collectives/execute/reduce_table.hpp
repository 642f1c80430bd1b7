// Private to the kernels: what one type's kernels are, and the table of all of them. Built for the best instruction set
// that Highway finds at that moment, so that a test can build one for each.
#pragma once

#include "toric/execute/reduce.hpp"

#include <array>

namespace toric {

struct TypeKernels {
  using Reduce = decltype(Kernels::reduce);
  Reduce sum = nullptr, prod = nullptr, max = nullptr, min = nullptr;
  decltype(Kernels::scale) scale = nullptr;
  decltype(Kernels::divide) divide = nullptr;
};

[[nodiscard]] TypeKernels integer_kernels(DataType type);
[[nodiscard]] TypeKernels wide_float_kernels(DataType type);    // float32, float64
[[nodiscard]] TypeKernels half_float_kernels(DataType type);    // float16, bfloat16
[[nodiscard]] TypeKernels narrow_float_kernels(DataType type);  // float8e4m3, float8e5m2

using KernelTable = std::array<std::array<Kernels, red_op_count>, data_type_count>;
[[nodiscard]] KernelTable build_kernel_table();

/// Streaming stores only: dst is 64-byte aligned, bytes a multiple of 64, the regions are apart.
using CopyLines = void (*)(std::byte* dst, const std::byte* src, std::size_t bytes, Store store);
[[nodiscard]] CopyLines copy_lines_kernel();

}  // namespace toric
