#include "toric/topology/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace toric {

namespace {

// Bandwidths are raw rates in one direction: what a library reaches is less by its protocol's share.
constexpr double gigabyte = 1e9;

// NCCL's tuning table has 0.6 us for a step over NVLink and 2.7 us over a network; they are spread over the links of the
// way: two to and from the NVSwitch, or PCIe, network, network, PCIe.
constexpr double nvlink_latency = 0.3e-6;
constexpr double pcie_latency = 0.35e-6;
constexpr double network_latency = 1e-6;

// x16: 16 lanes of 16 or 32 GT/s, 128 bits in 130.
constexpr double pcie_4 = 31.5 * gigabyte;
constexpr double pcie_5 = 63 * gigabyte;

constexpr Preset all_presets[] = {
    {"dgx-a100", PresetKind::cluster, "8 A100 on NVSwitch, a NIC of 200 Gb/s each",
     "NVIDIA DGX A100: 12 NVLinks of 25 GB/s and a ConnectX-6 per GPU, PCIe 4; latencies from NCCL's tuning table"},
    {"dgx-h100", PresetKind::cluster, "8 H100 on NVSwitch, a NIC of 400 Gb/s each",
     "NVIDIA DGX H100: 18 NVLinks of 25 GB/s and a ConnectX-7 per GPU, PCIe 5; latencies from NCCL's tuning table"},
    {"dgx-b200", PresetKind::cluster, "8 B200 on NVSwitch, a NIC of 400 Gb/s each",
     "NVIDIA DGX B200: 18 NVLinks of 50 GB/s and a ConnectX-7 per GPU, PCIe 5; latencies from NCCL's tuning table"},
    {"gb200-nvl72", PresetKind::cluster, "18 hosts of 4 B200 on one NVSwitch, a NIC of 400 Gb/s each",
     "NVIDIA GB200 NVL72: 18 NVLinks of 50 GB/s and a ConnectX-7 per GPU, PCIe 5; latencies from NCCL's tuning table"},
    {"tpu-v3", PresetKind::slice, "chips of a 32x32 pod; a side of 32 wraps",
     "Jouppi et al., ISCA 2023, table 4: 4 links of 70 GB/s a chip (others say 80 or 100); 1 us a hop as in ASTRA-sim's validation"},
    {"tpu-v4", PresetKind::slice, "chips in blocks of 4x4x4, up to 4096; whole blocks wrap",
     "Jouppi et al., ISCA 2023, table 4: 6 links of 50 GB/s a chip (others say 45); 1 us a hop as in \"How to Scale Your Model\""},
    {"tpu-v5e", PresetKind::slice, "chips of a 16x16 pod; a side of 16 wraps",
     "Austin et al., \"How to Scale Your Model\": 45 GB/s a link in one direction, 1 us a hop"},
    {"tpu-v5p", PresetKind::slice, "chips in blocks of 4x4x4, up to 8960; whole blocks wrap",
     "Austin et al., \"How to Scale Your Model\": 90 GB/s a link in one direction, 1 us a hop"},
    {"frontier", PresetKind::node, "one node: 8 dies of 4 MI250X, 4 NICs of 200 Gb/s, one CPU",
     "OLCF Frontier user guide: 200 GB/s in a package, 50 or 100 between packages, 36 to the CPU, 25 a NIC; which dies are joined "
     "as in RCCL's models of MI250X nodes, two links where the eight of a die allow it"},
};

struct Machine {
  std::string_view name, host, gpu, nic;
  Rank hosts, gpus;  // of one machine
  double nvlink, pcie, network;
};

constexpr Machine machines[] = {
    {"dgx-a100", "DGX A100", "A100", "ConnectX-6", 1, 8, 300 * gigabyte, pcie_4, 25 * gigabyte},
    {"dgx-h100", "DGX H100", "H100", "ConnectX-7", 1, 8, 450 * gigabyte, pcie_5, 50 * gigabyte},
    {"dgx-b200", "DGX B200", "B200", "ConnectX-7", 1, 8, 900 * gigabyte, pcie_5, 50 * gigabyte},
    {"gb200-nvl72", "GB200 NVL72", "B200", "ConnectX-7", 18, 4, 900 * gigabyte, pcie_5, 50 * gigabyte},
};

struct Pod {
  std::string_view name, chip;
  std::size_t dimensions;
  Rank whole_side;  // 2D: of the pod, the side that wraps
  Rank most_chips;
  double bandwidth;
};

constexpr Rank block = 4;  // 3D pods are made of blocks with this side
constexpr double hop_latency = 1e-6;

constexpr Pod pods[] = {{"tpu-v3", "TPU v3", 2, 32, 1024, 70 * gigabyte},
                        {"tpu-v4", "TPU v4", 3, block, 4096, 50 * gigabyte},
                        {"tpu-v5e", "TPU v5e", 2, 16, 256, 45 * gigabyte},
                        {"tpu-v5p", "TPU v5p", 3, block, 8960, 90 * gigabyte}};

Status refused(std::string why) { return {Code::invalid_argument, std::move(why)}; }

template <typename Entry, std::size_t count>
const Entry* find(const Entry (&entries)[count], std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == std::ranges::end(entries) ? nullptr : &*found;
}

Status check_sides(const Pod& pod, std::span<const Rank> sides) {
  if (sides.size() != pod.dimensions) return refused(fmt::format("expected {} sides, found {}", pod.dimensions, sides.size()));
  std::int64_t chips = 1;
  for (const Rank side : sides) {
    if (side < 1 || side > pod.most_chips) return refused(fmt::format("expected sides of 1 to {}, found {}", pod.most_chips, side));
    chips *= side;
    if (pod.dimensions == 2 && side > pod.whole_side)
      return refused(fmt::format("expected sides up to {}, found {}", pod.whole_side, side));
  }
  if (chips > pod.most_chips) return refused(fmt::format("expected at most {} chips, found {}", pod.most_chips, chips));
  const bool within_block = std::ranges::all_of(sides, [](Rank side) { return side <= block; });
  const bool whole_blocks = std::ranges::all_of(sides, [](Rank side) { return side % block == 0; });
  if (pod.dimensions == 3 && !within_block && !whole_blocks)
    return refused(fmt::format("expected sides up to {0}, or all of them multiples of {0}", block));
  return {};
}

bool wraps(const Pod& pod, std::span<const Rank> sides, Rank side) {
  if (pod.dimensions == 2) return side == pod.whole_side;
  return std::ranges::all_of(sides, [](Rank each) { return each % block == 0; });
}

// --- Frontier ---------------------------------------------------------------------------------------------------------

// Each die has eight Infinity Fabric links of 50 GB/s: one to the CPU, four to the other die of its package. The rest go
// to other packages; the odd dies give one of theirs to a NIC.
constexpr double fabric_link = 50 * gigabyte;
constexpr double fabric_to_cpu = 36 * gigabyte;
constexpr double slingshot = 25 * gigabyte;

struct FabricJoint {
  int one, other, links;
};
constexpr FabricJoint fabric[] = {{0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 6, 2}, {2, 4, 2},
                                  {0, 2, 1}, {4, 6, 1}, {1, 3, 1}, {1, 5, 1}, {3, 7, 1}, {5, 7, 1}};

TopologyNode part(NodeKind kind, std::string name, int os_index, std::string model) {
  TopologyNode node;
  node.kind = kind;
  node.name = std::move(name);
  node.parent = kind == NodeKind::host ? no_node : 0;
  node.os_index = os_index;
  node.model = std::move(model);
  return node;
}

Topology frontier() {
  constexpr int dies = 8;
  Topology made;
  made.add(part(NodeKind::host, "host", -1, "HPE Cray EX235a"));
  const NodeId cpu = made.add(part(NodeKind::package, "package 0", 0, "AMD EPYC 7A53"));
  const NodeId first = cpu + 1;
  for (int die = 0; die < dies; ++die) {
    made.add(part(NodeKind::gpu, fmt::format("gpu {}", die), die, "AMD MI250X"));
    made.join(cpu, first + die, LinkKind::xgmi, fabric_to_cpu);
  }
  for (const FabricJoint& joint : fabric) made.join(first + joint.one, first + joint.other, LinkKind::xgmi, joint.links * fabric_link);
  for (int nic = 0; nic < dies / 2; ++nic)
    made.join(first + 2 * nic + 1, made.add(part(NodeKind::nic, fmt::format("nic {}", nic), nic, "Slingshot 11")), LinkKind::pcie,
              slingshot);
  made.rank_everything();
  return made;
}

}  // namespace

