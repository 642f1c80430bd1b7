#include "toric/topology/nccl_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace toric::nccl {

namespace {

constexpr double gigabyte = 1e9;
constexpr int most_cpus = 1 << 20;

template <typename Number>
bool read(std::string_view text, Number& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

struct LaneSpeed {
  std::string_view prefix;
  double gigabits;  // NCCL's figure: a tenth of a byte carries a bit and the encoding
};

// Prefixes: "32 GT/s PCIe/s" is known, "16.0 GT/s" alone is not. That is NCCL's table.
constexpr LaneSpeed lane_speeds[] = {
    {"2.5 GT/s", 1.5},    {"5 GT/s", 3},        {"8 GT/s", 6},          {"16 GT/s", 12},        {"32 GT/s", 24},
    {"5.0 GT/s PCIe", 3}, {"8.0 GT/s PCIe", 6}, {"16.0 GT/s PCIe", 12}, {"32.0 GT/s PCIe", 24}, {"64.0 GT/s PCIe", 48},
};

}  // namespace

std::optional<long long> integer(std::string_view text) {
  text = trimmed(text);
  long long value = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (!(hexadecimal ? text.size() > 2 && text[2] != '-' && read(text.substr(2), value, 16) : read(text, value, 10))) return {};
  return value;
}

std::string address(std::string_view text) {
  text = trimmed(text);
  const std::size_t dot = text.rfind('.');
  const std::size_t second = text.rfind(':');
  if (dot == std::string_view::npos || second == std::string_view::npos || second == 0 || dot < second) return {};
  const std::size_t first = text.rfind(':', second - 1);
  const std::size_t bus = first == std::string_view::npos ? 0 : first + 1;
  std::uint32_t domain_number = 0, bus_number = 0, device_number = 0, function_number = 0;
  if (first != std::string_view::npos && !read(text.substr(0, first), domain_number, 16)) return {};
  if (!read(text.substr(bus, second - bus), bus_number, 16) || bus_number > 0xff) return {};
  if (!read(text.substr(second + 1, dot - second - 1), device_number, 16) || device_number > 0xff) return {};
  if (!read(text.substr(dot + 1), function_number, 16) || function_number > 0xf) return {};
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain_number, bus_number, device_number, function_number);
}

std::optional<std::vector<int>> cpus(std::string_view words) {
  std::vector<int> found;
  for (int base = 0; !words.empty(); base += 32) {
    const std::size_t comma = words.rfind(',');
    const std::string_view word = trimmed(comma == std::string_view::npos ? words : words.substr(comma + 1));
    std::uint32_t bits = 0;
    if (base >= most_cpus || !read(word, bits, 16)) return {};
    for (int bit = 0; bit < 32; ++bit)
      if ((bits >> bit & 1U) != 0) found.push_back(base + bit);
    words = comma == std::string_view::npos ? std::string_view() : words.substr(0, comma);
  }
  return found;
}

std::optional<double> lane_bandwidth(std::string_view link_speed) {
  const auto* known = std::ranges::find_if(lane_speeds, [&](const LaneSpeed& speed) { return link_speed.starts_with(speed.prefix); });
  if (known == std::end(lane_speeds)) return {};
  return known->gigabits / 8 * gigabyte;
}

double nvlink_bandwidth(long long sm) {
  if (sm >= 100) return 40.1 * gigabyte;
  if (sm >= 90) return 20.6 * gigabyte;
  if (sm == 86) return 12 * gigabyte;
  return (sm >= 60 && sm < 70 ? 18 : 20) * gigabyte;
}

double xgmi_bandwidth(std::string_view gcn) {
  if (gcn.starts_with("gfx")) gcn.remove_prefix(3);
  if (gcn.starts_with("94") || gcn.starts_with("95")) return 48 * gigabyte;
  return (gcn.starts_with("90a") || gcn == "910" ? 36 : 24) * gigabyte;
}

double processor_bandwidth(const Processor& processor) {
  if (processor.arch == "arm64") return 6 * gigabyte;
  if (processor.arch == "ppc64") return 32 * gigabyte;
  if (processor.vendor == "AuthenticAMD") return 16 * gigabyte;
  const auto from = [&](long long family, long long model) { return processor.family == family && processor.model >= model; };
  if (processor.vendor == "GenuineIntel") {
    if (from(6, 0xcf)) return 40 * gigabyte;
    if (from(6, 0x8f)) return 22 * gigabyte;
    return (from(6, 0x55) ? 10 : 6) * gigabyte;
  }
  if (processor.vendor == "CentaurHauls" || processor.vendor == "  Shanghai  ") return (from(7, 0x5b) ? 9 : 6) * gigabyte;
  return 0;
}

}  // namespace toric::nccl
