#include "toric/topology/nccl_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace toric::nccl {

namespace {

constexpr std::size_t most_cpus = 4096, most_cpus_of_host = 64;     // each of a host is joined with each
constexpr double part_to_function = 5000e9, part_to_part = 2618e9;  // the parts of one GPU that MLOPart divides
constexpr std::size_t most_parts = 16;
constexpr long long default_megabits = 10000, most_megabits = 10'000'000;
constexpr long long most_number = 1 << 20;

std::string_view text_of(pugi::xml_node element, const char* attribute) { return element.attribute(attribute).value(); }

bool names_link_speed(pugi::xml_node element) { return !text_of(element, "link_speed").empty(); }

std::size_t count_of(pugi::xml_node element, const char* name) {
  return static_cast<std::size_t>(std::ranges::distance(element.children(name)));
}

std::size_t nets_of(pugi::xml_node element) {
  std::size_t nets = 0;
  for (const pugi::xml_node nic : element.children("nic")) nets += count_of(nic, "net");
  return nets;
}

}  // namespace

Status Hosts::build() {
  if (!document_.root().child("cpu")) return document_.wrong(document_.root(), "expected <cpu> elements in <system>, found none");
  if (count_of(document_.root(), "cpu") > most_cpus)
    return document_.wrong(document_.root(), fmt::format("expected at most {} <cpu> elements, found more", most_cpus));
  add_hosts();
  for (const pugi::xml_node cpu : document_.root().children("cpu")) TORIC_TRY(add_cpu(cpu));
  join_packages();
  return {};
}

long long Hosts::number(pugi::xml_node element, const char* attribute, long long otherwise) {
  const std::string_view text = text_of(element, attribute);
  if (text.empty()) return otherwise;
  const auto value = integer(text);
  if (!value) warn(element, fmt::format("{} of <{}> is no number; taken as {}", attribute, element.name(), otherwise), text);
  return value.value_or(otherwise);
}

void Hosts::add_hosts() {
  for (const pugi::xml_node cpu : document_.root().children("cpu")) {
    const std::string_view hash = text_of(cpu, "host_hash");
    if (std::ranges::find(hashes_, hash) != hashes_.end()) continue;
    TopologyNode host;
    host.name = fmt::format("host {}", hashes_.size());
    host.os_index = -1;
    hashes_.emplace_back(hash);
    addresses_.emplace_back();
    made_.hosts.push_back(made_.topology.add(std::move(host)));
  }
}

std::vector<int> Hosts::affinity_of(pugi::xml_node element) {
  const std::string_view words = text_of(element, "affinity");
  if (words.empty()) return {};
  auto found = cpus(words);
  if (!found) warn(element, "affinity is no list of hexadecimal words of 32 bits; its CPUs are unknown", words);
  return found ? *std::move(found) : std::vector<int>();
}

Status Hosts::add_cpu(pugi::xml_node element) {
  Cpu cpu;
  cpu.host = static_cast<std::size_t>(std::ranges::find(hashes_, text_of(element, "host_hash")) - hashes_.begin());
  const auto earlier = [&](const Cpu& other) { return other.host == cpu.host; };
  const auto packages = static_cast<std::size_t>(std::ranges::count_if(made_.cpus, earlier));
  if (packages == most_cpus_of_host)
    return document_.wrong(element, fmt::format("expected at most {} <cpu> elements a host, found more", most_cpus_of_host));
  const long long numa = number(element, "numaid", -1);
  cpu.numa = numa >= 0 && numa <= most_number ? static_cast<int>(numa) : -1;
  if (cpu.numa < 0) warn(element, "no NUMA node's number in numaid; the package has no NUMA node");
  if (cpu.numa >= 0 && std::ranges::any_of(made_.cpus, [&](const Cpu& other) { return earlier(other) && other.numa == cpu.numa; }))
    warn(element, "the same numaid as another <cpu> of this host; both are kept");
  cpu.processor = {std::string(text_of(element, "arch")), std::string(text_of(element, "vendor")), number(element, "familyid", 0),
                   number(element, "modelid", 0)};

  TopologyNode package;
  package.kind = NodeKind::package;
  package.name = fmt::format("package {}", packages);
  package.parent = made_.hosts[cpu.host];
  package.numa = cpu.numa;
  package.model = cpu.processor.vendor.empty() ? cpu.processor.arch : cpu.processor.vendor;
  package.cpus = affinity_of(element);
  TopologyNode memory = package;
  cpu.package = made_.topology.add(std::move(package));
  if (cpu.numa >= 0) {
    memory.kind = NodeKind::numa;
    memory.name = fmt::format("numa {}", cpu.numa);
    memory.parent = cpu.package;
    memory.os_index = cpu.numa;
    memory.model.clear();
    made_.topology.join(cpu.package, made_.topology.add(std::move(memory)), LinkKind::memory);
  }
  const NodeId above = cpu.package;
  made_.cpus.push_back(std::move(cpu));
  add_inside(element, above);
  add_devices(element, {above, 0}, {});
  return {};
}

