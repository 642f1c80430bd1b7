// The floating-point formats, as numbers.
#pragma once

#include <cstdint>

namespace toric {

/// `largest_number`: the largest magnitude that is no NaN. `canonical`: the only NaN that a kernel gives.
template <class BitsType, int exponent, int mantissa, BitsType largest, BitsType nan, BitsType overflow>
struct Format {
  using Bits = BitsType;  // signed: min and max compare as integers
  static constexpr int exponent_bits = exponent, mantissa_bits = mantissa;
  static constexpr Bits largest_number = largest, canonical = nan;
  static constexpr Bits overflow_to = overflow;  // what a result beyond the format's range becomes
  static constexpr int bias = (1 << (exponent - 1)) - 1;
  static constexpr bool has_infinity = ((largest >> mantissa) << mantissa) == largest;
};
using Float64 = Format<std::int64_t, 11, 52, 0x7ff0000000000000, 0x7ff8000000000000, 0x7ff0000000000000>;
using Float32 = Format<std::int32_t, 8, 23, 0x7f800000, 0x7fc00000, 0x7f800000>;
using Float16 = Format<std::int16_t, 5, 10, 0x7c00, 0x7e00, 0x7c00>;
using Bfloat16 = Format<std::int16_t, 8, 7, 0x7f80, 0x7fc0, 0x7f80>;
// Both 8-bit formats saturate: overflow, and an infinite fp32 result, give the largest finite number, as CUDA's default
// conversion (__NV_SATFINITE) does. Only min and max hand an infinity of e5m2 on.
using Float8E4M3 = Format<std::int8_t, 4, 3, 0x7e, 0x7f, 0x7e>;
using Float8E5M2 = Format<std::int8_t, 5, 2, 0x7c, 0x7e, 0x7b>;

}  // namespace toric
