// What `nvidia-smi topo -m` prints, as a machine: the table says where ways part, from which follows what must be between.
#include "toric/topology/nvidia_smi_table.hpp"
#include "toric/topology/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <utility>

namespace toric {

namespace {

using nvidia::Cell;
using nvidia::Device;
using nvidia::Path;
using nvidia::Table;

/// Sets of devices, each known by its first.
class Groups {
 public:
  explicit Groups(std::size_t size) : first_(size) { std::iota(first_.begin(), first_.end(), std::size_t{0}); }

  [[nodiscard]] std::size_t of(std::size_t device) const { return first_[device]; }
  void unite(std::size_t one, std::size_t other) {
    const std::size_t kept = std::min(first_[one], first_[other]), gone = std::max(first_[one], first_[other]);
    std::ranges::replace(first_, gone, kept);
  }
  [[nodiscard]] bool alone(std::size_t device) const { return std::ranges::count(first_, first_[device]) == 1; }

 private:
  std::vector<std::size_t> first_;
};

class Machine {
 public:
  explicit Machine(const Table& table)
      : table_(table), size_(table.devices.size()), packages_(size_), outer_(size_), inner_(size_), nodes_(size_, no_node) {}

  Imported build(std::string_view name);

 private:
  void group();
  void group_unknown();
  [[nodiscard]] bool placeless(std::size_t device) const;
  NodeId package_of(std::size_t device);
  NodeId inside(std::map<std::size_t, NodeId>& made, std::size_t first, NodeId above);
  void add_device(std::size_t device);
  [[nodiscard]] bool is_switched() const;
  void join_gpus();
  void warn(std::string_view name, std::string_view what) { made_.warnings.push_back(fmt::format("{}:{}: {}", name, table_.line, what)); }