void Hosts::add_inside(pugi::xml_node element, NodeId above) {
  for (const pugi::xml_node pci : element.children("pci")) add_pci(pci, above);
}

void Hosts::add_pci(pugi::xml_node element, NodeId above) {
  const std::size_t gpus = count_of(element, "gpu"), devices = gpus + nets_of(element);
  const bool inner = element.child("pci");
  const bool bridge = text_of(element, "class").starts_with("0x0604");
  if (devices == 0 && !inner && !bridge) {
    leave_out(element);
    return;
  }
  if (element.child("pcilink")) warn(element, "<pcilink> is left out");
  const std::string address = address_of(element);
  const double bandwidth = pci_bandwidth(element);
  if (devices == 1 && !inner) {
    add_devices(element, {above, bandwidth}, address);
    return;
  }
  const NodeId function = add_function(element, above, bandwidth);
  made_.topology.nodes[static_cast<std::size_t>(function)].address = address;
  add_inside(element, function);
  add_devices(element, {function, gpus > 1 ? part_to_function : bandwidth}, address);
}

NodeId Hosts::add_function(pugi::xml_node element, NodeId above, double bandwidth) {
  TopologyNode node;
  node.kind = NodeKind::pcie_switch;
  const std::string_view id = text_of(element, "busid");
  node.name = id.empty() ? "PCIe" : fmt::format("PCIe {}", id);
  node.parent = above;
  node.numa = made_.cpus.back().numa;
  const NodeId function = made_.topology.add(std::move(node));
  made_.topology.join(above, function, LinkKind::pcie, bandwidth);
  return function;
}

void Hosts::add_devices(pugi::xml_node element, Place place, const std::string& address) {
  std::vector<NodeId> parts;
  for (const pugi::xml_node gpu : element.children("gpu")) parts.push_back(add_gpu(gpu, place, address));
  for (std::size_t one = 0; one < parts.size() && parts.size() <= most_parts; ++one)
    for (std::size_t other = one + 1; other < parts.size(); ++other)
      made_.topology.join(parts[one], parts[other], LinkKind::c2c, part_to_part);
  for (const pugi::xml_node nic : element.children("nic"))
    for (const pugi::xml_node net : nic.children("net")) add_net(net, place, address);
}

NodeId Hosts::add_gpu(pugi::xml_node element, Place place, const std::string& address) {
  TopologyNode node;
  node.kind = NodeKind::gpu;
  node.os_index = static_cast<int>(std::clamp<long long>(number(element, "dev", -1), -1, most_number));
  node.name = node.os_index >= 0 ? fmt::format("gpu {}", node.os_index) : "gpu";
  if (const std::string_view part = text_of(element, "mlopart"); !part.empty()) node.name += fmt::format(" part {}", part);
  node.parent = place.above;
  node.numa = made_.cpus.back().numa;
  const std::string_view gcn = text_of(element, "gcn");
  const std::string_view sm = text_of(element, "sm");
  node.model = !gcn.empty() ? std::string(gcn) : sm.empty() ? std::string() : fmt::format("sm {}", sm);
  node.address = address;
  const NodeId id = made_.topology.add(std::move(node));
  made_.topology.join(place.above, id, LinkKind::pcie, place.bandwidth);
  made_.gpus.push_back({id, made_.cpus.size() - 1, element});
  return id;
}

