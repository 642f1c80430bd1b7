#include "toric/topology/validate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

namespace {

constexpr std::string_view no_name = "unknown";  // of what is no enumerator

Status wrong(std::string what) { return {Code::invalid_argument, std::move(what)}; }

std::string named(const Topology& topology, NodeId id) {
  const TopologyNode& node = topology.node(id);
  return "node " + std::to_string(id) + " (" + std::string(name_of(node.kind)) + (node.name.empty() ? "" : " '" + node.name + "'") + ")";
}

bool is_in(const Topology& topology, NodeId id) { return id >= 0 && static_cast<std::size_t>(id) < topology.nodes.size(); }

bool ascend(const std::vector<int>& cpus) {
  return (cpus.empty() || cpus.front() >= 0) && std::ranges::adjacent_find(cpus, std::ranges::greater_equal()) == cpus.end();
}

bool is_lower_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

/// dddd:bb:dd.f; domains of virtual devices may have more digits.
bool is_address(std::string_view text) {
  if (text.size() < 12) return false;
  const std::size_t domain = text.size() - 8;
  const std::string_view rest = text.substr(domain);
  return domain <= 8 && is_lower_hex(text.substr(0, domain)) && rest[0] == ':' && is_lower_hex(rest.substr(1, 2)) && rest[3] == ':' &&
         is_lower_hex(rest.substr(4, 2)) && rest[6] == '.' && is_lower_hex(rest.substr(7, 1));
}

bool is_processor_part(NodeKind kind) {
  return kind == NodeKind::host || kind == NodeKind::package || kind == NodeKind::numa || kind == NodeKind::cache || kind == NodeKind::core;
}

Status validate_parent(const Topology& topology, NodeId id) {
  const TopologyNode& node = topology.node(id);
  const bool outermost = node.kind == NodeKind::host || node.kind == NodeKind::network_switch;
  if (outermost && node.parent != no_node) return wrong(named(topology, id) + " has a parent; expected none");
  if (outermost || (node.kind == NodeKind::nvswitch && node.parent == no_node)) return {};
  if (node.parent < 0 || node.parent >= id)
    return wrong(named(topology, id) + " has parent " + std::to_string(node.parent) +
                 "; expected a node before it, the one that contains it");
  return {};
}

Status validate_ranks(const Topology& topology) {
  std::vector<Rank> rank_of(topology.nodes.size(), -1);
  for (std::size_t rank = 0; rank < topology.ranks.size(); ++rank) {
    const NodeId id = topology.ranks[rank];
    const std::string who = "rank " + std::to_string(rank);
    if (!is_in(topology, id)) return wrong(who + " is on node " + std::to_string(id) + ", which is not there");
    const NodeKind kind = topology.node(id).kind;
    if (kind != NodeKind::gpu && kind != NodeKind::core) return wrong(who + " is on " + named(topology, id) + "; expected a gpu or a core");
    Rank& other = rank_of[static_cast<std::size_t>(id)];
    if (other >= 0) return wrong(who + " is on " + named(topology, id) + ", where rank " + std::to_string(other) + " is already");
    other = static_cast<Rank>(rank);
  }
  return {};
}

/// FNV-1a over bytes whose order does not depend on the machine.
class Hash {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<unsigned char>(value >> shift));
  }
  void add(int value) { add(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))); }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value + 0.0)); }  // -0 becomes 0, which it equals
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  }
  void add(const std::vector<int>& values) {
    add(std::uint64_t{values.size()});
    for (const int value : values) add(value);
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

Status validate_node(const Topology& topology, NodeId id) {
  const TopologyNode& node = topology.node(id);
  if (name_of(node.kind) == no_name) return wrong("node " + std::to_string(id) + " is of no known kind");
  if (id == 0 && node.kind != NodeKind::host) return wrong(named(topology, id) + " is the first; expected a host");
  TORIC_TRY(validate_parent(topology, id));
  if (node.os_index < -1 || node.numa < -1) return wrong(named(topology, id) + " has a number below 0; expected none, or one from 0");
  if (node.kind == NodeKind::cache ? node.level < 1 : node.level != 0)
    return wrong(named(topology, id) + " has level " + std::to_string(node.level) + "; expected 1 or more of a cache, 0 of all others");
  if (!ascend(node.cpus)) return wrong(named(topology, id) + " has CPUs that do not ascend from 0 or more");
  if (!node.address.empty() && !is_address(node.address))
    return wrong(named(topology, id) + " has the address '" + node.address + "'; expected dddd:bb:dd.f in lower case");
  return {};
}

Status validate_link(const Topology& topology, std::size_t index) {
  const TopologyLink& link = topology.links[index];
  const std::string who = "link " + std::to_string(index);
  for (const NodeId end : {link.from, link.to})
    if (!is_in(topology, end)) return wrong(who + " joins node " + std::to_string(end) + ", which is not there");
  if (link.from == link.to) return wrong(who + " joins " + named(topology, link.from) + " to itself");
  if (name_of(link.kind) == no_name) return wrong(who + " is of no known kind");
  if (!std::isfinite(link.bandwidth) || link.bandwidth < 0 || !std::isfinite(link.latency) || link.latency < 0)
    return wrong(who + " has a bandwidth or latency that is not a number from 0");
  const bool inner = link.kind == LinkKind::cache || link.kind == LinkKind::memory;
  for (const NodeId end : {link.from, link.to})
    if (inner && !is_processor_part(topology.node(end).kind))
      return wrong(who + " is a " + std::string(name_of(link.kind)) + " link to " + named(topology, end) +
                   "; expected a host, package, numa, cache or core");
  return {};
}

Status validate(const Topology& topology) {
  if (topology.nodes.empty()) return wrong("a topology without nodes; expected a host at least");
  for (std::size_t id = 0; id < topology.nodes.size(); ++id) TORIC_TRY(validate_node(topology, static_cast<NodeId>(id)));
  for (std::size_t index = 0; index < topology.links.size(); ++index) TORIC_TRY(validate_link(topology, index));
  if (!ascend(topology.allowed_cpus)) return wrong("the allowed CPUs do not ascend from 0 or more");
  return validate_ranks(topology);
}

std::uint64_t hash_of(const Topology& topology) {
  Hash hash;
  hash.add(std::string_view("toric topology 1"));
  hash.add(std::uint64_t{topology.nodes.size()});
  for (const TopologyNode& node : topology.nodes) {
    hash.add(name_of(node.kind));
    hash.add(std::string_view(node.name));
    for (const int value : {node.parent, node.os_index, node.level, node.numa}) hash.add(value);
    hash.add(node.bytes);
    hash.add(node.cpus);
    hash.add(std::string_view(node.model));
    hash.add(std::string_view(node.address));
  }
  hash.add(std::uint64_t{topology.links.size()});
  for (const TopologyLink& link : topology.links) {
    hash.add(link.from);
    hash.add(link.to);
    hash.add(name_of(link.kind));
    hash.add(link.bandwidth);
    hash.add(link.latency);
  }
  hash.add(topology.allowed_cpus);
  hash.add(topology.ranks);
  return hash.value();
}

}  // namespace toric
