#include "toric/topology/layout_parts.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace toric::picture {

namespace {

bool is_device(NodeKind kind) { return kind == NodeKind::gpu || kind == NodeKind::nic; }

class Builder {
 public:
  Builder(const Topology& topology, NodeId host)
      : topology_(topology), children_(topology.nodes.size()), neighbours_(topology.nodes.size()) {
    for (std::size_t i = 0; i < topology.nodes.size(); ++i)
      if (const NodeId parent = topology.nodes[i].parent; parent != no_node)
        children_[static_cast<std::size_t>(parent)].push_back(static_cast<NodeId>(i));
    for (const TopologyLink& link : topology.links) neighbours_[static_cast<std::size_t>(link.from)].push_back(link.to);
    has_gpus_ = contains_gpu(host);
  }

  std::vector<Part> collect(NodeId id) {
    std::vector<Part> inside;
    for (const NodeId child : children_[static_cast<std::size_t>(id)]) std::ranges::move(collect(child), std::back_inserter(inside));
    const NodeKind kind = topology_.node(id).kind;
    const bool joined = !neighbours_[static_cast<std::size_t>(id)].empty();
    if (kind == NodeKind::core && has_gpus_) return {};
    if (kind == NodeKind::cache && (has_gpus_ || inside.size() <= 1)) return inside;
    if (kind == NodeKind::numa && (has_gpus_ || inside.empty())) return inside;
    if (kind == NodeKind::pcie_switch && inside.empty() && !joined) return {};
    std::vector<Part> made(1);
    made[0].nodes = {id};
    made[0].kind = kind;
    if (is_device(kind))
      std::ranges::move(inside, std::back_inserter(made));
    else
      made[0].inside = std::move(inside);
    arrange(made[0]);
    return made;
  }

 private:
  bool contains_gpu(NodeId id) {
    const auto& below = children_[static_cast<std::size_t>(id)];
    return topology_.node(id).kind == NodeKind::gpu || std::ranges::any_of(below, [&](NodeId child) { return contains_gpu(child); });
  }

  bool are_joined(const Part& one, const Part& other) const {
    const auto& near = neighbours_[static_cast<std::size_t>(one.nodes.front())];
    return std::ranges::find(near, other.nodes.front()) != near.end();
  }

  void arrange(Part& part) {
    const bool devices = std::ranges::any_of(part.inside, [](const Part& each) { return is_device(each.kind); });
    std::vector<Part> row;
    for (Part& each : part.inside) {
      const bool leaf = each.inside.empty();
      if (each.kind == NodeKind::nvswitch)
        part.below.push_back(std::move(each));
      else if (devices && leaf && (each.kind == NodeKind::package || each.kind == NodeKind::pcie_switch))
        part.above.push_back(std::move(each));
      else
        row.push_back(std::move(each));
    }
    fold(part.below);
    part.inside = fold_nics(beside_their_gpus(std::move(row)));
  }

  static void fold(std::vector<Part>& alike) {
    for (std::size_t i = 1; i < alike.size(); ++i) std::ranges::copy(alike[i].nodes, std::back_inserter(alike[0].nodes));
    if (!alike.empty()) alike.resize(1);
  }

  /// Each NIC right after a gpu of the row that it is joined to.
  std::vector<Part> beside_their_gpus(std::vector<Part> row) const {
    std::vector<std::size_t> order;
    std::vector<bool> taken(row.size(), false);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].kind == NodeKind::nic && has_gpu_beside(row, i)) continue;
      order.push_back(i);
      for (std::size_t j = 0; row[i].kind == NodeKind::gpu && j < row.size(); ++j) {
        if (row[j].kind != NodeKind::nic || taken[j] || !are_joined(row[i], row[j])) continue;
        taken[j] = true;
        order.push_back(j);
      }
    }
    std::vector<Part> ordered;
    for (const std::size_t i : order) ordered.push_back(std::move(row[i]));
    return ordered;
  }

  bool has_gpu_beside(const std::vector<Part>& row, std::size_t nic) const {
    return std::ranges::any_of(row, [&](const Part& each) { return each.kind == NodeKind::gpu && are_joined(each, row[nic]); });
  }

  std::vector<Part> fold_nics(std::vector<Part> row) const {
    std::map<std::string, std::vector<std::size_t>> alike;  // by model
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i].kind == NodeKind::nic && !has_gpu_beside(row, i)) alike[topology_.node(row[i].nodes.front()).model].push_back(i);
    std::vector<bool> gone(row.size(), false);
    for (const auto& [model, group] : alike) {
      if (group.size() <= 2) continue;
      for (std::size_t i = 1; i < group.size(); ++i) {
        row[group[0]].nodes.push_back(row[group[i]].nodes.front());
        gone[group[i]] = true;
      }
    }
    std::vector<Part> kept;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!gone[i]) kept.push_back(std::move(row[i]));
    return kept;
  }

  const Topology& topology_;
  std::vector<std::vector<NodeId>> children_, neighbours_;
  bool has_gpus_ = false;
};

std::pair<double, double> leaf_size(const Part& part) {
  switch (part.kind) {
    case NodeKind::gpu:
      return {70, 42};
    case NodeKind::nic:
      return {58, 42};
    case NodeKind::core:
      return {70, 34};
    default:
      return {130, 42};
  }
}

void measure(Part& part) {
  if (part.inside.empty() && part.above.empty() && part.below.empty()) {
    std::tie(part.width, part.height) = leaf_size(part);
    return;
  }
  for (Part& each : part.inside) measure(each);
  const bool cores = std::ranges::all_of(part.inside, [](const Part& each) { return each.kind == NodeKind::core; });
  if (cores && part.inside.size() > 4) part.columns = part.inside.size() > 32 ? 8 : 4;
  double width = 0;
  const double gap = cores ? core_gap : row_gap;
  const std::size_t across = part.columns > 0 ? static_cast<std::size_t>(part.columns) : part.inside.size();
  for (std::size_t i = 0; i < std::min(across, part.inside.size()); ++i) width += part.inside[i].width + (i > 0 ? gap : 0);
  part.width = std::max(width, 130.0) + 2 * padding;
  const double above = static_cast<double>(part.above.size()), below = static_cast<double>(part.below.size());
  part.height = padding + bar_height + above * (bar_gap + bar_height) + (cores || part.kind == NodeKind::host ? row_gap : bar_gap) +
                row_height(part) + below * (below_gap + bar_height) + padding;
}

}  // namespace

double row_height(const Part& part) {
  double height = 0;
  for (const Part& each : part.inside) height = std::max(height, each.height);
  if (part.columns == 0) return height;
  const std::size_t rows = (part.inside.size() + static_cast<std::size_t>(part.columns) - 1) / static_cast<std::size_t>(part.columns);
  return static_cast<double>(rows) * (height + core_gap) - core_gap;
}

Part parts_of(const Topology& topology, NodeId host) {
  Part part = Builder(topology, host).collect(host).front();
  measure(part);
  return part;
}

}  // namespace toric::picture
