#include "toric/topology/render_dot.hpp"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <vector>

#include "toric/topology/layout.hpp"

namespace toric {

namespace {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + "\"";
}

std::string_view shape_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
    case NodeKind::core:
      return "box";
    case NodeKind::nic:
      return "house";
    case NodeKind::nvswitch:
    case NodeKind::network_switch:
    case NodeKind::pcie_switch:
      return "hexagon";
    default:
      return "ellipse";
  }
}

class DotWriter {
 public:
  explicit DotWriter(const Topology& topology) : topology_(topology), ranks_(ranks_of_nodes(topology)), in_host_(topology.nodes.size()) {}

  std::string write() {
    text_ = "graph topology {\n  node [fontname=\"sans-serif\", fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=8];\n";
    for (std::size_t i = 0; i < topology_.nodes.size(); ++i) {
      const NodeId host = topology_.host_of(static_cast<NodeId>(i));
      if (host == no_node)
        write_node(static_cast<NodeId>(i), "  ");
      else
        in_host_[static_cast<std::size_t>(host)].push_back(static_cast<NodeId>(i));
    }
    for (std::size_t host = 0; host < in_host_.size(); ++host)
      if (!in_host_[host].empty()) write_host(static_cast<NodeId>(host));
    write_edges();
    return text_ + "}\n";
  }

 private:
  void write_host(NodeId host) {
    text_ += fmt::format("  subgraph cluster_{} {{\n    label={};\n", host, quoted(topology_.node(host).name));
    for (const NodeId node : in_host_[static_cast<std::size_t>(host)]) write_node(node, "    ");
    text_ += "  }\n";
  }

  void write_node(NodeId id, std::string_view indent) {
    const TopologyNode& node = topology_.node(id);
    std::string label = node.name.empty() ? std::string(name_of(node.kind)) : node.name;
    if (const auto& ranks = ranks_[static_cast<std::size_t>(id)]; !ranks.empty()) label += fmt::format(" (rank {})", fmt::join(ranks, ","));
    text_ += fmt::format("{}n{} [label={}, shape={}];\n", indent, id, quoted(label), shape_name(node.kind));
  }

  void write_edges() {
    std::vector<int> itself(topology_.nodes.size());
    std::iota(itself.begin(), itself.end(), 0);
    for (const PlacedLink& link : joined_links(topology_, itself)) {
      std::string label(name_of(link.kind));
      if (link.count > 1) label += fmt::format(" x{}", link.count);
      if (link.bandwidth > 0) label += fmt::format(" {:.4g} GB/s", link.bandwidth / 1e9);
      text_ += fmt::format("  n{} -- n{} [label={}];\n", link.from, link.to, quoted(label));
    }
  }

  const Topology& topology_;
  const std::vector<std::vector<Rank>> ranks_;
  std::vector<std::vector<NodeId>> in_host_;
  std::string text_;
};

}  // namespace

std::string render_dot(const Topology& topology) { return DotWriter(topology).write(); }

}  // namespace toric
