#include "toric/topology/render_tree.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace toric {
namespace {

class Renderer {
 public:
  Renderer(const Topology& topology, std::span<const Placement> placements) : topology_(topology), placements_(placements) {}

  std::string render() {
    if (topology_.nodes.empty()) return "nothing is known\n";
    visit(0, "", "");
    return std::move(text_);
  }

 private:
  void visit(NodeId id, const std::string& first_prefix, const std::string& next_prefix) {
    std::vector<NodeId> chain = {id};
    while (is_private_cache(chain.back())) chain.push_back(topology_.children_of(chain.back()).front());
    text_ += first_prefix + line_of(chain) + "\n";
    const std::vector<NodeId> children = topology_.children_of(chain.back());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const bool last = i + 1 == children.size();
      visit(children[i], next_prefix + (last ? "└─ " : "├─ "), next_prefix + (last ? "   " : "│  "));
    }
  }

  /// A cache with nothing in it but one core, or one more such cache: shown in the core's line.
  [[nodiscard]] bool is_private_cache(NodeId id) const {
    while (topology_.node(id).kind == NodeKind::cache) {
      const std::vector<NodeId> children = topology_.children_of(id);
      if (children.size() != 1) return false;
      id = children.front();
      if (topology_.node(id).kind == NodeKind::core) return true;
    }
    return false;
  }

  [[nodiscard]] std::string line_of(const std::vector<NodeId>& chain) const {
    const TopologyNode& node = topology_.node(chain.back());
    std::string line = node.name;
    if (node.bytes != 0) line += "  " + readable_bytes(node.bytes);
    if (!node.model.empty()) line += "  " + node.model;
    if (node.kind == NodeKind::host) line += "  " + allowed_text();
    if (node.kind == NodeKind::cache) line += "  shared by cpu " + readable_cpus(node.cpus);
    if (node.kind == NodeKind::core) line += core_text(node);
    for (std::size_t i = chain.size() - 1; i-- > 0;) line += "  " + cache_text(topology_.node(chain[i]));
    if (node.kind == NodeKind::core) line += ranks_text(chain.back());
    return line;
  }

  [[nodiscard]] std::string allowed_text() const {
    return fmt::format("{} of {} CPUs allowed: {}", topology_.allowed_cpus.size(), topology_.node(0).cpus.size(),
                       topology_.allowed_cpus.empty() ? "none" : readable_cpus(topology_.allowed_cpus));
  }

  [[nodiscard]] std::string core_text(const TopologyNode& core) const {
    std::string text = "  cpu " + readable_cpus(core.cpus);
    std::vector<int> barred;
    for (const int cpu : core.cpus)
      if (!topology_.allows(cpu)) barred.push_back(cpu);
    if (!barred.empty()) text += barred.size() == core.cpus.size() ? " (not allowed)" : " (not allowed: " + readable_cpus(barred) + ")";
    return text;
  }

  static std::string cache_text(const TopologyNode& cache) {
    return cache.bytes == 0 ? cache.name : cache.name + " " + readable_bytes(cache.bytes);
  }

  [[nodiscard]] std::string ranks_text(NodeId core) const {
    std::string text;
    for (const Placement& placement : placements_) {
      if (placement.core != core) continue;
      text += fmt::format("{}{} on cpu {}", text.empty() ? "  <- rank " : ", ", placement.local_rank, placement.cpu);
    }
    return text;
  }

  const Topology& topology_;
  std::span<const Placement> placements_;
  std::string text_;
};

}  // namespace

std::string render_tree(const Topology& topology, std::span<const Placement> placements) { return Renderer(topology, placements).render(); }

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{} {}", number, units[unit]);
}

std::string readable_cpus(std::span<const int> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += last > i ? fmt::format("{}-{}", cpus[i], cpus[last]) : fmt::format("{}", cpus[i]);
    i = last + 1;
  }
  return text;
}

}  // namespace toric
