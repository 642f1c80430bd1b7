// hwloc's XML, read without hwloc: so files of all its versions are read wherever Toric runs. Names, parents and links are
// those of discovery. Of the devices, GPUs, network devices and NVSwitches are kept, and the PCI bridges above them; host
// bridges are not: their children hang at the part of the machine that is near.
#include "toric/topology/hwloc_distances.hpp"
#include "toric/topology/hwloc_values.hpp"
#include "toric/topology/nccl_document.hpp"
#include "toric/topology/nccl_values.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace toric {

namespace {

using namespace hwloc_xml;

/// What an object hands to those below it.
struct Place {
  NodeId parent = no_node;
  bool in_core = false;
  int numa = -1;           // of the nearest object that is no device
  std::vector<int> cpus;   // of the nearest object that is no device
  pugi::xml_node adopted;  // a NUMA node that held nothing but this object in version 1: it goes in here
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Imported> read() {
    TORIC_TRY(document_.parse(text_, name_));
    TORIC_TRY(read_version());
    Result<std::vector<Bandwidths>> matrices = nvlink_bandwidths(document_);
    if (!matrices.ok()) return matrices.status();
    for (const Bandwidths& matrix : *matrices) linked_.insert(matrix.objects.begin(), matrix.objects.end());

    const pugi::xml_node machine = document_.root().child("object");
    if (type_of(machine) != "Machine")
      return document_.wrong(machine ? machine : document_.root(),
                             fmt::format("expected an object of type Machine in the topology, found '{}'", type_of(machine)));
    TORIC_TRY(visit(machine, {}));
    TORIC_TRY(finish_host(machine));
    for (const Bandwidths& matrix : *matrices) join_by(matrix);
    if (made_.topology.of_kind(NodeKind::core).empty()) return document_.wrong(machine, "expected a machine with CPUs, found no PU");
    made_.topology.rank_everything();
    TORIC_TRY(validate_all());
    made_.warnings = warnings_.lines(name_);
    return std::move(made_);
  }

 private:
  Status read_version() {
    const pugi::xml_node root = document_.root();
    if (std::string_view(root.name()) != "topology")
      return document_.wrong(root, fmt::format("expected <topology>, found <{}>", root.name()));
    const std::string_view text = root.attribute("version").value();
    version_ = text.empty() ? 1 : static_cast<int>(std::clamp<long long>(nccl::integer(text.substr(0, text.find('.'))).value_or(0), 0, 9));
    if (version_ >= 1 && version_ <= 3) return {};
    return document_.wrong(root, fmt::format("expected version 1, 2 or 3 of hwloc's XML, found \"{}\"", text));
  }

  /// What is left to check of what hwloc would never write.
  Status validate_all() {
    const Status valid = validate(made_.topology);
    if (valid.ok()) return {};
    return document_.wrong(document_.root(), fmt::format("expected a machine that makes sense: {}", valid.text()));
  }

  // As deep as the document is, which is bounded.
  Status visit(pugi::xml_node element, Place place) {
    const std::string_view type = type_of(element);
    if (type == "Misc") return {};
    if (is_device(element)) return visit_device(element, place);
    TORIC_TRY(read_sets(element, place));
    if (type == "NUMANode") return visit_numa(element, place);
    if (++objects_[std::string(type)] == 1) note_unknown(element);

    const std::optional<NodeKind> kind = kind_of(element);
    if (kind == NodeKind::host && place.parent != no_node)
      return document_.wrong(element, "expected one Machine, found one inside another");
    if (kind || (type == "PU" && !place.in_core)) {
      const NodeKind made = kind.value_or(NodeKind::core);  // a machine that does not tell its cores: each CPU counts as one
      TORIC_TRY(add(element, made, place));
      place.in_core = place.in_core || made == NodeKind::core;
    }
    const pugi::xml_node adopted = std::exchange(place.adopted, {});
    if (adopted) TORIC_TRY(add_numa(adopted, place));
    TORIC_TRY(visit_children(element, place));
    return adopted ? visit_children(adopted, place, element) : Status();
  }

  /// Memory first, devices last, whatever the file's order: as hwloc lists them.
  Status visit_children(pugi::xml_node element, const Place& place, pugi::xml_node except = {}) {
    const auto order = [](pugi::xml_node child) { return is_device(child) ? 2 : is_memory(child) && !holds_cpus(child) ? 0 : 1; };
    for (int turn = 0; turn < 3; ++turn)
      for (const pugi::xml_node child : element.children("object"))
        if (child != except && order(child) == turn) TORIC_TRY(visit(child, place));
    return {};
  }

