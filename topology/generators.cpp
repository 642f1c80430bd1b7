#include "toric/topology/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace toric {

namespace {

constexpr std::size_t most_sides = 16;

Status refused(std::string why) { return {Code::invalid_argument, std::move(why)}; }

Status check_ranks(std::int64_t ranks) {
  if (ranks >= 1 && ranks <= most_generated_ranks) return {};
  return refused(fmt::format("expected 1 to {} ranks, found {}", most_generated_ranks, ranks));
}

Status check_links(std::int64_t joints) {
  if (2 * joints <= static_cast<std::int64_t>(most_generated_links)) return {};
  return refused(fmt::format("expected at most {} directed links, found {}", most_generated_links, 2 * joints));
}

/// Fails before the product leaves the range.
Result<std::int64_t> product(std::span<const Side> sides) {
  if (sides.empty() || sides.size() > most_sides) return refused(fmt::format("expected 1 to {} sides, found {}", most_sides, sides.size()));
  std::int64_t ranks = 1;
  for (const Side& side : sides) {
    if (side.size < 1) return refused(fmt::format("expected sides of 1 or more, found {}", side.size));
    ranks *= side.size;
    TORIC_TRY(check_ranks(ranks));
  }
  return ranks;
}

TopologyNode node_of(NodeKind kind, std::string name, NodeId parent, int os_index, std::string model = {}) {
  TopologyNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.parent = parent;
  node.os_index = os_index;
  node.model = std::move(model);
  return node;
}

/// One host and its gpus, which are nodes 1 to `size`.
Topology chips(Rank size) {
  Topology made;
  made.nodes.reserve(static_cast<std::size_t>(size) + 2);
  made.add(node_of(NodeKind::host, "host", no_node, -1));
  for (Rank rank = 0; rank < size; ++rank) made.add(node_of(NodeKind::gpu, fmt::format("gpu {}", rank), 0, rank));
  made.rank_everything();
  return made;
}

class ClusterBuilder {
 public:
  explicit ClusterBuilder(const ClusterPlan& plan) : plan_(plan) {
    if (plan_.pcie.bandwidth == 0) plan_.pcie.bandwidth = plan_.network.bandwidth;
  }
  Result<Topology> build();

 private:
  Status check();
  void add_host(Rank gpus);
  void add_nvswitch(Rank gpus);
  void add_nics(NodeId first_gpu, Rank gpus);
  void join_hosts();
  void join_by_rails();
  void join_by_leaves();
  NodeId add_switch(std::string name) { return made_.add(node_of(NodeKind::network_switch, std::move(name), no_node, -1)); }
  void join_network(NodeId one, NodeId other) { made_.join(one, other, LinkKind::network, plan_.network.bandwidth, plan_.network.latency); }
  [[nodiscard]] std::size_t most_nics() const {
    return plan_.nic_per_gpu ? static_cast<std::size_t>(*std::ranges::max_element(plan_.gpus)) : 1;
  }
  [[nodiscard]] std::size_t leaves() const {
    const auto each = static_cast<std::size_t>(plan_.hosts_per_leaf);
    return (plan_.gpus.size() + each - 1) / each;
  }
  [[nodiscard]] std::size_t spines() const { return plan_.spines > 0 ? static_cast<std::size_t>(plan_.spines) : most_nics(); }

