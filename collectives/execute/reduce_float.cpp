// Kernels of float32 and float64.
#include "toric/execute/reduce_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "toric/execute/reduce_float.cpp"
#include "hwy/foreach_target.h"  // includes this file once for each instruction set

#include "toric/execute/reduce_floats-inl.hpp"
#include "toric/execute/reduce_plain.hpp"

HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

TypeKernels wide_float_kernels(DataType type) { return plain_kernels(type); }

#else

template <class F, class Operator>
struct Canonical {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V result = Operator()(d, a, b);
    return hn::IfThenElse(hn::IsNaN(result), hn::BitCast(d, hn::Set(hn::RebindToSigned<D>(), F::canonical)), result);
  }
};

template <class T, class F>
void divide_wide(std::byte* dst, std::size_t elements, Rank ranks, KernelQueue) {
  run<T>(ConstantSource<Canonical<F, Divide>, T>{dst, static_cast<T>(ranks)}, Destinations{dst, nullptr, Store::cached, Store::cached},
         elements * sizeof(T));
}

template <class T, class F>
TypeKernels kernels_of() {
  using Bits = typename F::Bits;
  return {.sum = reduce_with<T, Canonical<F, Add> >,
          .prod = reduce_with<T, Canonical<F, Multiply> >,
          .max = reduce_with<Bits, Extreme<F, true> >,
          .min = reduce_with<Bits, Extreme<F, false> >,
          .scale = scale_with<T, Canonical<F, Multiply> >,
          .divide = divide_wide<T, F>};
}

TypeKernels wide_float_kernels(DataType type) {
  return type == DataType::float32 ? kernels_of<float, Float32>() : kernels_of<double, Float64>();
}

#endif

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace toric {

HWY_EXPORT(wide_float_kernels);
TypeKernels wide_float_kernels(DataType type) { return HWY_DYNAMIC_DISPATCH(wide_float_kernels)(type); }

}  // namespace toric
#endif
