#include "toric/topology/discovery.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace toric {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, Destroy>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

std::vector<int> indices(hwloc_const_bitmap_t set) {
  std::vector<int> found;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return found;  // absent, or endless
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) found.push_back(i);
  return found;
}

/// What becomes of an hwloc object; nothing: its children take its parent (groups, dies, hardware threads).
std::optional<NodeKind> kind_of(const hwloc_obj* object) {
  switch (object->type) {
    case HWLOC_OBJ_MACHINE:
      return NodeKind::host;
    case HWLOC_OBJ_PACKAGE:
      return NodeKind::package;
    case HWLOC_OBJ_NUMANODE:
      return NodeKind::numa;
    case HWLOC_OBJ_CORE:
      return NodeKind::core;
    case HWLOC_OBJ_L1CACHE:
    case HWLOC_OBJ_L2CACHE:
    case HWLOC_OBJ_L3CACHE:
    case HWLOC_OBJ_L4CACHE:
    case HWLOC_OBJ_L5CACHE:
      return NodeKind::cache;
    default:
      return std::nullopt;
  }
}

LinkKind link_kind(NodeKind inner) {
  if (inner == NodeKind::numa) return LinkKind::memory;
  return inner == NodeKind::package ? LinkKind::package : LinkKind::cache;
}

std::string host_name(bool this_host) {
  std::array<char, 256> name{};
  if (!this_host || gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "host";
  return name.data();
}

class Converter {
 public:
  explicit Converter(hwloc_topology_t source) : source_(source), this_host_(hwloc_topology_is_thissystem(source) != 0) {}

  Topology convert() {
    visit(hwloc_get_root_obj(source_), no_node, false);
    made_.allowed_cpus = allowed();
    return std::move(made_);
  }

 private:
  void visit(hwloc_obj_t object, NodeId parent, bool in_core) {
    const std::optional<NodeKind> kind = kind_of(object);
    NodeId here = parent;
    if (kind) {
      here = add(object, *kind, parent);
    } else if (object->type == HWLOC_OBJ_PU && !in_core) {
      here = add(object, NodeKind::core, parent);  // a machine that does not tell its cores: each CPU counts as one
    }
    const bool core_here = in_core || (here != parent && made_.node(here).kind == NodeKind::core);
    for (hwloc_obj_t child = object->memory_first_child; child != nullptr; child = child->next_sibling) visit(child, here, core_here);
    for (hwloc_obj_t child = object->first_child; child != nullptr; child = child->next_sibling) visit(child, here, core_here);
  }

  NodeId add(hwloc_obj_t object, NodeKind kind, NodeId parent) {
    TopologyNode node;
    node.kind = kind;
    node.parent = parent;
    node.os_index = kind == NodeKind::cache || object->os_index == HWLOC_UNKNOWN_INDEX ? -1 : static_cast<int>(object->os_index);
    node.cpus = indices(object->cpuset);
    const std::vector<int> numa = indices(object->nodeset);
    if (numa.size() == 1) node.numa = numa.front();
    describe(object, node);
    const NodeId id = made_.add(std::move(node));
    if (parent != no_node) made_.join(parent, id, link_kind(kind));
    return id;
  }

  void describe(hwloc_obj_t object, TopologyNode& node) const {
    const int number = node.os_index >= 0 ? node.os_index : static_cast<int>(object->logical_index);
    const char* model = hwloc_obj_get_info_by_name(object, "CPUModel");
    switch (node.kind) {
      case NodeKind::host:
        node.name = host_name(this_host_);
        node.bytes = object->total_memory;
        break;
      case NodeKind::numa:
        node.name = fmt::format("numa {}", number);
        if (object->attr != nullptr) node.bytes = object->attr->numanode.local_memory;
        break;
      case NodeKind::cache:
        node.level = object->attr != nullptr ? static_cast<int>(object->attr->cache.depth) : 0;
        node.bytes = object->attr != nullptr ? object->attr->cache.size : 0;
        node.name = fmt::format("L{}", node.level);
        break;
      default:
        node.name = fmt::format("{} {}", name_of(node.kind), number);
        break;
    }
    if (model != nullptr && node.kind == NodeKind::package) node.model = model;
  }

  /// What the machine allows (containers), and what the process was bound to when it was started (taskset, launchers).
  [[nodiscard]] std::vector<int> allowed() const {
    const Bitmap set(hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(source_)));
    const Bitmap bound(hwloc_bitmap_alloc());
    if (!set || !bound) return {};
    if (this_host_ && hwloc_get_cpubind(source_, bound.get(), HWLOC_CPUBIND_PROCESS) == 0 &&
        hwloc_bitmap_intersects(set.get(), bound.get()))
      hwloc_bitmap_and(set.get(), set.get(), bound.get());
    return indices(set.get());
  }

  hwloc_topology_t source_;
  bool this_host_;
  Topology made_;
};

Result<Topology> load(const std::string* synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return Status(Code::system_error, "hwloc cannot start: is there memory left?");
  const Hwloc topology(raw);
  if (synthetic != nullptr && hwloc_topology_set_synthetic(raw, synthetic->c_str()) != 0)
    return Status(Code::invalid_argument, fmt::format("'{}' describes no host: write it like 'package:2 l3:1 core:4 pu:2'", *synthetic));
  // CPUs that a container bars are kept: they are part of the machine, and shown as not allowed.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  if (hwloc_topology_load(raw) != 0)
    return Status(Code::system_error, "hwloc cannot read this machine: is /sys mounted, and readable by this user?");
  return Converter(raw).convert();
}

}  // namespace

Result<Topology> discover_host() { return load(nullptr); }

Result<Topology> describe_host(const std::string& synthetic) { return load(&synthetic); }

}  // namespace toric