  static bool holds_cpus(pugi::xml_node numa) {
    return std::ranges::any_of(numa.children("object"), [](pugi::xml_node child) { return !is_device(child) && !is_memory(child); });
  }

  /// In version 1 a level of its own; from version 2 on it hangs beside what it held.
  Status visit_numa(pugi::xml_node element, Place& place) {
    pugi::xml_node only;
    int parts = 0;
    for (const pugi::xml_node child : element.children("object")) {
      if (is_device(child) || type_of(child) == "Misc") continue;
      only = child;
      ++parts;
    }
    const std::string_view cpus = element.attribute("cpuset").value();
    if (parts == 1 && kind_of(only) == NodeKind::package && cpus == only.attribute("cpuset").value()) {
      place.adopted = element;
      return visit(only, std::move(place));
    }
    TORIC_TRY(add_numa(element, place));
    return visit_children(element, place);
  }

  Status add_numa(pugi::xml_node element, Place place) {
    TORIC_TRY(read_sets(element, place));
    return add(element, NodeKind::numa, place);
  }

  void note_unknown(pugi::xml_node element) {
    constexpr std::array known = {"Group", "Die", "MemCache", "PU", "Cache", "Tile", "Module"};
    const std::string_view type = type_of(element);
    const bool instructions = type.starts_with('L') && type.ends_with("iCache");
    if (kind_of(element) || cache_level(element) > 0 || instructions || std::ranges::find(known, type) != known.end()) return;
    warnings_.add("left out an object of a type that is not known; what it contains is kept", document_.line_of(element), type);
  }

  /// An object without a set is where its parent is.
  Status read_sets(pugi::xml_node element, Place& place) {
    pugi::xml_attribute cpus = element.attribute("cpuset");
    if (!cpus) cpus = element.attribute("complete_cpuset");
    if (cpus) {
      std::optional<std::vector<int>> read = bits(cpus.value());
      if (!read) return wrong_set(element, cpus);
      place.cpus = std::move(*read);
    }
    if (const pugi::xml_attribute nodes = element.attribute("nodeset")) {
      const std::optional<std::vector<int>> read = bits(nodes.value());
      if (!read) return wrong_set(element, nodes);
      place.numa = read->size() == 1 ? read->front() : -1;
    }
    return {};
  }

  [[nodiscard]] Status wrong_set(pugi::xml_node element, pugi::xml_attribute set) const {
    constexpr std::size_t longest = 80;
    return document_.wrong(element, fmt::format("expected {} of hexadecimal words with numbers below 1048576, found \"{}\"", set.name(),
                                                std::string_view(set.value()).substr(0, longest)));
  }

  /// -1: not there.
  Result<long long> number(pugi::xml_node element, const char* name) const {
    const pugi::xml_attribute attribute = element.attribute(name);
    if (!attribute) return -1;
    const std::optional<long long> value = nccl::integer(attribute.value());
    if (value && *value >= 0) return *value;
    return document_.wrong(element, fmt::format("expected {} to be a number from 0 up, found \"{}\"", name, attribute.value()));
  }

  /// The new node is the parent from then on, but for NUMA nodes, which hold nothing.
  Status add(pugi::xml_node element, NodeKind kind, Place& place) {
    TopologyNode node;
    node.kind = kind;
    node.parent = place.parent;
    node.numa = place.numa;
    node.cpus = place.cpus;
    const Result<long long> os_index = number(element, "os_index");
    if (!os_index.ok()) return os_index.status();
    // hwloc writes 2^32 - 1 for none.
    if (kind != NodeKind::cache && *os_index <= std::numeric_limits<int>::max()) node.os_index = static_cast<int>(*os_index);
    TORIC_TRY(describe(element, node));
    const Result<NodeId> id = append(element, std::move(node));
    if (!id.ok()) return id.status();
    if (place.parent != no_node) made_.topology.join(place.parent, *id, link_kind(kind));
    if (const pugi::xml_attribute key = element.attribute("gp_index")) by_key_.emplace(key.value(), *id);
    if (kind != NodeKind::numa) place.parent = *id;
    return {};
  }

