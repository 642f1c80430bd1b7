#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace toric::perf {

namespace {

struct FloatFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};

bool is_float(DataType type) { return type >= DataType::float16; }

FloatFormat format_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return {5, 10, true};
    case DataType::bfloat16:
      return {8, 7, true};
    case DataType::float8e4m3:
      return {4, 3, false};
    case DataType::float8e5m2:
      return {5, 2, true};
    default:
      return {8, 23, true};
  }
}

// The largest n such that all whole numbers up to n are exact.
std::uint64_t exact_limit(DataType type) {
  switch (type) {
    case DataType::int8:
      return 127;
    case DataType::uint8:
      return 255;
    case DataType::float64:
      return std::uint64_t{1} << 53;
    default:
      return is_float(type) ? std::uint64_t{2} << format_of(type).mantissa_bits : (std::uint64_t{1} << 31) - 1;
  }
}

bool is_signed(DataType type) { return type != DataType::uint8 && type != DataType::uint32 && type != DataType::uint64; }

std::uint64_t encode_small_float(DataType type, double value) {
  const FloatFormat f = format_of(type);
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // nearbyint rounds ties to even; a carry runs into the exponent as it must.
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent)));
  const std::uint64_t base = static_cast<std::uint64_t>(exponent + bias - 1) << f.mantissa_bits;
  return sign | (base + units);
}

double decode_small_float(DataType type, std::uint64_t bits) {
  const FloatFormat f = format_of(type);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << f.mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const double sign = (bits >> (f.exponent_bits + f.mantissa_bits)) & 1 ? -1.0 : 1.0;
  const bool top = exponent == (1 << f.exponent_bits) - 1;
  if (top && (f.has_infinity || mantissa == 7)) return f.has_infinity && mantissa == 0 ? sign * INFINITY : NAN;
  const double one = std::ldexp(1.0, f.mantissa_bits);
  return exponent == 0 ? sign * std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                       : sign * std::ldexp(one + mantissa, exponent - bias - f.mantissa_bits);
}

std::uint64_t load(const std::byte* at, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);
  return bits;
}

template <typename ValueAt>
std::vector<std::uint64_t> table(DataType type, ValueAt&& value_at) {
  std::vector<std::uint64_t> bits(period);
  for (std::uint64_t i = 0; i < period; ++i) bits[i] = encode(type, value_at(i));
  return bits;
}

// Two periods in the type's own bytes, so that one period can be read from any element on.
std::vector<std::byte> periods(DataType type, const std::vector<std::uint64_t>& bits) {
  const std::size_t size = size_of(type);
  std::vector<std::byte> bytes(2 * period * size);
  for (std::uint64_t i = 0; i < 2 * period; ++i) std::memcpy(bytes.data() + i * size, &bits[i % period], size);
  return bytes;
}

std::uint64_t count_wrong(const std::byte* at, DataType type, const std::vector<std::uint64_t>& expected, std::uint64_t first,
                          std::uint64_t count, double tolerance) {
  const std::size_t size = size_of(type);
  const std::vector<std::byte> pattern = periods(type, expected);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    // Whole periods that are right to the bit are passed over at the speed of memory.
    const std::uint64_t block = std::min(period, count - i);
    if (i % period == 0 && std::memcmp(at + i * size, pattern.data() + (first + i) % period * size, block * size) == 0) {
      i += block - 1;
      continue;
    }
    const std::uint64_t want = expected[(first + i) % period], got = load(at + i * size, size);
    if (got == want) continue;
    const double w = decode(type, want), g = decode(type, got);
    if (!(std::fabs(g - w) <= tolerance * std::fabs(w))) ++wrong;
  }
  return wrong;
}

double one_rounding(DataType type) { return is_float(type) ? 1.0 / static_cast<double>(exact_limit(type) / 2) : 0.0; }

}  // namespace

double pre_mul_factor(Rank rank) { return 1.0 + rank % 2; }

