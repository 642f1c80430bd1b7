// Specs and presets: what they make, and what is said about those that are wrong.
#include "toric/topology/presets.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/text_form.hpp"
#include "toric/topology/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace toric {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Topology made(std::string_view spec) {
  auto result = topology_from_spec(spec);
  EXPECT_TRUE(result.ok()) << spec << ": " << result.status().text();
  if (!result.ok()) return {};
  const Status status = validate(*result);
  EXPECT_TRUE(status.ok()) << spec << ": " << status.text();
  return *std::move(result);
}

std::string counted(std::string_view spec) { return summary(made(spec), "-"); }

std::string chips(int gpus, int switches, int links) {
  return "hosts 1 packages 0 numa 0 gpus " + std::to_string(gpus) + " nics 0 switches " + std::to_string(switches) + " links " +
         std::to_string(links) + " shape -";
}

/// Of all links of that kind; they must agree.
struct Speeds {
  double bandwidth = -1, latency = -1;
};
Speeds speeds_of(const Topology& topology, LinkKind kind) {
  Speeds speeds;
  for (const TopologyLink& link : topology.links) {
    if (link.kind != kind) continue;
    if (speeds.bandwidth >= 0) {
      EXPECT_EQ(speeds.bandwidth, link.bandwidth);
    }
    if (speeds.latency >= 0) {
      EXPECT_EQ(speeds.latency, link.latency);
    }
    speeds = {link.bandwidth, link.latency};
  }
  return speeds;
}

TEST(Spec, GridsCountTheirLinks) {
  EXPECT_EQ(counted("torus:4x4x8:50GB/s:1us"), chips(128, 0, 384));
  EXPECT_EQ(counted("torus:4"), chips(4, 0, 4));
  EXPECT_EQ(counted("mesh:4x4"), chips(16, 0, 24));
  EXPECT_EQ(counted("mesh:4x4w"), chips(16, 0, 28)) << "rows are lines of 3 links, columns rings of 4";
  EXPECT_EQ(counted("torus:4x4l"), chips(16, 0, 28));
  EXPECT_EQ(counted("mesh:2x2w"), chips(4, 0, 6));
  EXPECT_EQ(counted("ring:8"), chips(8, 0, 8));
  EXPECT_EQ(counted("ring:1"), chips(1, 0, 0));
  EXPECT_EQ(counted("line:5"), chips(5, 0, 4));
  EXPECT_EQ(counted("clique:4"), chips(4, 0, 6));
  EXPECT_EQ(counted("switch:8"), chips(8, 1, 8));
  EXPECT_EQ(counted("twisted:4x4x8"), chips(128, 0, 384));
}

TEST(Spec, ASideOfTwoHasTwoLinksUnlessItSaysS) {
  EXPECT_EQ(counted("torus:4x2"), chips(8, 0, 16));
  EXPECT_EQ(counted("torus:4x2s"), chips(8, 0, 12));
  EXPECT_EQ(counted("torus:2sx4"), chips(8, 0, 12));
  EXPECT_EQ(counted("ring:2"), chips(2, 0, 2));
  EXPECT_EQ(counted("ring:2s"), chips(2, 0, 1));
}

TEST(Spec, SpeedsAreGivenInAnyOrderOrUsual) {
  for (const char* spec : {"torus:4x4:90GB/s:2us", "torus:4x4:2us:90GB/s", "torus:4x4:2us,90GB/s", "torus:4x4:720Gb/s:2000ns"}) {
    const Speeds speeds = speeds_of(made(spec), LinkKind::network);
    EXPECT_EQ(speeds.bandwidth, 90e9) << spec;
    EXPECT_EQ(speeds.latency, 2e-6) << spec;
  }
  const Speeds usual = speeds_of(made("ring:4"), LinkKind::nvlink);
  EXPECT_EQ(usual.bandwidth, 50e9);
  EXPECT_EQ(usual.latency, 1e-6);
}

