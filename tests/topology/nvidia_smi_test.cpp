// What nvidia-smi topo -m prints: tables written for this.
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace toric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Imported read(const std::string& text) {
  auto result = read_nvidia_smi(text, "t.txt");
  if (!result.ok()) throw std::runtime_error(std::string(result.status().text()));
  const Status status = validate(result->topology);
  EXPECT_TRUE(status.ok()) << status.text();
  return *std::move(result);
}

std::string refusal(const std::string& text) {
  const auto result = read_nvidia_smi(text, "t.txt");
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? std::string() : std::string(result.status().text());
}

NodeId named(const Topology& topology, std::string_view name) {
  const auto found = std::ranges::find(topology.nodes, name, &TopologyNode::name);
  if (found == topology.nodes.end()) throw std::runtime_error("no node is called " + std::string(name));
  return static_cast<NodeId>(found - topology.nodes.begin());
}

NodeId parent_of(const Topology& topology, std::string_view name) { return topology.node(named(topology, name)).parent; }

std::size_t links_of(const Topology& topology, LinkKind kind) {
  return static_cast<std::size_t>(std::ranges::count(topology.links, kind, &TopologyLink::kind));
}

/// As the tool prints it: tabs, an underlined header, empty cells for NICs, a legend.
const std::string two_sockets =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tPXB\tSYS\tPIX\tSYS\t0-3,8-9\t0\t\tN/A\n"
    "GPU1\tPXB\t X \tSYS\tPXB\tSYS\t0-3,8-9\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tSYS\tNODE\t4-7\t1\t\tN/A\n"
    "NIC0\tPIX\tPXB\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tNODE\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n\nNIC Legend:\n\n  NIC0: mlx5_4\n  NIC1: mlx5_7\n";

/// So many GPUs with so many NVLinks for each other, one more between the first two.
std::string all_to_all(int gpus, int links, int more = 0) {
  std::string text;
  for (int gpu = 0; gpu < gpus; ++gpu) text += "   GPU" + std::to_string(gpu);
  text += "   CPU Affinity   NUMA Affinity\n";
  for (int row = 0; row < gpus; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < gpus; ++column)
      text += row == column ? "   X" : "   NV" + std::to_string(links + (row + column == 1 ? more : 0));
    text += "   0-7   N/A\n";
  }
  return text;
}

TEST(NvidiaSmi, PackagesAndSwitchesFollowFromThePaths) {
  const Topology made = read(two_sockets).topology;
  EXPECT_THAT(made.of_kind(NodeKind::package), SizeIs(2));
  EXPECT_THAT(made.node(named(made, "package 0")).cpus, ElementsAre(0, 1, 2, 3, 8, 9));
  EXPECT_THAT(made.node(named(made, "numa 1")).cpus, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(made.node(named(made, "numa 1")).parent, named(made, "package 1"));
  // GPU0 and mlx5_4 are behind one bridge, GPU1 behind another, both behind a third.
  EXPECT_EQ(parent_of(made, "GPU0"), parent_of(made, "mlx5_4"));
  EXPECT_NE(parent_of(made, "GPU0"), parent_of(made, "GPU1"));
  EXPECT_EQ(made.node(parent_of(made, "GPU0")).parent, made.node(parent_of(made, "GPU1")).parent);
  EXPECT_EQ(made.node(made.node(parent_of(made, "GPU1")).parent).parent, named(made, "package 0"));
  EXPECT_THAT(made.of_kind(NodeKind::pcie_switch), SizeIs(3));
  EXPECT_EQ(parent_of(made, "GPU2"), named(made, "package 1"));
  EXPECT_EQ(parent_of(made, "mlx5_7"), named(made, "package 1"));
  EXPECT_THAT(made.of_kind(NodeKind::nic), SizeIs(2));
  EXPECT_THAT(made.ranks, ElementsAre(named(made, "GPU0"), named(made, "GPU1"), named(made, "GPU2")));
  EXPECT_EQ(links_of(made, LinkKind::package), 2U);
}

TEST(NvidiaSmi, BandwidthsAreUnknown) {
  const Imported read_in = read(two_sockets);
  for (const TopologyLink& link : read_in.topology.links) EXPECT_EQ(link.bandwidth, 0);
  ASSERT_THAT(read_in.warnings, SizeIs(1));
  EXPECT_THAT(read_in.warnings[0], HasSubstr("t.txt:1: the table names no bandwidths"));
}

TEST(NvidiaSmi, ManyEqualNvlinksAreASwitch) {
  const Imported read_in = read(all_to_all(8, 18));
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::nvswitch), SizeIs(1));
  EXPECT_EQ(links_of(read_in.topology, LinkKind::nvlink), 16U);
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::package), SizeIs(1));  // one affinity
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::numa), IsEmpty());
  EXPECT_THAT(read_in.warnings, SizeIs(3));
}