  ClusterPlan plan_;
  Topology made_;
  NodeId host_ = no_node;
  NodeId nvswitch_ = no_node;
  int hosts_ = 0;
  std::vector<std::vector<NodeId>> nics_;  // of each host
};

Status ClusterBuilder::check() {
  if (plan_.gpus.empty()) return refused("expected 1 host or more, found none");
  std::int64_t ranks = 0;
  for (const Rank gpus : plan_.gpus) {
    if (gpus < 1) return refused(fmt::format("expected hosts of 1 gpu or more, found {}", gpus));
    ranks += gpus;
    TORIC_TRY(check_ranks(ranks));
  }
  if (plan_.hosts_per_nvswitch < 1 || plan_.hosts_per_leaf < 1 || plan_.spines < 0)
    return refused("expected 1 host or more to a switch, and 1 spine or more");
  if (!(plan_.taper > 0)) return refused("expected a taper above 0");
  const bool has_spines = plan_.fabric == Fabric::leaf_spine && leaves() > 1;
  const auto uplinks = has_spines ? static_cast<std::int64_t>(leaves() * spines()) : 0;
  return check_links(3 * ranks + uplinks);
}

void ClusterBuilder::add_nvswitch(Rank gpus) {
  if (plan_.hosts_per_nvswitch > 1) {
    if (hosts_ % plan_.hosts_per_nvswitch == 0)
      nvswitch_ = made_.add(node_of(NodeKind::nvswitch, fmt::format("nvswitch {}", hosts_ / plan_.hosts_per_nvswitch), no_node, -1));
    return;
  }
  nvswitch_ = gpus > 1 ? made_.add(node_of(NodeKind::nvswitch, "nvswitch", host_, -1)) : no_node;
}

void ClusterBuilder::add_nics(NodeId first_gpu, Rank gpus) {
  std::vector<NodeId> nics;
  const auto add_nic = [&](int index) {
    nics.push_back(made_.add(node_of(NodeKind::nic, fmt::format("nic {}", index), host_, index, plan_.nic_model)));
    return nics.back();
  };
  const auto join = [&](NodeId one, NodeId other) { made_.join(one, other, LinkKind::pcie, plan_.pcie.bandwidth, plan_.pcie.latency); };
  if (plan_.nic_per_gpu || gpus == 1) {
    for (Rank i = 0; i < gpus; ++i) join(first_gpu + i, add_nic(i));
  } else {
    const NodeId shared = made_.add(node_of(NodeKind::pcie_switch, "pcie switch", host_, -1));
    for (Rank i = 0; i < gpus; ++i) join(first_gpu + i, shared);
    join(shared, add_nic(0));
  }
  nics_.push_back(std::move(nics));
}

void ClusterBuilder::add_host(Rank gpus) {
  host_ = made_.add(node_of(NodeKind::host, fmt::format("host {}", hosts_), no_node, -1, plan_.host_model));
  add_nvswitch(gpus);
  const auto first_gpu = static_cast<NodeId>(made_.nodes.size());
  for (Rank i = 0; i < gpus; ++i) {
    const NodeId gpu = made_.add(node_of(NodeKind::gpu, fmt::format("gpu {}", i), host_, i, plan_.gpu_model));
    if (nvswitch_ != no_node) made_.join(gpu, nvswitch_, LinkKind::nvlink, plan_.nvlink.bandwidth, plan_.nvlink.latency);
  }
  add_nics(first_gpu, gpus);
  ++hosts_;
}

void ClusterBuilder::join_by_rails() {
  for (std::size_t rail = 0; rail < most_nics(); ++rail) {
    const NodeId rail_switch = add_switch(fmt::format("rail {}", rail));
    for (const auto& nics : nics_)
      if (rail < nics.size()) join_network(nics[rail], rail_switch);
  }
}

void ClusterBuilder::join_by_leaves() {
  std::vector<NodeId> leaf_switches;
  std::size_t fullest = 0;
  std::size_t filled = 0;
  for (std::size_t host = 0; host < nics_.size(); ++host) {
    if (host % static_cast<std::size_t>(plan_.hosts_per_leaf) == 0) {
      leaf_switches.push_back(add_switch(fmt::format("leaf {}", leaf_switches.size())));
      filled = 0;
    }
    for (const NodeId nic : nics_[host]) join_network(nic, leaf_switches.back());
    filled += nics_[host].size();
    fullest = std::max(fullest, filled);
  }
  if (leaf_switches.size() < 2) return;
  const double uplink = plan_.network.bandwidth * static_cast<double>(fullest) / plan_.taper / static_cast<double>(spines());
  for (std::size_t spine = 0; spine < spines(); ++spine) {
    const NodeId spine_switch = add_switch(fmt::format("spine {}", spine));
    for (const NodeId leaf : leaf_switches) made_.join(leaf, spine_switch, LinkKind::network, uplink, plan_.network.latency);
  }
}

void ClusterBuilder::join_hosts() {
  if (nics_.size() < 2) return;
  if (plan_.fabric == Fabric::rails) return join_by_rails();
  if (plan_.fabric == Fabric::leaf_spine) return join_by_leaves();
  const NodeId network_switch = add_switch("network switch");
  for (const auto& nics : nics_)
    for (const NodeId nic : nics) join_network(nic, network_switch);
}

Result<Topology> ClusterBuilder::build() {
  TORIC_TRY(check());
  for (const Rank gpus : plan_.gpus) add_host(gpus);
  join_hosts();
  made_.rank_everything();
  return std::move(made_);
}

}  // namespace