TEST(Spec, Clusters) {
  EXPECT_EQ(counted("rail:16x8"), "hosts 16 packages 0 numa 0 gpus 128 nics 128 switches 24 links 384 shape -");
  EXPECT_EQ(counted("hosts:7+8"), "hosts 2 packages 0 numa 0 gpus 15 nics 15 switches 3 links 45 shape -");
  EXPECT_EQ(counted("hosts:7+8:one-nic"), "hosts 2 packages 0 numa 0 gpus 15 nics 2 switches 5 links 34 shape -");
  // 16 hosts of 8: 16 NVSwitches, 8 leaves of 2 hosts, 4 spines; 128 NVLink, 128 PCIe, 128 to leaves, 32 to spines.
  EXPECT_EQ(counted("fat-tree:16x8:leaf=2:spines=4:taper=2"), "hosts 16 packages 0 numa 0 gpus 128 nics 128 switches 28 links 416 shape -");
  EXPECT_EQ(counted("fat-tree:16x8"), "hosts 16 packages 0 numa 0 gpus 128 nics 128 switches 28 links 416 shape -") << "4 leaves, 8 spines";
}

TEST(Spec, ClusterSpeedsByKey) {
  const Topology topology = made("rail:2x4:25GB/s:3us:nvlink=300GB/s,1us:pcie=24GB/s");
  EXPECT_EQ(speeds_of(topology, LinkKind::network).bandwidth, 25e9);
  EXPECT_EQ(speeds_of(topology, LinkKind::network).latency, 3e-6);
  EXPECT_EQ(speeds_of(topology, LinkKind::nvlink).bandwidth, 300e9);
  EXPECT_EQ(speeds_of(topology, LinkKind::nvlink).latency, 1e-6);
  EXPECT_EQ(speeds_of(topology, LinkKind::pcie).bandwidth, 24e9);
  EXPECT_EQ(speeds_of(made("rail:2x4:nic=200Gb/s"), LinkKind::pcie).bandwidth, 25e9);
  EXPECT_EQ(speeds_of(made("rail:2x4"), LinkKind::nvlink).bandwidth, 450e9);
}

TEST(Spec, TaperDividesTheUplinks) {
  const Topology topology = made("fat-tree:4x2:leaf=2:spines=1:taper=1.6:nic=10GB/s");
  int uplinks = 0;
  for (const TopologyLink& link : topology.links) {
    if (topology.node(link.from).kind != NodeKind::network_switch || topology.node(link.to).kind != NodeKind::network_switch) continue;
    EXPECT_DOUBLE_EQ(link.bandwidth, 25e9) << "4 NICs of 10 GB/s over 1.6";
    ++uplinks;
  }
  EXPECT_EQ(uplinks, 4);
}

