// Writing. The grammar is in docs/topology.md; reading is in text_reader.cpp.
#include "toric/topology/text_form.hpp"

#include "toric/topology/quantity.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace toric {

namespace {

std::string in_quotes(std::string_view text) {
  std::string written = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\')
      written += {'\\', letter};
    else if (byte < 0x20 || byte == 0x7f)
      written += fmt::format("\\x{:02x}", byte);
    else
      written += letter;
  }
  return written + '"';
}

/// "0-3,8": neighbours that grow by one are a range, in whatever order the ranges come.
std::string list_text(std::span<const int> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] - 1 == numbers[last]) ++last;
    if (!text.empty()) text += ',';
    fmt::format_to(std::back_inserter(text), "{}", numbers[first]);
    if (last > first) fmt::format_to(std::back_inserter(text), "-{}", numbers[last]);
    first = last + 1;
  }
  return text;
}

void write_node(std::string& text, const TopologyNode& node, std::size_t id) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "node {} {}", id, name_of(node.kind));
  if (!node.name.empty()) text += ' ' + in_quotes(node.name);
  if (node.parent != no_node) fmt::format_to(out, " in {}", node.parent);
  if (node.os_index >= 0) fmt::format_to(out, " os {}", node.os_index);
  if (node.level != 0) fmt::format_to(out, " level {}", node.level);
  if (node.numa >= 0) fmt::format_to(out, " numa {}", node.numa);
  if (node.bytes != 0) text += " size " + bytes_text(node.bytes);
  if (!node.cpus.empty()) text += " cpus " + list_text(node.cpus);
  if (!node.model.empty()) text += " model " + in_quotes(node.model);
  if (!node.address.empty()) text += " address " + node.address;
  text += '\n';
}

bool are_counterparts(const TopologyLink& one, const TopologyLink& other) {
  return one.from == other.to && one.to == other.from && one.kind == other.kind && one.bandwidth == other.bandwidth &&
         one.latency == other.latency;
}

void write_link(std::string& text, const TopologyLink& link, bool both_ways) {
  fmt::format_to(std::back_inserter(text), "link {} {} {}", link.from, link.to, name_of(link.kind));
  if (link.bandwidth != 0) text += ' ' + bandwidth_text(link.bandwidth);
  if (link.latency != 0) text += ' ' + latency_text(link.latency);
  text += both_ways ? "\n" : " one-way\n";
}

nlohmann::ordered_json json_of(const TopologyNode& node, std::size_t id) {
  nlohmann::ordered_json json;
  json["id"] = id;
  json["kind"] = name_of(node.kind);
  if (!node.name.empty()) json["name"] = node.name;
  if (node.parent != no_node) json["parent"] = node.parent;
  if (node.os_index >= 0) json["os_index"] = node.os_index;
  if (node.level != 0) json["level"] = node.level;
  if (node.numa >= 0) json["numa"] = node.numa;
  if (node.bytes != 0) json["bytes"] = node.bytes;
  if (!node.cpus.empty()) json["cpus"] = node.cpus;
  if (!node.model.empty()) json["model"] = node.model;
  if (!node.address.empty()) json["address"] = node.address;
  return json;
}

nlohmann::ordered_json json_of(const TopologyLink& link) {
  nlohmann::ordered_json json;
  json["from"] = link.from;
  json["to"] = link.to;
  json["kind"] = name_of(link.kind);
  if (link.bandwidth != 0) json["bandwidth"] = link.bandwidth;
  if (link.latency != 0) json["latency"] = link.latency;
  return json;
}

/// Pairs of directed links, each link of a pair counted once, and links without a counterpart.
std::size_t joints(const Topology& topology) {
  using Key = std::tuple<NodeId, NodeId, LinkKind, bool>;  // the lower end, the higher end, the kind, upwards
  std::vector<Key> keys;
  keys.reserve(topology.links.size());
  for (const TopologyLink& link : topology.links)
    keys.emplace_back(std::min(link.from, link.to), std::max(link.from, link.to), link.kind, link.from < link.to);
  std::ranges::sort(keys);
  std::size_t count = 0;
  for (std::size_t first = 0; first < keys.size();) {
    std::array<std::size_t, 2> ways{};
    const auto [low, high, kind, ignored] = keys[first];
    std::size_t end = first;
    while (end < keys.size() && std::get<0>(keys[end]) == low && std::get<1>(keys[end]) == high && std::get<2>(keys[end]) == kind)
      ++ways[std::get<3>(keys[end++]) ? 1 : 0];
    count += std::max(ways[0], ways[1]);
    first = end;
  }
  return count;
}

}  // namespace

std::string topology_text(const Topology& topology) {
  std::string text = "toric topology 1\n";
  for (std::size_t id = 0; id < topology.nodes.size(); ++id) write_node(text, topology.nodes[id], id);
  const std::vector<TopologyLink>& links = topology.links;
  for (std::size_t index = 0; index < links.size(); ++index) {
    const bool both_ways = index + 1 < links.size() && are_counterparts(links[index], links[index + 1]);
    write_link(text, links[index], both_ways);
    if (both_ways) ++index;
  }
  if (!topology.allowed_cpus.empty()) text += "allowed " + list_text(topology.allowed_cpus) + '\n';
  if (!topology.ranks.empty()) text += "ranks " + list_text(topology.ranks) + '\n';
  return text;
}

std::string to_json(const Topology& topology) {
  nlohmann::ordered_json json;
  json["format"] = "toric topology 1";
  json["nodes"] = nlohmann::ordered_json::array();
  for (std::size_t id = 0; id < topology.nodes.size(); ++id) json["nodes"].push_back(json_of(topology.nodes[id], id));
  json["links"] = nlohmann::ordered_json::array();
  for (const TopologyLink& link : topology.links) json["links"].push_back(json_of(link));
  json["ranks"] = topology.ranks;
  json["allowed_cpus"] = topology.allowed_cpus;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string summary(const Topology& topology, std::string_view shape) {
  const auto count = [&](std::initializer_list<NodeKind> kinds) {
    return std::ranges::count_if(topology.nodes,
                                 [&](const TopologyNode& node) { return std::ranges::find(kinds, node.kind) != kinds.end(); });
  };
  return fmt::format("hosts {} packages {} numa {} gpus {} nics {} switches {} links {} shape {}", count({NodeKind::host}),
                     count({NodeKind::package}), count({NodeKind::numa}), count({NodeKind::gpu}), count({NodeKind::nic}),
                     count({NodeKind::pcie_switch, NodeKind::nvswitch, NodeKind::network_switch}), joints(topology), shape);
}

}  // namespace toric