Result<Topology> make_grid(std::span<const Side> sides, LinkSpeed speed, LinkKind kind) {
  const auto ranks = product(sides);
  if (!ranks) return ranks.status();
  TORIC_TRY(check_links(*ranks * static_cast<std::int64_t>(sides.size())));
  Topology made = chips(static_cast<Rank>(*ranks));
  made.links.reserve(static_cast<std::size_t>(*ranks) * sides.size() * 2);
  for (Rank rank = 0; rank < *ranks; ++rank) {
    Rank stride = 1;
    for (const Side& side : sides) {
      const Rank coordinate = rank / stride % side.size;
      const bool last = coordinate + 1 == side.size;
      const Rank next = last ? rank - coordinate * stride : rank + stride;
      if (next != rank && (!last || side.wraps)) made.join(rank + 1, next + 1, kind, speed.bandwidth, speed.latency);
      stride *= side.size;
    }
  }
  return made;
}

Result<Topology> make_twisted_torus(std::span<const Rank> sides, LinkSpeed speed) {
  constexpr Rank smallest = 4;
  const Rank n = sides.empty() ? 0 : sides[0];
  const bool fits =
      sides.size() == 3 && n >= smallest && n <= most_generated_ranks && sides[2] == 2 * n && (sides[1] == n || sides[1] == 2 * n);
  if (!fits) return refused(fmt::format("expected sides n x n x 2n or n x 2n x 2n with n of {} or more", smallest));
  std::vector<Side> plain;
  for (const Rank side : sides) plain.push_back({side, true});
  const auto ranks = product(plain);
  if (!ranks) return ranks.status();
  const bool two_shifted = sides[1] == n;  // two sides wrap with one shift, or one side with two
  const auto at = [&](Rank x, Rank y, Rank z) { return x + sides[0] * (y % sides[1] + sides[1] * (z % sides[2])) + 1; };
  Topology made = chips(static_cast<Rank>(*ranks));
  const auto join = [&](NodeId one, NodeId other) { made.join(one, other, LinkKind::network, speed.bandwidth, speed.latency); };
  for (Rank z = 0; z < sides[2]; ++z)
    for (Rank y = 0; y < sides[1]; ++y)
      for (Rank x = 0; x < sides[0]; ++x) {
        const NodeId here = at(x, y, z);
        join(here, x + 1 < sides[0] ? at(x + 1, y, z) : at(0, two_shifted ? y : y + n, z + n));
        join(here, y + 1 < sides[1] ? at(x, y + 1, z) : at(x, 0, two_shifted ? z + n : z));
        join(here, at(x, y, z + 1));
      }
  return made;
}

Result<Topology> make_clique(Rank size, LinkSpeed speed) {
  TORIC_TRY(check_ranks(size));
  TORIC_TRY(check_links(std::int64_t{size} * (size - 1) / 2));
  Topology made = chips(size);
  for (NodeId one = 1; one <= size; ++one)
    for (NodeId other = one + 1; other <= size; ++other) made.join(one, other, LinkKind::nvlink, speed.bandwidth, speed.latency);
  return made;
}

Result<Topology> make_switch(Rank size, LinkSpeed speed) {
  TORIC_TRY(check_ranks(size));
  Topology made = chips(size);
  const NodeId nvswitch = made.add(node_of(NodeKind::nvswitch, "nvswitch", 0, -1));
  for (NodeId gpu = 1; gpu <= size; ++gpu) made.join(gpu, nvswitch, LinkKind::nvlink, speed.bandwidth, speed.latency);
  return made;
}

Result<Topology> make_cluster(const ClusterPlan& plan) { return ClusterBuilder(plan).build(); }

}  // namespace toric
