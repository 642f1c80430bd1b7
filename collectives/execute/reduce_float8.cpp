// Kernels of the 8-bit floats.
#include "toric/execute/reduce_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "toric/execute/reduce_float8.cpp"
#include "hwy/foreach_target.h"  // includes this file once for each instruction set

#include "toric/execute/reduce_floats-inl.hpp"
#include "toric/execute/reduce_plain.hpp"

HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

TypeKernels narrow_float_kernels(DataType type) { return plain_kernels(type); }

#else

TypeKernels narrow_float_kernels(DataType type) {
  return type == DataType::float8e4m3 ? small_float_kernels<Float8E4M3>() : small_float_kernels<Float8E5M2>();
}

#endif

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace toric {

HWY_EXPORT(narrow_float_kernels);
TypeKernels narrow_float_kernels(DataType type) { return HWY_DYNAMIC_DISPATCH(narrow_float_kernels)(type); }

}  // namespace toric
#endif