void Hosts::add_net(pugi::xml_node element, Place place, const std::string& address) {
  TopologyNode node;
  node.kind = NodeKind::nic;
  node.os_index = static_cast<int>(std::clamp<long long>(number(element, "dev", -1), -1, most_number));
  node.name = text_of(element, "name");
  if (node.name.empty()) node.name = node.os_index >= 0 ? fmt::format("nic {}", node.os_index) : "nic";
  node.parent = place.above;
  node.numa = made_.cpus.back().numa;
  node.address = address;
  const double bandwidth = network_bandwidth(element);
  if (bandwidth > 0) node.model = fmt::format("{} Gb/s", bandwidth * 8 / 1e9);
  const NodeId id = made_.topology.add(std::move(node));
  made_.topology.join(place.above, id, LinkKind::pcie, place.bandwidth);
  made_.nics.push_back({id, bandwidth});
}

double Hosts::network_bandwidth(pugi::xml_node net) {
  long long megabits = number(net, "speed", 0);
  if (megabits <= 0) {
    warn(net, fmt::format("no speed of <net>; taken as {} Mb/s", default_megabits));
    megabits = default_megabits;
  }
  if (megabits > most_megabits) {
    warn(net, "speed of <net> in Mb/s is more than any NIC's; taken as unknown", text_of(net, "speed"));
    return 0;
  }
  return static_cast<double>(megabits) * 1e6 / 8;
}

double Hosts::pci_bandwidth(pugi::xml_node element) {
  if (!names_link_speed(element)) warn(element, "no link_speed of <pci>; taken as PCIe 3");
  const auto lane = lane_bandwidth(text_of(element, "link_speed"));
  if (!lane && names_link_speed(element)) warn(element, "unknown link_speed of <pci>; taken as PCIe 3", text_of(element, "link_speed"));
  long long lanes = number(element, "link_width", 0);
  if (lanes <= 0 || lanes > 64) {
    warn(element, fmt::format("no link_width of <pci> from 1 to 64; taken as {}", default_lanes));
    lanes = default_lanes;
  }
  return lane.value_or(default_lane_bandwidth) * static_cast<double>(lanes);
}

std::string Hosts::address_of(pugi::xml_node element) {
  std::string found = address(text_of(element, "busid"));
  if (found.empty())
    warn(element, "no PCI address in busid", text_of(element, "busid"));
  else if (!addresses_[made_.cpus.back().host].insert(found).second)
    warn(element, "busid a second time on one host; both are kept, and links of GPUs go to the first", found);
  return found;
}

void Hosts::leave_out(pugi::xml_node element) {
  const std::string_view kind = text_of(element, "class");
  if (kind.starts_with("0x0680")) return;  // an NVSwitch: known from the links to it
  if (kind.starts_with("0x03") || kind.starts_with("0x12"))
    warn(element, "PCI function of class GPU without a <gpu> inside; left out, as what it is only its own host can tell");
  else if (kind.starts_with("0x02"))
    warn(element, "PCI function of class NIC without a <net> inside; left out, as what it is only its own host can tell");
  else
    warn(element, "PCI function with nothing inside; left out");
}

void Hosts::join_packages() {
  for (std::size_t one = 0; one < made_.cpus.size(); ++one)
    for (std::size_t other = one + 1; other < made_.cpus.size(); ++other) {
      const Cpu &a = made_.cpus[one], &b = made_.cpus[other];
      if (a.host != b.host) continue;
      const double bandwidth = std::min(processor_bandwidth(a.processor), processor_bandwidth(b.processor));
      if (bandwidth == 0) warn(document_.root(), "unknown arch or vendor of a <cpu>; how fast packages are joined is unknown");
      made_.topology.join(a.package, b.package, LinkKind::package, bandwidth);
    }
}

}  // namespace toric::nccl