TEST(Spec, WrongOnesAreRefusedWithThePlace) {
  struct Case {
    std::string_view spec, message;
  };
  const Case cases[] = {
      {"", "spec '', character 1: expected one of: torus, mesh, twisted, ring, line, clique, switch, fat-tree, rail, hosts, dgx-a100"},
      {"donut:4x4", "character 1: expected one of: torus,"},
      {"Torus:4x4", "character 1: expected one of: torus,"},
      {"torus", "character 6: expected ':' and sizes, as 4x4, found the end"},
      {"torus:", "character 7: expected a size from 1 to 1048576, found the end"},
      {"torus:4x", "character 9: expected a size from 1 to 1048576, found the end"},
      {"torus:4x0", "character 9: expected a size from 1 to 1048576, found '0'"},
      {"torus:4x-1", "character 9: expected a size from 1 to 1048576, found '-1'"},
      {"torus:4x99999999999999999999", "character 9: expected a size from 1 to 1048576, found '99999999999999999999'"},
      {"torus:4x3s", "character 10: expected ':' or the end, found 's'"},
      {"torus:4x4 ", "character 10: expected ':' or the end, found ' '"},
      {"torus:1024x1024x2", "character 7: expected 1 to 1048576 ranks, found 2097152"},
      {"torus:1048576x1048576x1048576x1048576", "character 7: expected 1 to 1048576 ranks"},
      {"torus:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "character 7: expected 1 to 16 sides, found 17"},
      {"torus:4x4:", "character 11: expected one of: a bandwidth, a latency, found the end"},
      {"torus:4x4:50GB", "character 11: expected a bandwidth (as 50GB/s or 400Gb/s) or a latency (as 1us), found '50GB'"},
      {"torus:4x4:1us,50", "character 15: expected a bandwidth (as 50GB/s or 400Gb/s) or a latency (as 1us), found '50'"},
      {"torus:4x4:taper=2", "character 11: expected one of: a bandwidth, a latency, found 'taper=2'"},
      {"twisted:4x4x4", "character 9: expected sides n x n x 2n or n x 2n x 2n with n of 4 or more"},
      {"ring:3s", "character 7: expected ':' or the end, found 's'"},
      {"clique:100000", "character 8: expected at most 16777216 directed links"},
      {"rail:16", "character 8: expected 'x' and the gpus of a host, found the end"},
      {"rail:16x8:leaf=2", "character 11: expected one of: a bandwidth, a latency, nic=, nvlink=, pcie=, one-nic, found 'leaf=2'"},
      {"rail:16x8:one-nic=1", "character 11: expected one of: "},
      {"rail:16x8:nvlink", "character 11: expected one of: "},
      {"rail:16x8:nvlink=", "character 18: expected a bandwidth (as 50GB/s or 400Gb/s) or a latency (as 1us), found ''"},
      {"rail:1048576x2", "expected 1 to 1048576 ranks, found"},
      {"fat-tree:4x8:leaf=0", "character 19: expected a number from 1 to 1048576, found '0'"},
      {"fat-tree:4x8:taper=0", "character 20: expected a number above 0, as 2 or 1.75, found '0'"},
      {"fat-tree:4x8:taper=-1", "character 20: expected a number above 0"},
      {"fat-tree:4x8:taper=k", "character 20: expected a number above 0"},
      {"hosts:7+", "character 9: expected a number of gpus from 1 to 1048576, found the end"},
      {"hosts:7,8", "character 8: expected ':' or the end, found ',8'"},
      {"dgx-h100*0", "character 10: expected how many from 1 to 1048576, found '0'"},
      {"dgx-h100*1000000", "character 9: expected 1 to 131072 of dgx-h100, found 1000000"},
      {"dgx-h100:16", "character 10: expected a bandwidth"},
      {"frontier*2", "character 9: expected the end, found '*2'"},
      {"tpu-v4", "character 7: expected ':' and sizes, as 4x4x4, found the end"},
      {"tpu-v4:4x4", "character 8: expected 3 sides, found 2"},
      {"tpu-v4:4x4x6", "character 8: expected sides up to 4, or all of them multiples of 4"},
      {"tpu-v4:16x16x20", "character 8: expected at most 4096 chips, found 5120"},
      {"tpu-v4:4x4x4:twisted", "character 8: expected sides n x n x 2n"},
      {"tpu-v5e:4x32", "character 9: expected sides up to 16, found 32"},
      {"tpu-v3:16x16:twisted", "character 8: tpu-v3 has no twisted slices"},
  };
  for (const Case& one : cases) {
    const auto result = topology_from_spec(one.spec);
    ASSERT_FALSE(result.ok()) << one.spec;
    EXPECT_EQ(result.status().code(), Code::invalid_argument);
    EXPECT_THAT(std::string(result.status().text()), HasSubstr(one.message)) << one.spec;
    EXPECT_THAT(std::string(result.status().text()), StartsWith("spec '"));
  }
}

TEST(Spec, DamagedOnesAreMadeOrRefused) {
  constexpr std::string_view letters = "x:+*=,swlGB/us.-# ";
  std::mt19937 random(3);
  int refused = 0;
  for (const std::string_view whole : {"torus:4x2sx3l:50GB/s:1us", "fat-tree:4x2:leaf=2:spines=1:taper=1.6:nic=10GB/s,1us",
                                       "hosts:7+8:one-nic", "dgx-h100*2:nvlink=1us", "tpu-v4:4x4x8:twisted:45GB/s"}) {
    for (int round = 0; round < 1000; ++round) {
      std::string spec(whole);
      const std::size_t at = random() % spec.size();
      const char letter = letters[random() % letters.size()];
      if (round % 3 == 0) spec[at] = letter;
      if (round % 3 == 1) spec.insert(at, 1, letter);
      if (round % 3 == 2) spec.resize(at);
      const auto result = topology_from_spec(spec);
      if (result.ok()) {
        ASSERT_TRUE(validate(*result).ok()) << spec;
      } else {
        ++refused;
        ASSERT_THAT(std::string(result.status().text()), StartsWith("spec '" + spec + "', character "));
      }
    }
  }
  EXPECT_GT(refused, 2500);
}

TEST(Spec, FourThousandChipsTakeNoTime) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(counted("torus:16x16x16"), chips(4096, 0, 12288));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Preset, EachIsFoundMakesAValidTopologyAndNamesItsSource) {
  EXPECT_EQ(presets().size(), 9u);
  for (const Preset& preset : presets()) {
    EXPECT_EQ(find_preset(preset.name), &preset);
    EXPECT_GT(preset.source.size(), 20u);
    EXPECT_GT(preset.what.size(), 10u);
    const bool flat = preset.name == "tpu-v3" || preset.name == "tpu-v5e";
    const std::string sizes = preset.kind != PresetKind::slice ? "" : flat ? ":4x4" : ":4x4x4";
    const Topology topology = made(std::string(preset.name) + sizes);
    EXPECT_FALSE(topology.ranks.empty());
    EXPECT_FALSE(topology.node(topology.ranks[0]).model.empty());
  }
  EXPECT_EQ(find_preset("dgx"), nullptr);
  EXPECT_FALSE(preset_cluster("tpu-v4", 1).ok());
  EXPECT_FALSE(preset_link("dgx-a100").ok());
  EXPECT_FALSE(preset_node("dgx-a100").ok());
}