double input_value(DataType type, RedOp op, Rank ranks, Rank rank, std::uint64_t element) {
  const auto p = static_cast<std::uint64_t>(ranks), r = static_cast<std::uint64_t>(rank), at = element % period;
  const std::uint64_t turn = (r + at) % p;  // which ranks count at this element differs from element to element
  if (op == RedOp::prod) return turn < 6 ? ((at + r) % 3 == 0 ? 2.0 : 1.0) : 1.0;
  if (op == RedOp::max || op == RedOp::min) {
    const auto value = static_cast<double>((at * 7 + r * 11) % 15);
    return is_signed(type) ? value - 7 : value;
  }
  const std::uint64_t limit = exact_limit(type) / (op == RedOp::pre_mul_sum ? 2 : 1);
  const std::uint64_t largest = std::clamp<std::uint64_t>(limit / p, 1, 100);
  if (p > limit && turn >= limit) return 0;
  return static_cast<double>((at * 13 + r * 5) % (largest + 1));
}

double reduced_value(DataType type, RedOp op, Rank ranks, std::uint64_t element) {
  double result = input_value(type, op, ranks, 0, element) * (op == RedOp::pre_mul_sum ? pre_mul_factor(0) : 1.0);
  for (Rank r = 1; r < ranks; ++r) {
    const double value = input_value(type, op, ranks, r, element);
    switch (op) {
      case RedOp::prod:
        result *= value;
        break;
      case RedOp::max:
        result = std::max(result, value);
        break;
      case RedOp::min:
        result = std::min(result, value);
        break;
      case RedOp::pre_mul_sum:
        result += value * pre_mul_factor(r);
        break;
      default:
        result += value;
        break;
    }
  }
  if (op != RedOp::avg) return result;
  return is_float(type) ? result / ranks : std::trunc(result / ranks);
}

std::uint64_t encode(DataType type, double value) {
  std::uint64_t bits = 0;
  if (type == DataType::float64) {
    std::memcpy(&bits, &value, 8);
  } else if (type == DataType::float32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, 4);
  } else if (is_float(type)) {
    return encode_small_float(type, value);
  } else {
    const auto whole = static_cast<std::int64_t>(value);
    std::memcpy(&bits, &whole, size_of(type));
  }
  return bits;
}

double decode(DataType type, std::uint64_t bits) {
  switch (type) {
    case DataType::int8:
      return static_cast<std::int8_t>(bits);
    case DataType::int32:
      return static_cast<std::int32_t>(bits);
    case DataType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case DataType::uint8:
    case DataType::uint32:
    case DataType::uint64:
      return static_cast<double>(bits);
    case DataType::float64: {
      double value = 0;
      std::memcpy(&value, &bits, 8);
      return value;
    }
    default:
      return decode_small_float(type, bits);
  }
}

void fill_input(std::byte* to, DataType type, RedOp op, Rank ranks, Rank rank, std::uint64_t first, std::uint64_t count) {
  const std::vector<std::byte> pattern = periods(type, table(type, [&](std::uint64_t i) { return input_value(type, op, ranks, rank, i); }));
  const std::size_t size = size_of(type);
  for (std::uint64_t i = 0; i < count; i += period)
    std::memcpy(to + i * size, pattern.data() + (first + i) % period * size, std::min(period, count - i) * size);
}

std::uint64_t count_wrong_reduced(const std::byte* at, DataType type, RedOp op, Rank ranks, std::uint64_t first, std::uint64_t count) {
  const auto expected = table(type, [&](std::uint64_t i) { return reduced_value(type, op, ranks, i); });
  return count_wrong(at, type, expected, first, count, op == RedOp::avg ? one_rounding(type) : 0.0);
}

std::uint64_t count_wrong_moved(const std::byte* at, DataType type, Rank ranks, Rank owner, std::uint64_t first, std::uint64_t count) {
  const auto expected = table(type, [&](std::uint64_t i) { return input_value(type, RedOp::sum, ranks, owner, i); });
  return count_wrong(at, type, expected, first, count, 0.0);
}

}  // namespace toric::perf