TEST(NvidiaSmi, FewOrDifferentNvlinksAreDirect) {
  const auto nvlinks = [](const std::string& text) {
    const Topology made = read(text).topology;
    EXPECT_THAT(made.of_kind(NodeKind::nvswitch), IsEmpty());
    return links_of(made, LinkKind::nvlink);
  };
  EXPECT_EQ(nvlinks(all_to_all(4, 4)), 12U);  // six pairs, both ways
  EXPECT_EQ(nvlinks(all_to_all(4, 11)), 12U);
  EXPECT_EQ(nvlinks(all_to_all(2, 12)), 2U);      // a bridge may have that many
  EXPECT_EQ(nvlinks(all_to_all(4, 12, 1)), 12U);  // not all equal
  EXPECT_THAT(read(all_to_all(3, 12)).topology.of_kind(NodeKind::nvswitch), SizeIs(1));
}

TEST(NvidiaSmi, OldNamesAreRead) {
  const Topology made = read("GPU0 mlx5_0 CPU Affinity\nGPU0 X SOC 0-1\nmlx5_0 SOC X\n").topology;
  EXPECT_EQ(made.node(named(made, "mlx5_0")).kind, NodeKind::nic);
  EXPECT_THAT(made.of_kind(NodeKind::package), SizeIs(2));
}

TEST(NvidiaSmi, SystemMeansDifferentPackagesWhateverTheAffinity) {
  const std::string header = "GPU0 GPU1 CPU Affinity NUMA Affinity\n";
  EXPECT_THAT(read(header + "GPU0 X SYS 0-7 0-1\nGPU1 SYS X 0-7 0-1\n").topology.of_kind(NodeKind::package), SizeIs(2));
  EXPECT_THAT(read(header + "GPU0 X PHB 0-7 0\nGPU1 PHB X 0-7 0\n").topology.of_kind(NodeKind::package), SizeIs(1));
}

TEST(NvidiaSmi, DevicesWithoutAnyPlaceShareAPackage) {
  const Imported read_in = read("GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X NV4 N/A N/A\nGPU1 NV4 X N/A N/A\n");
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::package), SizeIs(1));
  EXPECT_THAT(read_in.warnings, testing::Contains(HasSubstr("nothing tells the packages")));
}

TEST(NvidiaSmi, WhatIsNoTableIsRefusedWithItsLine) {
  EXPECT_THAT(refusal(""), HasSubstr("t.txt:1: expected a line of device names"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X PIX\n"), HasSubstr("t.txt:2: expected the row of GPU1, found the end"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X PIX\nGPU2 PIX X\n"), HasSubstr("t.txt:3: expected the row of GPU1, found 'GPU2'"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X\n"), HasSubstr("t.txt:2: expected 2 cells for GPU0, found 1"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X FAST\nGPU1 FAST X\n"), HasSubstr("from GPU0 to GPU1, found 'FAST'"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X NV0\nGPU1 NV0 X\n"), HasSubstr("found 'NV0'"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X PIX\nGPU1 PXB X\n"), HasSubstr("expected the same from GPU1 to GPU0 as back"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n"), HasSubstr("expected the same"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 X X\nGPU1 X X\n"), HasSubstr("expected X from each device to itself only"));
  EXPECT_THAT(refusal("GPU0 GPU1\nGPU0 PIX PIX\nGPU1 PIX X\n"), HasSubstr("expected X from each device to itself only"));
  EXPECT_THAT(refusal("GPU0 NIC0\nGPU0 X NV1\nNIC0 NV1 X\n"), HasSubstr("expected NVLinks among GPUs only"));
  EXPECT_THAT(refusal("GPU0 GPU0\n"), HasSubstr("found GPU0 twice"));
  EXPECT_THAT(refusal("====== ROCm System Management Interface ======\n       GPU0  GPU1\nGPU0   0     15\n"), HasSubstr("rocm-smi"));
}

}  // namespace
}  // namespace toric