TEST(Preset, ClusterFigures) {
  struct Case {
    std::string_view name;
    double nvlink, network;
  };
  for (const Case& one : {Case{"dgx-a100*2", 12 * 25e9, 25e9},
                          {"dgx-h100*2", 18 * 25e9, 50e9},
                          {"dgx-b200*2", 18 * 50e9, 50e9},
                          {"gb200-nvl72", 18 * 50e9, 50e9}}) {
    const Topology topology = made(one.name);
    EXPECT_EQ(speeds_of(topology, LinkKind::nvlink).bandwidth, one.nvlink) << one.name;
    EXPECT_EQ(speeds_of(topology, LinkKind::network).bandwidth, one.network) << one.name;
  }
  EXPECT_EQ(counted("dgx-h100"), "hosts 1 packages 0 numa 0 gpus 8 nics 8 switches 1 links 16 shape -");
  EXPECT_EQ(counted("dgx-h100*16"), "hosts 16 packages 0 numa 0 gpus 128 nics 128 switches 24 links 384 shape -");
  // 18 hosts, 72 gpus on 1 NVSwitch, 4 rails.
  EXPECT_EQ(counted("gb200-nvl72"), "hosts 18 packages 0 numa 0 gpus 72 nics 72 switches 5 links 216 shape -");
  EXPECT_EQ(counted("gb200-nvl72*2"), "hosts 36 packages 0 numa 0 gpus 144 nics 144 switches 6 links 432 shape -");
  EXPECT_EQ(speeds_of(made("dgx-h100*2:nic=25GB/s"), LinkKind::network).bandwidth, 25e9);
}

