// What the kernels must give, an element at a time, from the definitions: nothing here is shared with the kernels.
#pragma once

#include "toric/base.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace toric::reference {

/// A format by its fields: value = fraction * 2^(exponent - bias - mantissa).
struct Layout {
  int exponent, mantissa;
  bool infinities;    // the top exponent is infinity and NaN; else only the all-ones code is NaN
  bool saturates;     // overflow gives the largest finite number
  std::uint64_t nan;  // the canonical one
};

inline Layout layout_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {5, 10, true, false, 0x7e00};
    case DataType::bfloat16:
      return {8, 7, true, false, 0x7fc0};
    case DataType::float8e4m3:
      return {4, 3, false, true, 0x7f};
    case DataType::float8e5m2:
      return {5, 2, true, true, 0x7e};
    case DataType::float32:
      return {8, 23, true, false, 0x7fc00000};
    default:
      return {11, 52, true, false, 0x7ff8000000000000};
  }
}

inline long double value_of(const Layout& f, std::uint64_t code) {
  const int bias = (1 << (f.exponent - 1)) - 1, top = (1 << f.exponent) - 1;
  const std::uint64_t fraction = code & ((std::uint64_t{1} << f.mantissa) - 1);
  const int exponent = static_cast<int>(code >> f.mantissa) & top;
  const long double sign = (code >> (f.exponent + f.mantissa)) & 1 ? -1.0L : 1.0L;
  if (f.infinities && exponent == top)
    return fraction != 0 ? std::numeric_limits<long double>::quiet_NaN() : sign * std::numeric_limits<long double>::infinity();
  if (!f.infinities && exponent == top && fraction == (std::uint64_t{1} << f.mantissa) - 1)
    return std::numeric_limits<long double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<long double>(fraction), 1 - bias - f.mantissa);
  return sign * std::ldexp(static_cast<long double>(fraction + (std::uint64_t{1} << f.mantissa)), exponent - bias - f.mantissa);
}

/// To the nearest number of the format, ties to even.
inline std::uint64_t code_of(const Layout& f, long double value) {
  if (std::isnan(value)) return f.nan;
  const int bias = (1 << (f.exponent - 1)) - 1;
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (f.exponent + f.mantissa);
  const std::uint64_t infinity = ((std::uint64_t{1} << f.exponent) - 1) << f.mantissa;
  const std::uint64_t largest = f.infinities ? infinity - 1 : (infinity | ((1u << f.mantissa) - 1)) - 1;
  const std::uint64_t beyond = f.saturates ? largest : infinity;
  const long double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | beyond;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const auto steps = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa - exponent)));
  // A subnormal has no hidden bit, and rounding up to the next power of two carries into the exponent: one sum covers both.
  const std::uint64_t code = (static_cast<std::uint64_t>(exponent + bias - 1) << f.mantissa) + steps;
  return sign | (code > largest ? beyond : code);
}

enum class Binary { sum, prod, max, min };

inline std::uint64_t of_floats(DataType type, Binary op, std::uint64_t a, std::uint64_t b) {
  const Layout f = layout_of(type);
  const long double x = value_of(f, a), y = value_of(f, b);
  if (op == Binary::max || op == Binary::min) {
    if (std::isnan(x) || std::isnan(y)) return f.nan;
    const bool a_below = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    return (op == Binary::max) == a_below ? b : a;
  }
  if (type == DataType::float64) {
    const double result =
        op == Binary::sum ? static_cast<double>(x) + static_cast<double>(y) : static_cast<double>(x) * static_cast<double>(y);
    return std::isnan(result) ? f.nan : std::bit_cast<std::uint64_t>(result);
  }
  // Long double holds products of two floats exactly and has more than twice the bits of their sums: one rounding to fp32.
  const std::uint64_t single = code_of(layout_of(DataType::float32), op == Binary::sum ? x + y : x * y);
  return type == DataType::float32 ? single : code_of(f, value_of(layout_of(DataType::float32), single));
}

template <class T>
std::uint64_t of_integers(Binary op, std::uint64_t a, std::uint64_t b) {
  const auto x = static_cast<T>(a), y = static_cast<T>(b);
  switch (op) {
    case Binary::sum:
      return static_cast<std::make_unsigned_t<T>>(a + b);
    case Binary::prod:
      return static_cast<std::make_unsigned_t<T>>(a * b);
    case Binary::max:
      return static_cast<std::make_unsigned_t<T>>(x > y ? x : y);
    default:
      return static_cast<std::make_unsigned_t<T>>(x < y ? x : y);
  }
}

inline std::uint64_t combine(DataType type, Binary op, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case DataType::int8:
      return of_integers<std::int8_t>(op, a, b);
    case DataType::uint8:
      return of_integers<std::uint8_t>(op, a, b);
    case DataType::int32:
      return of_integers<std::int32_t>(op, a, b);
    case DataType::uint32:
      return of_integers<std::uint32_t>(op, a, b);
    case DataType::int64:
      return of_integers<std::int64_t>(op, a, b);
    case DataType::uint64:
      return of_integers<std::uint64_t>(op, a, b);
    default:
      return of_floats(type, op, a, b);
  }
}

template <class T>
std::uint64_t divide_integer(std::uint64_t a, std::int64_t by) {
  if constexpr (std::is_same_v<T, std::uint64_t>) return a / static_cast<std::uint64_t>(by);
  return static_cast<std::make_unsigned_t<T>>(static_cast<std::int64_t>(static_cast<T>(a)) / by);
}

inline std::uint64_t divide(DataType type, std::uint64_t a, Rank ranks) {
  switch (type) {
    case DataType::int8:
      return divide_integer<std::int8_t>(a, ranks);
    case DataType::uint8:
      return divide_integer<std::uint8_t>(a, ranks);
    case DataType::int32:
      return divide_integer<std::int32_t>(a, ranks);
    case DataType::uint32:
      return divide_integer<std::uint32_t>(a, ranks);
    case DataType::int64:
      return divide_integer<std::int64_t>(a, ranks);
    case DataType::uint64:
      return divide_integer<std::uint64_t>(a, ranks);
    default:
      break;
  }
  const Layout f = layout_of(type);
  const long double x = value_of(f, a);
  if (type == DataType::float64) {
    const double result = static_cast<double>(x) / ranks;
    return std::isnan(result) ? f.nan : std::bit_cast<std::uint64_t>(result);
  }
  const float result = static_cast<float>(x) / static_cast<float>(ranks);
  return code_of(f, result);
}

}  // namespace toric::reference
