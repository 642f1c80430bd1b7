// What the floating-point kernels share: formats, the total order of min and max, and arithmetic through fp32.
// Included once for each instruction set, by Highway's foreach_target.
#if defined(TORIC_EXECUTE_REDUCE_FLOATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORIC_EXECUTE_REDUCE_FLOATS_INL
#undef TORIC_EXECUTE_REDUCE_FLOATS_INL
#else
#define TORIC_EXECUTE_REDUCE_FLOATS_INL
#endif

#include "toric/execute/reduce_formats.hpp"
#include "toric/execute/reduce_loops-inl.hpp"

#include <bit>
#include <utility>

#if HWY_TARGET != HWY_SCALAR  // there the plain kernels serve
HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

/// Integers in the order of the numbers they encode, -0 below +0. Its own inverse.
template <class D, class V>
HWY_INLINE V order_key(D d, V v) {
  return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, hwy::LimitsMax<hn::TFromD<D>>())));
}

template <class F, bool take_max>
struct Extreme {
  static constexpr std::size_t unroll = 4;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const auto magnitude = hn::Set(d, hwy::LimitsMax<typename F::Bits>());
    const auto is_nan = hn::Gt(hn::Max(hn::And(a, magnitude), hn::And(b, magnitude)), hn::Set(d, F::largest_number));
    const V key_a = order_key(d, a), key_b = order_key(d, b);
    const V chosen = order_key(d, take_max ? hn::Max(key_a, key_b) : hn::Min(key_a, key_b));
    return hn::IfThenElse(is_nan, hn::Set(d, F::canonical), chosen);
  }
};

// Operators on float and double lanes. Operand order can show only in a NaN, which the caller makes canonical.
struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Add(a, b);
  }
};
struct Multiply {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct Divide {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};
struct DivideBy {
  float divisor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V) const {
    return hn::Div(a, hn::Set(d, divisor));
  }
};

// --- small formats, one to a 32-bit lane ------------------------------------------------------------------------------

template <int bits, class V>
HWY_INLINE V shift_right_logical(V v) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> unsigned_lanes;
  return hn::BitCast(d, hn::ShiftRight<bits>(hn::BitCast(unsigned_lanes, v)));
}

/// Exact. Never computes with a subnormal, so that a thread which flushes them gets the same.
template <class F, class D, class V>
HWY_INLINE hn::Vec<hn::RebindToFloat<D>> decode(D d, V code) {
  const hn::RebindToFloat<D> floats;
  if constexpr (F::exponent_bits == 8) {
    return hn::BitCast(floats, hn::ShiftLeft<16>(code));
  } else {
    constexpr int code_bits = F::exponent_bits + F::mantissa_bits;
    constexpr std::int32_t one = 1 << 23, rebias = (127 - F::bias) * one;
    const V magnitude = hn::And(code, hn::Set(d, (1 << code_bits) - 1));
    const V shifted = hn::ShiftLeft<23 - F::mantissa_bits>(magnitude);
    const V normal = hn::Add(shifted, hn::Set(d, rebias));
    const auto least = hn::BitCast(floats, hn::Set(d, rebias + one));
    const V subnormal = hn::BitCast(d, hn::Sub(hn::BitCast(floats, hn::Add(normal, hn::Set(d, one))), least));
    const V finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 1 << F::mantissa_bits)), subnormal, normal);
    const auto is_special = hn::Gt(magnitude, hn::Set(d, F::has_infinity ? F::largest_number - 1 : +F::largest_number));
    const V result = hn::IfThenElse(is_special, hn::Or(shifted, hn::Set(d, 0x7f800000)), finite);
    const V sign = hn::ShiftLeft<31 - code_bits>(hn::And(code, hn::Set(d, 1 << code_bits)));
    return hn::BitCast(floats, hn::Or(result, sign));
  }
}

/// Rounds to nearest even, once. Any NaN becomes the canonical one.
template <class F, class D, class V>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> encode(D floats, V value) {
  const hn::RebindToSigned<D> d;
  constexpr int shift = 23 - F::mantissa_bits, code_bits = F::exponent_bits + F::mantissa_bits;
  const auto bits = hn::BitCast(d, value);
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffff));
  const auto odd = hn::And(hn::ShiftRight<shift>(magnitude), hn::Set(d, 1));
  const auto nudged = hn::Add(magnitude, hn::Add(odd, hn::Set(d, (1 << (shift - 1)) - 1)));
  auto code = hn::Sub(shift_right_logical<shift>(nudged), hn::Set(d, (127 - F::bias) << F::mantissa_bits));
  if constexpr (F::exponent_bits < 8) {
    // Below the format's normal numbers: adding a number whose last place is the format's smallest step rounds to it.
    const auto step = hn::Set(d, (127 + 24 - F::bias - F::mantissa_bits) << 23);
    const auto sum = hn::Add(hn::BitCast(floats, magnitude), hn::BitCast(floats, step));
    const auto subnormal = hn::Sub(hn::BitCast(d, sum), step);
    code = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, (128 - F::bias) << 23)), subnormal, code);
    code = hn::Min(code, hn::Set(d, +F::overflow_to));
  }
  const auto sign = shift_right_logical<31 - code_bits>(hn::And(bits, hn::Set(d, hwy::LimitsMin<std::int32_t>())));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7f800000)), hn::Set(d, +F::canonical), hn::Or(code, sign));
}