TEST(Preset, SlicesWrapAsTheirPodsDo) {
  EXPECT_EQ(counted("tpu-v4:4x4x4"), chips(64, 0, 192));
  EXPECT_EQ(counted("tpu-v4:2x2x4"), chips(16, 0, 28)) << "smaller than a block: 8 + 8 + 12, no wrapping";
  EXPECT_EQ(counted("tpu-v4:4x4x8:twisted"), chips(128, 0, 384));
  EXPECT_NE(hash_of(made("tpu-v4:4x4x8:twisted")), hash_of(made("tpu-v4:4x4x8")));
  EXPECT_EQ(counted("tpu-v5e:16x16"), chips(256, 0, 512));
  EXPECT_EQ(counted("tpu-v5e:4x4"), chips(16, 0, 24));
  EXPECT_EQ(counted("tpu-v5e:8x16"), chips(128, 0, 16 * 7 + 8 * 16));
  EXPECT_EQ(counted("tpu-v3:32x32"), chips(1024, 0, 2048));
  EXPECT_EQ(counted("tpu-v5p:16x20x28"), chips(8960, 0, 26880));
  EXPECT_EQ(speeds_of(made("tpu-v3:4x4"), LinkKind::network).bandwidth, 70e9);
  EXPECT_EQ(speeds_of(made("tpu-v4:4x4x4"), LinkKind::network).bandwidth, 50e9);
  EXPECT_EQ(speeds_of(made("tpu-v5e:4x4"), LinkKind::network).bandwidth, 45e9);
  EXPECT_EQ(speeds_of(made("tpu-v5p:4x4x4"), LinkKind::network).bandwidth, 90e9);
  EXPECT_EQ(speeds_of(made("tpu-v4:4x4x4:45GB/s"), LinkKind::network).bandwidth, 45e9);
}

TEST(Preset, EachDieOfFrontierUsesItsEightFabricLinks) {
  const Topology topology = made("frontier");
  EXPECT_EQ(summary(topology, "-"), "hosts 1 packages 1 numa 0 gpus 8 nics 4 switches 0 links 24 shape -");
  for (std::size_t rank = 0; rank < 8; ++rank) {
    double links = 0;
    for (const TopologyLink& link : topology.links) {
      if (link.from != topology.ranks[rank]) continue;
      const NodeKind to = topology.node(link.to).kind;
      links += to == NodeKind::gpu ? link.bandwidth / 50e9 : 1;
      if (to == NodeKind::gpu) {
        EXPECT_EQ(link.bandwidth == 200e9, link.to == topology.ranks[rank ^ 1]) << "four links in a package only";
      }
    }
    EXPECT_EQ(links, 8);
  }
}

// --- docs/topology.md ------------------------------------------------------------------------------------------------

/// What stands between the first two fences behind `heading`.
std::string example_behind(const std::string& page, const std::string& heading) {
  const std::string fence = "```\n";
  const std::size_t start = page.find(fence, page.find(heading)) + fence.size();
  return page.substr(start, page.find(fence, start) - start);
}

TEST(Documentation, ExamplesWork) {
  std::ifstream file(TORIC_SOURCE "/docs/topology.md");
  ASSERT_TRUE(file.is_open());
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto machine = read_topology_text(example_behind(page, "### The text form"), "example");
  ASSERT_TRUE(machine.ok()) << machine.status().text();
  EXPECT_EQ(summary(machine->topology, "-"), "hosts 1 packages 1 numa 0 gpus 2 nics 0 switches 1 links 3 shape -");
  std::istringstream specs(example_behind(page, "## Specs"));
  int count = 0;
  for (std::string spec; specs >> spec; ++count) made(spec);
  EXPECT_EQ(count, 4);
  EXPECT_THAT(page, HasSubstr(std::string("`") + std::string(topology_from_spec("torus:4x").status().text()) + "`"));
}

}  // namespace
}  // namespace toric
