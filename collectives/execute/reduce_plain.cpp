#include "toric/execute/reduce_plain.hpp"

#include "toric/execute/reduce_formats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

namespace toric {

namespace {

template <class T>
T get(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void put(std::byte* to, std::size_t i, T value) {
  std::memcpy(to + i * sizeof(T), &value, sizeof(T));
}

template <class F>
float decode_slowly(std::uint32_t code) {
  constexpr int code_bits = F::exponent_bits + F::mantissa_bits;
  const std::uint32_t sign = (code >> code_bits) << 31, magnitude = code & ((1u << code_bits) - 1);
  if (static_cast<std::int32_t>(magnitude) > F::largest_number) return std::bit_cast<float>(std::uint32_t{Float32::canonical});
  if (F::has_infinity && static_cast<std::int32_t>(magnitude) == F::largest_number) return std::bit_cast<float>(sign | 0x7f800000u);
  const std::uint32_t exponent = magnitude >> F::mantissa_bits, fraction = magnitude & ((1u << F::mantissa_bits) - 1);
  float value = static_cast<float>(exponent == 0 ? fraction : fraction + (1u << F::mantissa_bits));
  for (int e = (exponent == 0 ? 1 : static_cast<int>(exponent)) - F::bias - F::mantissa_bits; e != 0; e += e < 0 ? 1 : -1)
    value = e < 0 ? value * 0.5f : value * 2.0f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

template <class F>
std::array<float, 256> decode_table() {
  std::array<float, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = decode_slowly<F>(code);
  return table;
}

template <class F>
float decode(std::make_unsigned_t<typename F::Bits> code) {
  if constexpr (F::exponent_bits == 8) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  } else if constexpr (sizeof(code) == 1) {
    static const std::array<float, 256> table = decode_table<F>();
    return table[code];
  } else {
    return decode_slowly<F>(code);
  }
}

/// Rounds to nearest even, once.
template <class F>
std::make_unsigned_t<typename F::Bits> encode(float value) {
  using Code = std::make_unsigned_t<typename F::Bits>;
  constexpr int shift = 23 - F::mantissa_bits, code_bits = F::exponent_bits + F::mantissa_bits;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<Code>(F::canonical);
  std::uint32_t code = 0;
  if (F::exponent_bits < 8 && magnitude < (static_cast<std::uint32_t>(128 - F::bias) << 23)) {
    constexpr std::uint32_t step = static_cast<std::uint32_t>(127 + 24 - F::bias - F::mantissa_bits) << 23;
    code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(step)) - step;
  } else {
    code = (magnitude + ((magnitude >> shift) & 1u) + ((1u << (shift - 1)) - 1)) >> shift;
    code = std::min(code - (static_cast<std::uint32_t>(127 - F::bias) << F::mantissa_bits), static_cast<std::uint32_t>(F::overflow_to));
  }
  return static_cast<Code>(code | ((bits >> 31) << code_bits));
}

// Arithmetic on one element; float results that are NaN become the canonical one.

template <class T>
struct Number {
  using Stored = T;
  static T load(T v) { return v; }
  static T store(T v) { return v; }
};

template <class T, class F>
struct WideFloat {
  using Stored = T;
  static T load(T v) { return v; }
  static T store(T v) { return v == v ? v : std::bit_cast<T>(F::canonical); }
};

template <class F>
struct NarrowFloat {
  using Stored = std::make_unsigned_t<typename F::Bits>;
  static float load(Stored v) { return decode<F>(v); }
  static Stored store(float v) { return encode<F>(v); }
};

struct Add {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a + b); }
};
struct Multiply {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a * b); }
};

template <class N, class Operator>
struct Computed {
  using T = typename N::Stored;
  static T apply(T a, T b) { return N::store(Operator()(N::load(a), N::load(b))); }
};

template <class T_, bool take_max>
struct ExtremeInteger {
  using T = T_;
  static T apply(T a, T b) { return take_max ? std::max(a, b) : std::min(a, b); }
};