template <class F, class D, class Operator, class V, std::size_t... k>
HWY_INLINE V through_float_lanes(D d, const Operator& op, V a, V b, std::index_sequence<k...>) {
  constexpr int width = 8 * sizeof(typename F::Bits);
  const hn::RebindToFloat<D> floats;
  const V mask = hn::Set(d, (1 << width) - 1);
  V result = hn::Zero(d);
  ((result = hn::Or(result, hn::ShiftLeft<k * width>(
                                hn::And(mask, encode<F>(floats, op(floats, decode<F>(d, hn::And(mask, shift_right_logical<k * width>(a))),
                                                                   decode<F>(d, hn::And(mask, shift_right_logical<k * width>(b))))))))),
   ...);
  return result;
}

/// op(a, b) for packed small floats, computed in fp32.
template <class F, class D, class Operator, class V>
HWY_INLINE V through_float(D d, const Operator& op, V a, V b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<F, Float16>) {  // the processor converts
    const hn::Repartition<float, D> floats;
    const hn::Rebind<hwy::float16_t, decltype(floats)> halves;
    const hn::Half<D> half;
    const auto make_canonical = [floats](auto v) HWY_ATTR {
      return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(floats, hn::Set(hn::RebindToSigned<decltype(floats)>(), Float32::canonical)), v);
    };
    const auto low = op(floats, hn::PromoteTo(floats, hn::BitCast(halves, hn::LowerHalf(half, a))),
                        hn::PromoteTo(floats, hn::BitCast(halves, hn::LowerHalf(half, b))));
    const auto high = op(floats, hn::PromoteTo(floats, hn::BitCast(halves, hn::UpperHalf(half, a))),
                         hn::PromoteTo(floats, hn::BitCast(halves, hn::UpperHalf(half, b))));
    return hn::Combine(d, hn::BitCast(half, hn::DemoteTo(halves, make_canonical(high))),
                       hn::BitCast(half, hn::DemoteTo(halves, make_canonical(low))));
  }
#endif
  const hn::Repartition<std::int32_t, D> lanes;
  return hn::BitCast(d, through_float_lanes<F>(lanes, op, hn::BitCast(lanes, a), hn::BitCast(lanes, b),
                                               std::make_index_sequence<4 / sizeof(typename F::Bits)>()));
}

template <class F, class D, class Operator, class V>
HWY_NOINLINE V through_float_apart(D d, const Operator& op, V a, V b) {
  return through_float<F>(d, op, a, b);
}

// Short vectors occur many times in the code, wide ones once, in the loop.
template <class F, class D, class Operator, class V>
HWY_INLINE V through_float_anywhere(D d, const Operator& op, V a, V b) {
  if constexpr (std::is_same_v<D, ShortTag<typename F::Bits>>) {
    return through_float_apart<F>(d, op, a, b);
  } else {
    return through_float<F>(d, op, a, b);
  }
}

template <class F, class Operator>
struct SmallFloat {
  static constexpr std::size_t unroll = 1;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    return through_float_anywhere<F>(d, Operator(), a, b);
  }
};

template <class F>
struct QuotientSource {
  static constexpr std::size_t unroll = 1;
  const std::byte* source;
  float divisor;
  template <std::size_t width, class D>
  HWY_INLINE hn::Vec<D> at(D d, std::size_t offset) const {
    const auto v = load<width>(d, source + offset);
    return through_float_anywhere<F>(d, DivideBy{divisor}, v, v);
  }
};

template <class F>
void divide_small(std::byte* dst, std::size_t elements, Rank ranks, KernelQueue) {
  using Bits = typename F::Bits;
  run<Bits>(QuotientSource<F>{dst, static_cast<float>(ranks)}, Destinations{dst, nullptr, Store::cached, Store::cached},
            elements * sizeof(Bits));
}

template <class F>
TypeKernels small_float_kernels() {
  using Bits = typename F::Bits;
  return {.sum = reduce_with<Bits, SmallFloat<F, Add>>,
          .prod = reduce_with<Bits, SmallFloat<F, Multiply>>,
          .max = reduce_with<Bits, Extreme<F, true>>,
          .min = reduce_with<Bits, Extreme<F, false>>,
          .scale = scale_with<Bits, SmallFloat<F, Multiply>>,
          .divide = divide_small<F>};
}

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // TORIC_EXECUTE_REDUCE_FLOATS_INL