  Status describe(pugi::xml_node element, TopologyNode& node) {
    const int logical = numbers_[static_cast<std::size_t>(node.kind)]++;
    const Result<long long> bytes = number(element, node.kind == NodeKind::cache ? "cache_size" : "local_memory");
    if (!bytes.ok()) return bytes.status();
    node.bytes = static_cast<std::uint64_t>(std::max<long long>(*bytes, 0));
    if (node.kind == NodeKind::cache) {
      node.level = cache_level(element);
      node.name = fmt::format("L{}", node.level);
    } else {
      node.name = fmt::format("{} {}", name_of(node.kind), node.os_index >= 0 ? node.os_index : logical);
    }
    if (node.kind == NodeKind::package) node.model = info(element, "CPUModel");
    return {};
  }

  static LinkKind link_kind(NodeKind inner) {
    if (inner == NodeKind::numa) return LinkKind::memory;
    return inner == NodeKind::package ? LinkKind::package : LinkKind::cache;
  }

  /// Lists of CPUs can be much longer than what they are written as, and devices copy them.
  Result<NodeId> append(pugi::xml_node element, TopologyNode node) {
    listed_ += node.cpus.size();
    constexpr std::size_t always = 65536, per_byte = 16;
    if (listed_ > always + per_byte * text_.size())
      return document_.wrong(element,
                             fmt::format("expected fewer CPUs: those listed so far are {}, for {} bytes of text", listed_, text_.size()));
    return made_.topology.add(std::move(node));
  }

  Status finish_host(pugi::xml_node machine) {
    TopologyNode& host = made_.topology.nodes.front();
    host.name = info(machine, "HostName");
    if (host.name.empty()) host.name = info(document_.root(), "HostName");  // from version 3 on
    if (host.name.empty()) host.name = "host";
    for (const TopologyNode& node : made_.topology.nodes)
      if (node.kind == NodeKind::numa) host.bytes += node.bytes;

    const pugi::xml_attribute set = machine.attribute("allowed_cpuset");
    std::optional<std::vector<int>> allowed = bits(set.value());
    if (!allowed) return wrong_set(machine, set);
    if (allowed->empty()) allowed = host.cpus;  // nothing told, or everything
    std::ranges::set_intersection(*allowed, host.cpus, std::back_inserter(made_.topology.allowed_cpus));
    return {};
  }

  // Devices.

  Status visit_device(pugi::xml_node element, Place place) {
    if (!is_kept(element)) {
      note_dropped(element);
      return {};
    }
    if (type_of(element) == "PCIDev") return add_function(element, place);
    const bool host_bridge = std::string_view(element.attribute("bridge_type").value()).starts_with("0-");
    if (!host_bridge) {
      const std::string address = nccl::address(element.attribute("pci_busid").value());
      const Result<NodeId> id = add_device(element, NodeKind::pcie_switch, address.empty() ? "PCIe" : "PCIe " + address, address, place);
      if (!id.ok()) return id.status();
      place.parent = *id;
    }
    for (const pugi::xml_node child : element.children("object")) TORIC_TRY(visit(child, place));
    return {};
  }

  [[nodiscard]] bool is_nvswitch(pugi::xml_node element) const { return linked_.contains(element.attribute("gp_index").value()); }

  /// As deep as the document is, which is bounded.
  [[nodiscard]] bool is_kept(pugi::xml_node element) const {
    if (type_of(element) == "PCIDev") return is_nvswitch(element) || function_of(element, version_).role != Role::other;
    if (type_of(element) != "Bridge") return false;
    return std::ranges::any_of(element.children("object"), [this](pugi::xml_node child) { return is_kept(child); });
  }

  void note_dropped(pugi::xml_node element) {
    if (type_of(element) == "OSDev") {
      const SystemDevice device = system_device(element, version_);
      if (device.compute || device.net || device.fabrics)
        warnings_.add("left out a device that is no PCI device", document_.line_of(element), device.name);
    } else if (std::string_view(element.attribute("pci_type").value()).starts_with("03")) {
      warnings_.add("left out a display that does not compute", document_.line_of(element), element.attribute("pci_busid").value());
    }
  }