  const Table& table_;
  std::size_t size_;
  Groups packages_, outer_, inner_;  // together in a NUMA node; behind bridges; behind one bridge
  std::vector<NodeId> nodes_;
  std::map<std::size_t, NodeId> package_nodes_, outer_nodes_, inner_nodes_;
  bool numa_missing_ = false, unplaced_ = false, nvlinks_ = false;
  Imported made_;
};

/// Nothing in the table tells the NUMA node of this device.
bool Machine::placeless(std::size_t device) const {
  const auto tells = [](const Cell& cell) { return cell.path != Path::self && cell.path != Path::nvlink; };
  return table_.devices[device].cpus.empty() && std::ranges::none_of(table_.cells[device], tells);
}

void Machine::group() {
  for (std::size_t one = 0; one < size_; ++one)
    for (std::size_t other = 0; other < one; ++other) {
      const Path path = table_.cells[one][other].path;
      if (path == Path::bridge) inner_.unite(one, other);
      if (path == Path::bridge || path == Path::bridges) outer_.unite(one, other);
      const Device &a = table_.devices[one], &b = table_.devices[other];
      const bool same_cpus = !a.cpus.empty() && a.cpus == b.cpus && path != Path::system;
      if ((path != Path::system && path != Path::nvlink) || same_cpus) packages_.unite(one, other);
    }
  group_unknown();
}

void Machine::group_unknown() {
  std::size_t first = size_;
  for (std::size_t device = 0; device < size_; ++device) {
    if (!placeless(device)) continue;
    unplaced_ = true;
    if (first == size_) first = device;
    packages_.unite(first, device);
  }
}

NodeId Machine::package_of(std::size_t device) {
  const std::size_t first = packages_.of(device);
  if (const auto known = package_nodes_.find(first); known != package_nodes_.end()) return known->second;
  TopologyNode package;
  package.kind = NodeKind::package;
  package.name = fmt::format("package {}", package_nodes_.size());
  package.parent = 0;
  for (std::size_t member = 0; member < size_; ++member) {
    const Device& other = table_.devices[member];
    if (packages_.of(member) != first) continue;
    if (package.cpus.empty()) package.cpus = other.cpus;
    if (package.numa < 0 && other.numa.size() == 1) package.numa = other.numa.front();
  }
  TopologyNode memory = package;
  const NodeId id = made_.topology.add(std::move(package));
  for (const auto& [key, node] : package_nodes_) made_.topology.join(node, id, LinkKind::package);
  package_nodes_[first] = id;
  if (memory.numa < 0) {
    numa_missing_ = true;
    return id;
  }
  memory.kind = NodeKind::numa;
  memory.name = fmt::format("numa {}", memory.numa);
  memory.parent = id;
  memory.os_index = memory.numa;
  made_.topology.join(id, made_.topology.add(std::move(memory)), LinkKind::memory);
  return id;
}

NodeId Machine::inside(std::map<std::size_t, NodeId>& made, std::size_t first, NodeId above) {
  if (const auto known = made.find(first); known != made.end()) return known->second;
  TopologyNode node;
  node.kind = NodeKind::pcie_switch;
  node.name = "PCIe switch";
  node.parent = above;
  node.numa = made_.topology.node(above).numa;
  const NodeId id = made_.topology.add(std::move(node));
  made_.topology.join(above, id, LinkKind::pcie);
  made[first] = id;
  return id;
}

void Machine::add_device(std::size_t device) {
  NodeId above = package_of(device);
  // A switch of its own keeps a device several bridges away from the others of its outer switch.
  const bool several = std::ranges::any_of(std::views::iota(std::size_t{0}, size_), [&](std::size_t other) {
    return outer_.of(other) == outer_.of(device) && inner_.of(other) != inner_.of(device);
  });
  if (several) above = inside(outer_nodes_, outer_.of(device), above);
  if (several || !inner_.alone(device)) above = inside(inner_nodes_, inner_.of(device), above);
  const Device& known = table_.devices[device];
  TopologyNode node;
  node.kind = known.gpu ? NodeKind::gpu : NodeKind::nic;
  node.name = known.name;
  node.parent = above;
  node.numa = made_.topology.node(above).numa;
  nodes_[device] = made_.topology.add(std::move(node));
  made_.topology.join(above, nodes_[device], LinkKind::pcie);
}

/// A GPU has at most 18 NVLinks so far: three or more that have 12 or more for each other share them through a switch.
bool Machine::is_switched() const {
  constexpr int fewest_links = 12;
  int links = 0;
  std::size_t gpus = 0;
  for (std::size_t one = 0; one < size_; ++one) {
    if (!table_.devices[one].gpu) continue;
    ++gpus;
    for (std::size_t other = 0; other < one; ++other) {
      if (!table_.devices[other].gpu) continue;
      const Cell& cell = table_.cells[one][other];
      if (cell.path != Path::nvlink || (links != 0 && links != cell.links)) return false;
      links = cell.links;
    }
  }
  return gpus >= 3 && links >= fewest_links;
}

void Machine::join_gpus() {
  NodeId nvswitch = no_node;
  if (is_switched()) {
    TopologyNode node;
    node.kind = NodeKind::nvswitch;
    node.name = "NVSwitch";
    node.parent = 0;
    nvswitch = made_.topology.add(std::move(node));
  }
  for (std::size_t one = 0; one < size_; ++one) {
    nvlinks_ = nvlinks_ || std::ranges::any_of(table_.cells[one], [](const Cell& cell) { return cell.path == Path::nvlink; });
    if (nvswitch != no_node) {
      if (table_.devices[one].gpu) made_.topology.join(nodes_[one], nvswitch, LinkKind::nvlink);
      continue;
    }
    for (std::size_t other = 0; other < one; ++other)
      if (table_.cells[one][other].path == Path::nvlink) made_.topology.join(nodes_[other], nodes_[one], LinkKind::nvlink);
  }
}

Imported Machine::build(std::string_view name) {
  TopologyNode host;
  host.name = "host 0";
  made_.topology.add(std::move(host));
  group();
  for (std::size_t device = 0; device < size_; ++device) add_device(device);
  join_gpus();
  made_.topology.rank_everything();
  warn(name, "the table names no bandwidths; they are unknown");
  if (nvlinks_) warn(name, "between GPUs with NVLinks the table hides the way over PCIe; they have one through their packages");
  if (numa_missing_) warn(name, "not every NUMA Affinity is one node; packages without one have no NUMA node");
  if (unplaced_) warn(name, "nothing tells the packages of some devices; taken as one");
  return std::move(made_);
}

}  // namespace

Result<Imported> read_nvidia_smi(std::string_view text, std::string_view name) {
  auto table = nvidia::read_table(text, name);
  if (!table.ok()) return table.status();
  return Machine(*table).build(name);
}

}  // namespace toric