std::span<const Preset> presets() { return all_presets; }

const Preset* find_preset(std::string_view name) { return find(all_presets, name); }

Result<ClusterPlan> preset_cluster(std::string_view name, Rank count) {
  const Machine* machine = find(machines, name);
  if (machine == nullptr) return refused(fmt::format("no preset '{}' of a cluster", name));
  if (count < 1 || count > most_generated_ranks / (machine->hosts * machine->gpus))
    return refused(fmt::format("expected 1 to {} of {}, found {}", most_generated_ranks / (machine->hosts * machine->gpus), name, count));
  ClusterPlan plan;
  plan.gpus.assign(static_cast<std::size_t>(count) * static_cast<std::size_t>(machine->hosts), machine->gpus);
  plan.fabric = Fabric::rails;
  plan.hosts_per_nvswitch = machine->hosts;
  plan.nvlink = {machine->nvlink, nvlink_latency};
  plan.pcie = {machine->pcie, pcie_latency};
  plan.network = {machine->network, network_latency};
  plan.host_model = machine->host;
  plan.gpu_model = machine->gpu;
  plan.nic_model = machine->nic;
  return plan;
}

Result<LinkSpeed> preset_link(std::string_view name) {
  const Pod* pod = find(pods, name);
  if (pod == nullptr) return refused(fmt::format("no preset '{}' of a slice", name));
  return LinkSpeed{pod->bandwidth, hop_latency};
}

Result<Topology> preset_slice(std::string_view name, std::span<const Rank> sides, bool twisted, LinkSpeed speed) {
  const Pod* pod = find(pods, name);
  if (pod == nullptr) return refused(fmt::format("no preset '{}' of a slice", name));
  TORIC_TRY(check_sides(*pod, sides));
  if (twisted && pod->dimensions != 3) return refused(fmt::format("{} has no twisted slices", name));
  std::vector<Side> grid;
  for (const Rank side : sides) grid.push_back({side, wraps(*pod, sides, side)});
  auto made = twisted ? make_twisted_torus(sides, speed) : make_grid(grid, speed);
  if (!made) return made;
  for (TopologyNode& node : made->nodes) node.model = pod->chip;
  return made;
}

Result<Topology> preset_node(std::string_view name) {
  if (name != "frontier") return refused(fmt::format("no preset '{}' of a node", name));
  return frontier();
}

}  // namespace toric
