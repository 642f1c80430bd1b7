#include "toric/topology/hwloc_values.hpp"

#include "toric/topology/nccl_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace toric::hwloc_xml {

namespace {

constexpr int most_cpus = 1 << 20;

/// Hexadecimal, up to 32 bits; an empty word is 0.
std::optional<std::uint32_t> word_of(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.empty()) return 0;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

/// The number at the end of "nvml3"; -1: another name.
int number_behind(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return -1;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.empty() || digits.size() > 6 || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return -1;
  return static_cast<int>(nccl::integer(digits).value_or(-1));
}

/// Displays on the boards of servers belong to management controllers: nobody computes there.
bool computes(std::string_view pci_type, bool graphics) {
  const std::string_view device_class = pci_type.substr(0, 4);
  if (device_class == "0302" || device_class == "0380" || device_class.starts_with("12")) return true;
  if (device_class != "0300" && !graphics) return false;
  const std::size_t bracket = pci_type.find('[');
  const std::string_view maker = bracket == std::string_view::npos ? std::string_view() : pci_type.substr(bracket + 1, 9);
  if (maker == "1002:515e" || maker == "1002:5969") return false;  // the ES1000
  return maker.starts_with("10de:") || maker.starts_with("1002:") || maker.starts_with("8086:");
}

/// NVML's and the like count all devices of the host, CUDA's those that it may use.
int gpu_number(const std::vector<SystemDevice>& devices) {
  constexpr std::array<std::string_view, 4> prefixes = {"nvml", "rsmi", "cuda", "ze"};
  for (const std::string_view prefix : prefixes)
    for (const SystemDevice& device : devices)
      if (const int number = number_behind(device.name, prefix); number >= 0) return number;
  return -1;
}

std::vector<std::string> nic_names(const std::vector<SystemDevice>& devices) {
  std::vector<std::string> nets, fabrics;
  for (const SystemDevice& device : devices) {
    if (device.fabrics)
      fabrics.push_back(device.name);
    else if (device.net)
      nets.push_back(device.name);
  }
  return nets.empty() ? fabrics : nets;
}

}  // namespace

std::optional<std::vector<int>> bits(std::string_view words) {
  if (words.starts_with("0xf...f")) return std::vector<int>();
  std::vector<int> found;
  for (std::int64_t base = 0; !words.empty(); base += 32) {
    const std::size_t comma = words.rfind(',');
    const std::optional<std::uint32_t> word = word_of(comma == std::string_view::npos ? words : words.substr(comma + 1));
    if (!word || (*word != 0 && base >= most_cpus)) return {};
    for (int bit = 0; bit < 32; ++bit)
      if ((*word >> bit & 1U) != 0) found.push_back(static_cast<int>(base) + bit);
    words = comma == std::string_view::npos ? std::string_view() : words.substr(0, comma);
  }
  return found;
}

SystemDevice system_device(pugi::xml_node element, int version) {
  SystemDevice made;
  made.name = element.attribute("name").value();
  const long long type = nccl::integer(element.attribute("osdev_type").value()).value_or(0);
  if (version >= 3) {
    made.graphics = (type & 4) != 0;
    made.compute = (type & 8) != 0;
    made.net = (type & 16) != 0;
    made.fabrics = (type & 32) != 0;
  } else {
    made.graphics = type == 1;
    made.net = type == 2;
    made.fabrics = type == 3;
    made.compute = type == 5;
  }
  // NVML's devices are graphics only in version 2, and are there only where something computes.
  made.compute = made.compute || number_behind(made.name, "nvml") >= 0 || number_behind(made.name, "rsmi") >= 0;
  return made;
}

Function function_of(pugi::xml_node element, int version) {
  std::vector<SystemDevice> devices;
  for (const pugi::xml_node child : element.children("object"))
    if (type_of(child) == "OSDev") devices.push_back(system_device(child, version));
  const std::string_view pci_type = element.attribute("pci_type").value();
  const auto any = [&](bool SystemDevice::*what) { return std::ranges::any_of(devices, what); };

  Function made;
  made.address = nccl::address(element.attribute("pci_busid").value());
  made.names = nic_names(devices);
  if (any(&SystemDevice::compute) || computes(pci_type, any(&SystemDevice::graphics))) {
    made.role = Role::gpu;
    made.gpu_number = gpu_number(devices);
    for (const pugi::xml_node child : element.children("object"))
      if (made.gpu_model.empty()) made.gpu_model = info(child, "GPUModel");
  } else if (!made.names.empty() || pci_type.starts_with("02") || pci_type.starts_with("0c06")) {
    made.role = Role::nic;
    if (made.names.empty()) made.names.push_back(fmt::format("nic {}", made.address));
  }
  return made;
}

std::string info(pugi::xml_node element, std::string_view name) {
  for (const pugi::xml_node child : element.children("info"))
    if (name == child.attribute("name").value()) return child.attribute("value").value();
  return {};
}

int cache_level(pugi::xml_node element) {
  const std::string_view type = type_of(element);
  if (nccl::integer(element.attribute("cache_type").value()).value_or(0) == 2) return 0;
  if (type == "Cache") {
    const long long depth = nccl::integer(element.attribute("depth").value()).value_or(0);
    return depth >= 1 && depth <= 5 ? static_cast<int>(depth) : 0;
  }
  if (type.size() != 7 || type[0] != 'L' || !type.ends_with("Cache") || type[1] < '1' || type[1] > '5') return 0;
  return type[1] - '0';
}

std::optional<NodeKind> kind_of(pugi::xml_node element) {
  const std::string_view type = type_of(element);
  if (type == "Machine") return NodeKind::host;
  if (type == "Package" || type == "Socket") return NodeKind::package;
  if (type == "NUMANode") return NodeKind::numa;
  if (type == "Core") return NodeKind::core;
  if (cache_level(element) > 0) return NodeKind::cache;
  return {};
}

}  // namespace toric::hwloc_xml
