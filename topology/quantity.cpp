#include "toric/topology/quantity.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <system_error>

namespace toric {

namespace {

struct Unit {
  std::string_view name;
  int decimal;        // the power of ten that goes into the number
  double factor = 1;  // and a power of two, exact in floating point
};

constexpr double kibi = 1024;
constexpr double per_bit = 0.125;
constexpr Unit bandwidth_units[] = {{"B/s", 0},
                                    {"kB/s", 3},
                                    {"MB/s", 6},
                                    {"GB/s", 9},
                                    {"TB/s", 12},
                                    {"b/s", 0, per_bit},
                                    {"kb/s", 3, per_bit},
                                    {"Mb/s", 6, per_bit},
                                    {"Gb/s", 9, per_bit},
                                    {"Tb/s", 12, per_bit},
                                    {"KiB/s", 0, kibi},
                                    {"MiB/s", 0, kibi* kibi},
                                    {"GiB/s", 0, kibi* kibi* kibi},
                                    {"TiB/s", 0, kibi* kibi* kibi* kibi}};
constexpr Unit latency_units[] = {{"s", 0}, {"ms", -3}, {"us", -6}, {"ns", -9}, {"ps", -12}};

constexpr std::string_view byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

// For writing: ascending powers of ten.
constexpr Unit written_bandwidths[] = {{"B/s", 0}, {"kB/s", 3}, {"MB/s", 6}, {"GB/s", 9}, {"TB/s", 12}};
constexpr Unit written_latencies[] = {{"ps", -12}, {"ns", -9}, {"us", -6}, {"ms", -3}, {"s", 0}};

constexpr std::string_view digits = "0123456789";
constexpr int largest_shift = 20;  // beyond it, zeros would be more than digits

std::size_t digits_at(std::string_view text, std::size_t position) {
  const std::size_t end = text.find_first_not_of(digits, position);
  return (end == std::string_view::npos ? text.size() : end) - position;
}

/// A number split into its digits with the point, its exponent, and what follows.
struct Split {
  std::string_view mantissa;
  int exponent = 0;
  std::string_view unit;
};

std::optional<Split> split(std::string_view text) {
  std::size_t end = digits_at(text, 0);
  if (end == 0) return std::nullopt;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = digits_at(text, end + 1);
    if (fraction == 0) return std::nullopt;
    end += 1 + fraction;
  }
  Split parts{text.substr(0, end), 0, text.substr(end)};
  if (parts.unit.empty() || parts.unit.front() != 'e') return parts;
  std::string_view exponent = parts.unit.substr(1);
  const bool negative = !exponent.empty() && exponent.front() == '-';
  if (negative || (!exponent.empty() && exponent.front() == '+')) exponent.remove_prefix(1);
  const std::size_t length = digits_at(exponent, 0);
  const auto power = parse_whole(exponent.substr(0, length), 9999);
  if (!power) return std::nullopt;
  parts.exponent = static_cast<int>(negative ? -*power : *power);
  parts.unit = exponent.substr(length);
  return parts;
}

std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  for (const Unit& unit : units) {
    if (unit.name != parts->unit) continue;
    const std::string number = std::string(parts->mantissa) + 'e' + std::to_string(parts->exponent + unit.decimal);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    value *= unit.factor;
    if (value > std::numeric_limits<double>::max()) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

/// The digits with the point after the first `shift` + 1 of them.
std::string with_point(std::string_view all_digits, int shift) {
  std::string text(all_digits);
  const auto before = static_cast<std::size_t>(shift) + 1;
  if (text.size() <= before) return text + std::string(before - text.size(), '0');
  return text.insert(before, ".");
}

std::string quantity_text(double value, std::span<const Unit> units, std::string_view plain) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view written(buffer.data(), static_cast<std::size_t>(end - buffer.data()));  // d.ddde+ee
  const std::size_t mark = written.find('e');
  std::string all_digits(written.substr(0, 1));
  if (mark > 2) all_digits += written.substr(2, mark - 2);
  int exponent = 0;
  const bool negative = written[mark + 1] == '-';
  std::from_chars(buffer.data() + mark + 2, end, exponent);
  if (negative) exponent = -exponent;
  const Unit* chosen = nullptr;
  for (const Unit& unit : units)
    if (unit.decimal <= exponent) chosen = &unit;
  if (value == 0) return '0' + std::string(plain);
  if (chosen == nullptr || exponent - chosen->decimal > largest_shift) return std::string(written) + std::string(plain);
  return with_point(all_digits, exponent - chosen->decimal) + std::string(chosen->name);
}

}  // namespace

std::optional<std::int64_t> parse_whole(std::string_view text, std::int64_t largest) {
  if (text.empty() || digits_at(text, 0) != text.size()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > largest) return std::nullopt;
  return value;
}

std::optional<double> parse_bandwidth(std::string_view text) { return parse_quantity(text, bandwidth_units); }

std::optional<double> parse_latency(std::string_view text) { return parse_quantity(text, latency_units); }

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t length = digits_at(text, 0);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + length, value);
  if (length == 0 || error != std::errc() || end != text.data() + length) return std::nullopt;
  int shift = 0;
  for (const std::string_view unit : byte_units) {
    if (unit == text.substr(length)) {
      if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
      return value << shift;
    }
    shift += 10;
  }
  return std::nullopt;
}

std::string bandwidth_text(double bytes_per_second) { return quantity_text(bytes_per_second, written_bandwidths, "B/s"); }

std::string latency_text(double seconds) { return quantity_text(seconds, written_latencies, "s"); }

std::string bytes_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(byte_units)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(byte_units[unit]);
}

}  // namespace toric