template <class F, bool take_max>
struct ExtremeFloat {
  using T = typename F::Bits;
  static T order_key(T v) { return static_cast<T>(v < 0 ? v ^ magnitude : v); }
  static T apply(T a, T b) {
    if (std::max<T>(a & magnitude, b & magnitude) > F::largest_number) return F::canonical;
    return take_max == (order_key(a) > order_key(b)) ? a : b;
  }
  static constexpr T magnitude = std::numeric_limits<T>::max();
};

// --- loops -------------------------------------------------------------------------------------------------------------

template <class Operator>
void reduce(const ReduceArgs& args, KernelQueue) {
  using T = typename Operator::T;
  for (std::size_t i = 0; i < args.elements; ++i) {
    const T result = Operator::apply(get<T>(args.left, i), get<T>(args.right, i));
    put(args.dst, i, result);
    if (args.also != nullptr) put(args.also, i, result);
  }
}

template <class Operator>
void scale(std::byte* dst, const std::byte* src, std::size_t elements, Scalar factor, KernelQueue) {
  using T = typename Operator::T;
  const T value = get<T>(factor.bytes, 0);
  for (std::size_t i = 0; i < elements; ++i) put(dst, i, Operator::apply(get<T>(src, i), value));
}

template <class N>
void divide(std::byte* dst, std::size_t elements, Rank ranks, KernelQueue) {
  using T = typename N::Stored;
  using Computing = decltype(N::load(T()));
  // 64 bits hold every rank count and every value of the smaller integers.
  using Quotient = std::conditional_t<std::is_integral_v<Computing> && sizeof(Computing) < 8, std::int64_t, Computing>;
  for (std::size_t i = 0; i < elements; ++i)
    put(dst, i, N::store(static_cast<Computing>(static_cast<Quotient>(N::load(get<T>(dst, i))) / static_cast<Quotient>(ranks))));
}

template <class T>
TypeKernels of_integer() {
  using Wrapping = std::make_unsigned_t<T>;
  return {.sum = reduce<Computed<Number<Wrapping>, Add>>,
          .prod = reduce<Computed<Number<Wrapping>, Multiply>>,
          .max = reduce<ExtremeInteger<T, true>>,
          .min = reduce<ExtremeInteger<T, false>>,
          .scale = scale<Computed<Number<Wrapping>, Multiply>>,
          .divide = divide<Number<T>>};
}

template <class F, class N>
TypeKernels of_float() {
  return {.sum = reduce<Computed<N, Add>>,
          .prod = reduce<Computed<N, Multiply>>,
          .max = reduce<ExtremeFloat<F, true>>,
          .min = reduce<ExtremeFloat<F, false>>,
          .scale = scale<Computed<N, Multiply>>,
          .divide = divide<N>};
}

}  // namespace

TypeKernels plain_kernels(DataType type) {
  switch (type) {
    case DataType::int8:
      return of_integer<std::int8_t>();
    case DataType::uint8:
      return of_integer<std::uint8_t>();
    case DataType::int32:
      return of_integer<std::int32_t>();
    case DataType::uint32:
      return of_integer<std::uint32_t>();
    case DataType::int64:
      return of_integer<std::int64_t>();
    case DataType::uint64:
      return of_integer<std::uint64_t>();
    case DataType::float16:
      return of_float<Float16, NarrowFloat<Float16>>();
    case DataType::float32:
      return of_float<Float32, WideFloat<float, Float32>>();
    case DataType::float64:
      return of_float<Float64, WideFloat<double, Float64>>();
    case DataType::bfloat16:
      return of_float<Bfloat16, NarrowFloat<Bfloat16>>();
    case DataType::float8e4m3:
      return of_float<Float8E4M3, NarrowFloat<Float8E4M3>>();
    case DataType::float8e5m2:
      return of_float<Float8E5M2, NarrowFloat<Float8E5M2>>();
  }
  return {};
}

}  // namespace toric
