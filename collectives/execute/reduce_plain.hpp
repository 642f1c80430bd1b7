// The kernels in plain C++, an element at a time, for processors without vectors that we use. Streaming is a wish that
// these do not grant. Same results as the vector kernels, bit for bit.
#pragma once

#include "toric/execute/reduce_table.hpp"

namespace toric {

[[nodiscard]] TypeKernels plain_kernels(DataType type);

}  // namespace toric