  Status add_function(pugi::xml_node element, const Place& place) {
    const Function function = function_of(element, version_);
    std::vector<NodeId> made;
    const auto add_one = [&](NodeKind kind, std::string name) -> Status {
      const Result<NodeId> id = add_device(element, kind, std::move(name), function.address, place);
      if (!id.ok()) return id.status();
      made.push_back(*id);
      return {};
    };
    if (function.role == Role::gpu) {
      TORIC_TRY(add_one(NodeKind::gpu, function.gpu_number >= 0 ? fmt::format("gpu {}", function.gpu_number) : "gpu " + function.address));
      made_.topology.nodes.back().os_index = function.gpu_number;
      if (!function.gpu_model.empty()) made_.topology.nodes.back().model = function.gpu_model;
    } else if (function.role == Role::nic) {
      for (const std::string& name : function.names) TORIC_TRY(add_one(NodeKind::nic, name));
    } else {
      TORIC_TRY(add_one(NodeKind::nvswitch, fmt::format("nvswitch {}", numbers_[static_cast<std::size_t>(NodeKind::nvswitch)]++)));
    }
    if (const pugi::xml_attribute key = element.attribute("gp_index")) by_key_.emplace(key.value(), made.front());
    for (const pugi::xml_node child : element.children("object"))
      if (const pugi::xml_attribute key = child.attribute("gp_index")) by_key_.emplace(key.value(), made.front());
    return {};
  }

  Result<NodeId> add_device(pugi::xml_node element, NodeKind kind, std::string name, std::string address, const Place& place) {
    const Result<double> bandwidth = bandwidth_of(element);
    if (!bandwidth.ok()) return bandwidth.status();
    TopologyNode node;
    node.kind = kind;
    node.name = std::move(name);
    node.address = std::move(address);
    node.parent = place.parent;
    node.numa = place.numa;
    node.cpus = place.cpus;
    node.model = info(element, "PCIDevice");
    if (node.model.empty()) node.model = element.attribute("name").value();  // version 1
    const Result<NodeId> id = append(element, std::move(node));
    if (id.ok()) made_.topology.join(place.parent, *id, LinkKind::pcie, *bandwidth);
    return id;
  }

  /// From GB/s; 0: unknown.
  Result<double> bandwidth_of(pugi::xml_node element) const {
    const std::string_view text = element.attribute("pci_link_speed").value();
    constexpr double most = 1e6, gigabyte = 1e9;
    double speed = 0;
    if (text.empty()) return speed;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error == std::errc() && end == text.data() + text.size() && speed >= 0 && speed <= most) return speed * gigabyte;
    return document_.wrong(element, fmt::format("expected pci_link_speed in GB/s, found \"{}\"", text));
  }

  /// One link for each pair that has a bandwidth: the matrix tells both directions.
  void join_by(const Bandwidths& matrix) {
    constexpr double megabyte = 1e6;
    const std::size_t count = matrix.objects.size();
    std::vector<NodeId> nodes;
    for (const std::string& object : matrix.objects) {
      const auto known = by_key_.find(object);
      nodes.push_back(known == by_key_.end() ? no_node : known->second);
      if (known == by_key_.end())
        warnings_.add("left out the NVLinks of an object that is not there", document_.line_of(matrix.element), object);
    }
    for (std::size_t from = 0; from < count; ++from)
      for (std::size_t to = 0; to < count; ++to) {
        const double value = matrix.values[from * count + to];
        if (value <= 0 || nodes[from] == no_node || nodes[to] == no_node || nodes[from] == nodes[to]) continue;
        if (!joined_.emplace(nodes[from], nodes[to]).second) continue;  // told of two devices of one GPU
        made_.topology.links.push_back({nodes[from], nodes[to], LinkKind::nvlink, value * megabyte, 0});
      }
  }

  std::string_view text_, name_;
  nccl::Document document_;
  nccl::Warnings warnings_;
  int version_ = 1;
  Imported made_;
  std::size_t listed_ = 0;
  std::array<int, 16> numbers_{};                 // nodes of each kind so far
  std::unordered_map<std::string, int> objects_;  // of each type so far
  std::unordered_map<std::string, NodeId> by_key_;
  std::set<std::string, std::less<>> linked_;  // gp_index of all that NVLinks join
  std::set<std::pair<NodeId, NodeId>> joined_;
};

}  // namespace

Result<Imported> read_hwloc_xml(std::string_view text, std::string_view name) { return Reader(text, name).read(); }

}  // namespace toric
