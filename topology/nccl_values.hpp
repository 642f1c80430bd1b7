// What the attributes of NCCL's topology XML stand for, and the bandwidths that NCCL and RCCL derive from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toric::nccl {

/// Decimal, or hexadecimal after 0x, with nothing behind it; empty: not such a number, or one that does not fit.
std::optional<long long> integer(std::string_view text);

/// dddd:bb:dd.f in lower case, from upper case, from a domain of any width up to 8 digits or none; empty: no PCI address.
std::string address(std::string_view text);

/// The numbers of the bits of hexadecimal words of 32 bits, the most significant first, ascending; empty: not such words.
std::optional<std::vector<int>> cpus(std::string_view words);

/// bytes/s of one lane; empty: NCCL does not know this text.
std::optional<double> lane_bandwidth(std::string_view link_speed);
inline constexpr double default_lane_bandwidth = 0.75e9;
inline constexpr long long default_lanes = 16;

/// bytes/s of one NVLink of a GPU of compute capability sm / 10.
double nvlink_bandwidth(long long sm);
/// bytes/s of one xGMI link: "gfx942", "942", and RCCL's older "910" for gfx90a.
double xgmi_bandwidth(std::string_view gcn);

struct Processor {
  std::string arch, vendor;
  long long family = 0, model = 0;
};
/// bytes/s from one such processor to the next; 0: unknown.
double processor_bandwidth(const Processor& processor);

}  // namespace toric::nccl
