// Kernels of the integers. Everything wraps, so signed sums and products are those of the unsigned type.
#include "toric/execute/reduce_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "toric/execute/reduce_integer.cpp"
#include "hwy/foreach_target.h"  // includes this file once for each instruction set

#include "toric/execute/reduce_loops-inl.hpp"
#include "toric/execute/reduce_plain.hpp"

HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

TypeKernels integer_kernels(DataType type) { return plain_kernels(type); }

#else

struct AddWrapping {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
};

// Highway multiplies 16- and 32-bit lanes; the others are put together from those.
template <class D, class V>
HWY_INLINE V multiply8(D d, V a, V b) {
  const hn::Repartition<std::uint16_t, D> pairs;
  const auto a16 = hn::BitCast(pairs, a), b16 = hn::BitCast(pairs, b);
  const auto even = hn::And(hn::Mul(a16, b16), hn::Set(pairs, std::uint16_t{0x00ff}));
  const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
  return hn::BitCast(d, hn::Or(even, hn::ShiftLeft<8>(odd)));
}

template <class D, class V>
HWY_INLINE V multiply64(D, V a, V b) {
  const hn::Repartition<std::uint32_t, D> halves;
  const auto low = [halves](V v) HWY_ATTR { return hn::BitCast(halves, v); };
  const auto high = [halves](V v) HWY_ATTR { return hn::BitCast(halves, hn::ShiftRight<32>(v)); };
  const V cross = hn::Add(hn::MulEven(high(a), low(b)), hn::MulEven(low(a), high(b)));
  return hn::Add(hn::MulEven(low(a), low(b)), hn::ShiftLeft<32>(cross));
}

struct MultiplyWrapping {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      return multiply8(d, a, b);
    } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
      return multiply64(d, a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
};

struct Largest {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Max(a, b);
  }
};

struct Smallest {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Min(a, b);
  }
};

/// Truncates towards zero. Floating point is exact here and has vectors: a quotient of integers that is no integer is
/// further from one than the type's rounding, and a divisor too large for float is beyond every 8-bit value.
template <class T>
void divide_integers(std::byte* dst, std::size_t elements, Rank ranks, KernelQueue) {
  using Through = std::conditional_t<sizeof(T) == 1, float, std::conditional_t<sizeof(T) == 4, double, T> >;
  const auto divisor = static_cast<Through>(ranks);
  for (std::size_t i = 0; i < elements; ++i) {
    T value;
    std::memcpy(&value, dst + i * sizeof(T), sizeof(T));
    value = static_cast<T>(static_cast<Through>(value) / divisor);
    std::memcpy(dst + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
TypeKernels kernels_of() {
  using Wrapping = std::make_unsigned_t<T>;
  return {.sum = reduce_with<Wrapping, AddWrapping>,
          .prod = reduce_with<Wrapping, MultiplyWrapping>,
          .max = reduce_with<T, Largest>,
          .min = reduce_with<T, Smallest>,
          .scale = scale_with<Wrapping, MultiplyWrapping>,
          .divide = divide_integers<T>};
}

TypeKernels integer_kernels(DataType type) {
  switch (type) {
    case DataType::int8:
      return kernels_of<std::int8_t>();
    case DataType::uint8:
      return kernels_of<std::uint8_t>();
    case DataType::int32:
      return kernels_of<std::int32_t>();
    case DataType::uint32:
      return kernels_of<std::uint32_t>();
    case DataType::int64:
      return kernels_of<std::int64_t>();
    default:
      return kernels_of<std::uint64_t>();
  }
}

#endif

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace toric {

HWY_EXPORT(integer_kernels);
TypeKernels integer_kernels(DataType type) { return HWY_DYNAMIC_DISPATCH(integer_kernels)(type); }

}  // namespace toric
#endif
