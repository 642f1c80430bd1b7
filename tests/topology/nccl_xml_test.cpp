// NCCL's topology XML: small machines written for this, with bandwidths worked out by hand.
#include "nccl_examples.hpp"
#include "toric/topology/nccl_values.hpp"
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

using examples::gpu_at;
using examples::nvlink_to;
using examples::system_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Imported read(const std::string& text) {
  auto result = read_nccl_xml(text, "t.xml");
  if (!result.ok()) throw std::runtime_error(std::string(result.status().text()));
  const Status status = validate(result->topology);
  EXPECT_TRUE(status.ok()) << status.text();
  return *std::move(result);
}

std::string refusal(const std::string& text) {
  const auto result = read_nccl_xml(text, "t.xml");
  EXPECT_FALSE(result.ok()) << text;
  if (result.ok()) return {};
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  return std::string(result.status().text());
}

NodeId named(const Topology& topology, std::string_view name) {
  const auto found = std::ranges::find(topology.nodes, name, &TopologyNode::name);
  if (found == topology.nodes.end()) throw std::runtime_error("no node is called " + std::string(name));
  return static_cast<NodeId>(found - topology.nodes.begin());
}

/// GB/s of the links from one to the other, both ways being equal; -1: there is none of that kind.
double between(const Topology& topology, std::string_view from, std::string_view to, LinkKind kind) {
  const NodeId one = named(topology, from), other = named(topology, to);
  double there = -1, back = -1;
  for (const TopologyLink& link : topology.links) {
    if (link.kind == kind && link.from == one && link.to == other) there = link.bandwidth / 1e9;
    if (link.kind == kind && link.from == other && link.to == one) back = link.bandwidth / 1e9;
  }
  EXPECT_EQ(there, back) << from << " - " << to;
  return there;
}

std::string text_of(const std::vector<std::string>& warnings) {
  std::string all;
  for (const std::string& warning : warnings) all += warning + "\n";
  return all;
}

/// One package around this.
std::string package_of(const std::string& inside) {
  return system_of("<cpu numaid='0' affinity='1' arch='arm64'>\n" + inside + "</cpu>\n");
}

TEST(NcclXml, PackagesHaveTheirNumaNodesAndCpus) {
  const Topology made = read(examples::two_packages()).topology;
  ASSERT_EQ(made.of_kind(NodeKind::package).size(), 2U);  // the third is in a comment
  const TopologyNode& first = made.node(named(made, "package 0"));
  EXPECT_THAT(first.cpus, ElementsAre(28, 29, 30, 31, 32, 33, 34, 35));  // the last word is the first 32 CPUs
  const TopologyNode& memory = made.node(named(made, "numa 1"));
  EXPECT_EQ(memory.os_index, 1);
  EXPECT_EQ(memory.cpus, first.cpus);
  EXPECT_THAT(made.node(named(made, "package 1")).cpus, ElementsAre(0, 1));
  // Sapphire Rapids has 22 GB/s, Skylake 10.
  EXPECT_DOUBLE_EQ(between(made, "package 0", "package 1", LinkKind::package), 10);
}

TEST(NcclXml, PciFunctionsFormATree) {
  const Imported read_in = read(examples::two_packages());
  const Topology& made = read_in.topology;
  EXPECT_EQ(made.node(named(made, "gpu 0")).parent, named(made, "PCIe 0000:10:00.0"));
  EXPECT_EQ(made.node(named(made, "gpu 0")).address, "0000:1a:00.0");  // upper case in the file
  EXPECT_EQ(made.node(named(made, "PCIe 0000:10:00.0")).parent, named(made, "package 0"));
  EXPECT_DOUBLE_EQ(between(made, "package 0", "PCIe 0000:10:00.0", LinkKind::pcie), 48);  // 16 lanes of 240 / 80
  EXPECT_DOUBLE_EQ(between(made, "PCIe 0000:10:00.0", "gpu 0", LinkKind::pcie), 24);      // 16 of 120 / 80
  // Both ports are behind one function of 8 lanes.
  EXPECT_DOUBLE_EQ(between(made, "PCIe 0000:10:00.0", "PCIe 0000:1c:00.0", LinkKind::pcie), 12);
  EXPECT_EQ(made.node(named(made, "mlx5_0")).parent, named(made, "PCIe 0000:1c:00.0"));
  EXPECT_EQ(made.node(named(made, "mlx5_0")).model, "200 Gb/s");
  EXPECT_EQ(made.node(named(made, "mlx5_1")).model, "10 Gb/s");  // speed 0: NCCL takes 10000 Mb/s
  EXPECT_EQ(made.node(named(made, "eth0")).parent, named(made, "package 1"));
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("t.xml:9: no speed of <net>"));
}

TEST(NcclXml, SwitchesOfOneHostAreOneNode) {
  const Topology made = read(examples::two_packages()).topology;
  ASSERT_EQ(made.of_kind(NodeKind::nvswitch).size(), 1U);
  EXPECT_DOUBLE_EQ(between(made, "gpu 0", "NVSwitch", LinkKind::nvlink), 18 * 20.6);
  EXPECT_EQ(made.node(named(made, "NVSwitch")).parent, 0);
}

TEST(NcclXml, RanksFollowTheFile) {
  const Topology made = read(examples::two_packages()).topology;
  EXPECT_THAT(made.ranks, ElementsAre(named(made, "gpu 1"), named(made, "gpu 0")));
}

TEST(NcclXml, HostsOfOneFileAreToldApartByTheirHash) {
  const Imported read_in = read(examples::two_hosts());
  const Topology& made = read_in.topology;
  ASSERT_EQ(made.of_kind(NodeKind::host).size(), 2U);
  const std::vector<NodeId> gpus = made.of_kind(NodeKind::gpu);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_NE(made.host_of(gpus[0]), made.host_of(gpus[1]));
  EXPECT_THAT(made.ranks, ElementsAre(gpus[1], gpus[0]));
  ASSERT_EQ(made.of_kind(NodeKind::nvswitch).size(), 1U);
  EXPECT_EQ(made.node(named(made, "NVSwitch")).parent, no_node);                  // belongs to neither
  EXPECT_NEAR(between(made, "gpu 0", "package 0", LinkKind::c2c), 223.56, 1e-9);  // 44712 MB/s, five times
  EXPECT_DOUBLE_EQ(between(made, "rail", "network", LinkKind::network), 100);
  EXPECT_EQ(std::ranges::count(made.links, LinkKind::package, &TopologyLink::kind), 0);
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("taken as one that all hosts share"));
  EXPECT_THAT(text_of(read_in.warnings), testing::Not(HasSubstr("second time")));
}

TEST(NcclXml, RanksOfEachHostAreCountedOn) {
  std::string text = examples::two_hosts();
  text.replace(text.find("rank='1'"), 8, "rank='0'");
  const Imported read_in = read(text);
  EXPECT_EQ(read_in.topology.ranks, read_in.topology.of_kind(NodeKind::gpu));
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("counted on from host to host"));
}

TEST(NcclXml, OfDifferentCountsOfLinksTheSmallerIsTaken) {
  const Imported read_in = read(package_of(gpu_at("1:00.0", "dev='0' sm='70' rank='0'", nvlink_to("0000:02:00.0", 2)) +
                                           gpu_at("2:00.0", "dev='1' sm='60' rank='1'", nvlink_to("0000:01:00.0", 3))));
  EXPECT_DOUBLE_EQ(between(read_in.topology, "gpu 0", "gpu 1", LinkKind::nvlink), 2 * 18);  // sm 60 has 18 a link, sm 70 20
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("t.xml:3: two GPUs list different numbers of links to one another; the smaller"));
  EXPECT_EQ(read_in.warnings.size(), 1U);
}

TEST(NcclXml, LinksListedByOneEndGoBothWays) {
  const Imported read_in = read(package_of(gpu_at("1:00.0", "dev='0' sm='80' rank='0'", nvlink_to("0000:02:00.0", 2)) +
                                           gpu_at("2:00.0", "dev='1' sm='80' rank='1'")));
  EXPECT_DOUBLE_EQ(between(read_in.topology, "gpu 0", "gpu 1", LinkKind::nvlink), 40);
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("by one of them only"));
}

TEST(NcclXml, LinksToNowhereAreLeftOut) {
  const Imported read_in = read(package_of(
      gpu_at("1:00.0", "dev='0' sm='80' rank='0'", nvlink_to("0000:01:00.0", 4) + nvlink_to("0000:09:00.0", 4) + "<nvlink count='3'/>")));
  EXPECT_EQ(std::ranges::count(read_in.topology.links, LinkKind::nvlink, &TopologyLink::kind), 0);
  const std::string warnings = text_of(read_in.warnings);
  EXPECT_THAT(warnings, HasSubstr("is the GPU itself"));
  EXPECT_THAT(warnings, HasSubstr("is no GPU of this host; left out (found '0000:09:00.0')"));
  EXPECT_THAT(warnings, HasSubstr("no target of <nvlink>"));
}

TEST(NcclXml, Power9HasNvlinksToTheProcessor) {
  const std::string bridge = nvlink_to("0004:00:00.0", 3, "0x068001");
  const std::string cpu = "<cpu numaid='8' affinity='1' arch='ppc64'>" + gpu_at("4:4:0.0", "dev='0' sm='70' rank='0'", bridge) + "</cpu>";
  const std::string far = "<cpu numaid='0' affinity='2' arch='ppc64'/>";
  const Topology made = read(system_of(cpu + far)).topology;
  EXPECT_DOUBLE_EQ(between(made, "gpu 0", "package 0", LinkKind::nvlink), 60);
  EXPECT_DOUBLE_EQ(between(made, "package 0", "package 1", LinkKind::package), 32);
  EXPECT_THAT(made.of_kind(NodeKind::nvswitch), IsEmpty());
  EXPECT_EQ(made.node(named(made, "gpu 0")).address, "0004:04:00.0");
}

TEST(NcclXml, BridgesOfProcessorsAreKnownByClass) {
  const auto nvlinks = [](const std::string& arch, const std::string& tclass) {
    const std::string gpu = gpu_at("1:00.0", "dev='0' sm='70' rank='0'", nvlink_to("0004:00:00.0", 2, tclass));
    const Topology made = read(system_of("<cpu numaid='0' affinity='1' arch='" + arch + "'>" + gpu + "</cpu>")).topology;
    return made.of_kind(NodeKind::nvswitch).empty() ? between(made, "gpu 0", "package 0", LinkKind::nvlink) : -1;
  };
  EXPECT_DOUBLE_EQ(nvlinks("ppc64", "0x068000"), 40);  // the class of NVSwitches elsewhere
  EXPECT_DOUBLE_EQ(nvlinks("arm64", "0x068001"), 40);
  EXPECT_DOUBLE_EQ(nvlinks("ppc64", "0x060400"), 40);
  EXPECT_DOUBLE_EQ(nvlinks("arm64", "0x068000"), -1);
}

TEST(NcclXml, PartsOfOneGpuShareItsFunction) {
  const Topology made = read(package_of("<pci busid='0002:81:00.0' class='0x030200' link_speed='64.0 GT/s PCIe' link_width='2'>"
                                        "<gpu dev='0' sm='107' mlopart='0' rank='0'><nvlink target='fffffff:ff:ff.0' count='36' "
                                        "tclass='0x068000'/></gpu><gpu dev='0' sm='107' mlopart='1' rank='1'/></pci>"))
                            .topology;
  EXPECT_DOUBLE_EQ(between(made, "package 0", "PCIe 0002:81:00.0", LinkKind::pcie), 12);  // 2 of 480 / 80
  EXPECT_DOUBLE_EQ(between(made, "gpu 0 part 0", "PCIe 0002:81:00.0", LinkKind::pcie), 5000);
  EXPECT_DOUBLE_EQ(between(made, "gpu 0 part 0", "gpu 0 part 1", LinkKind::c2c), 2618);
  EXPECT_DOUBLE_EQ(between(made, "gpu 0 part 0", "NVSwitch", LinkKind::nvlink), 36 * 40.1);
  EXPECT_EQ(made.ranks.size(), 2U);
}

TEST(NcclXml, XgmiDependsOnTheGeneration) {
  const auto pair = [](const std::string& gcn) {
    const auto link = [](const std::string& to) { return "<xgmi target='" + to + "' count='2' tclass='0x120000'/>"; };
    return system_of("<cpu numaid='0' affinity='1' arch='x86_64' vendor='AuthenticAMD'>" +
                         gpu_at("0000:01:00.0", "dev='0' sm='1' gcn='" + gcn + "' rank='0'", link("0000:02:00.0")) +
                         gpu_at("0000:02:00.0", "dev='1' sm='1' gcn='" + gcn + "' rank='1'", link("0000:01:00.0")) + "</cpu>",
                     "2");
  };
  EXPECT_DOUBLE_EQ(between(read(pair("gfx942")).topology, "gpu 0", "gpu 1", LinkKind::xgmi), 96);
  EXPECT_DOUBLE_EQ(between(read(pair("910")).topology, "gpu 0", "gpu 1", LinkKind::xgmi), 72);
  EXPECT_DOUBLE_EQ(between(read(pair("906")).topology, "gpu 0", "gpu 1", LinkKind::xgmi), 48);
}

TEST(NcclXml, ANegativeNumaIdIsNone) {
  const Imported read_in = read(system_of("<cpu numaid='-1' affinity='3' arch='arm64'/>"));
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::numa), IsEmpty());
  EXPECT_THAT(read_in.topology.node(named(read_in.topology, "package 0")).cpus, ElementsAre(0, 1));
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("numaid"));
}

TEST(NcclXml, PlatformFilesLoadWithOneWarningAKind) {
  std::string bridges;
  for (const char* bus : {"10", "20", "30"})
    bridges += "<pci busid='0000:" + std::string(bus) + ":00.0'>\n<pci busid='0000:" + bus +
               ":01.0' class='0x030200'/>\n<pci busid='0000:" + bus + ":02.0' class='0x020000'/></pci>\n";
  const Imported read_in = read(package_of(bridges));
  EXPECT_EQ(read_in.topology.of_kind(NodeKind::pcie_switch).size(), 3U);
  EXPECT_THAT(read_in.topology.of_kind(NodeKind::gpu), IsEmpty());
  EXPECT_DOUBLE_EQ(between(read_in.topology, "package 0", "PCIe 0000:20:00.0", LinkKind::pcie), 12);  // PCIe 3, 16 lanes
  ASSERT_EQ(read_in.warnings.size(), 4U) << text_of(read_in.warnings);
  for (const std::string& warning : read_in.warnings) EXPECT_THAT(warning, HasSubstr("(3 times, this is the first)"));
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("t.xml:4: PCI function of class GPU without a <gpu>"));
}

TEST(NcclXml, OddValuesAreTakenLeniently) {
  const Imported read_in = read(system_of(
      "<cpu numaid='0' affinity='fff0000zz' arch='arm64'>" +
      std::string("<pci busid='nonsense' class='0x030000' link_speed='fast' link_width='0'><gpu dev='x' sm='80' rank='0'/></pci>") +
      "<nic><net name='a' speed='200000000'/></nic></cpu>"));
  const std::string warnings = text_of(read_in.warnings);
  for (const char* part : {"affinity is no list", "no PCI address in busid (found 'nonsense')",
                           "unknown link_speed of <pci>; taken as PCIe 3 "
                           "(found 'fast')",
                           "no link_width", "dev of <gpu> is no number", "more than any NIC's"})
    EXPECT_THAT(warnings, HasSubstr(part));
  EXPECT_DOUBLE_EQ(between(read_in.topology, "package 0", "gpu", LinkKind::pcie), 12);
  EXPECT_EQ(read_in.topology.node(named(read_in.topology, "a")).model, "");
}

TEST(NcclXml, ABusidTwiceOnAHostIsNoted) {
  const Imported read_in =
      read(package_of(gpu_at("1:00.0", "dev='0' sm='80' rank='0'") + gpu_at("0000:01:00.0", "dev='1' sm='80' rank='1'")));
  EXPECT_EQ(read_in.topology.ranks.size(), 2U);
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("t.xml:4: busid a second time on one host"));
}

TEST(NcclXml, EqualRanksFollowTheFile) {
  const Imported read_in = read(package_of(gpu_at("1:00.0", "dev='0' sm='80' rank='3'") + gpu_at("2:00.0", "dev='1' sm='80' rank='3'")));
  EXPECT_EQ(read_in.topology.ranks, read_in.topology.of_kind(NodeKind::gpu));
  EXPECT_THAT(text_of(read_in.warnings), HasSubstr("two GPUs have one rank"));
}

TEST(NcclXml, WhatIsNoTopologyIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("<system>\n<cpu numaid='0'/></system>"),
              HasSubstr("t.xml:1: expected version 1 (NCCL) or 2 (RCCL) in <system>, found none"));
  EXPECT_THAT(refusal(system_of("<cpu/>", "3")), HasSubstr("found '3'"));
  EXPECT_THAT(refusal(system_of("<cpu/>", "1x")), HasSubstr("found '1x'"));
  EXPECT_THAT(refusal("\n<graph/>"), HasSubstr("t.xml:2: expected <system version=\"1\"> outermost, found <graph>"));
  EXPECT_THAT(refusal("<pci busid='0'/>"), HasSubstr("a part of a topology"));
  EXPECT_THAT(refusal(system_of("<gpu/>")), HasSubstr("expected <cpu> elements"));
  EXPECT_THAT(refusal(""), HasSubstr("t.xml:1: "));
  EXPECT_THAT(refusal("plain text"), HasSubstr("t.xml:1: "));
}

TEST(NcclXml, WhatIsNotWellFormedIsRefusedWithItsLine) {
  const std::string good = system_of("<cpu numaid='0'/>\n");  // three lines
  EXPECT_THAT(refusal(good + "behind"), HasSubstr("t.xml:4: expected well-formed XML: found text outside"));
  EXPECT_THAT(refusal(good + "<system version='1'/>"), HasSubstr("t.xml:4: expected one outermost element"));
  EXPECT_THAT(refusal("before" + good), HasSubstr("t.xml:1: "));
  EXPECT_THAT(refusal(system_of("<cpu>\n<pci>\n</cpu>\n")), HasSubstr("t.xml:4: "));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 5)), HasSubstr("t.xml:3: "));
  EXPECT_THAT(refusal(good + std::string(1, '\0')), HasSubstr("t.xml:4: expected text, found a zero byte"));
  EXPECT_THAT(refusal(system_of("<cpu numaid=0/>")), HasSubstr("t.xml:2: "));
}

TEST(NcclXml, DepthAndNumberAreBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "<pci busid='0000:01:00.0'>";
    for (int i = 0; i < depth; ++i) text += "</pci>";
    return package_of(text);
  };
  EXPECT_EQ(read(nested(61)).topology.of_kind(NodeKind::pcie_switch).size(), 60U);  // the innermost has nothing inside
  EXPECT_THAT(read(nested(62)).topology.nodes, testing::Not(IsEmpty()));            // system, cpu, and these: 64
  EXPECT_THAT(refusal(nested(63)), HasSubstr("at most 64 deep"));
  EXPECT_THAT(refusal(nested(100000)), HasSubstr("at most 64 deep"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += "<cpu numaid='0'/>";
  EXPECT_THAT(refusal(system_of(many)), HasSubstr("at most 64 <cpu>"));
  many.clear();
  for (int i = 0; i < 65536; ++i) many += "<x/>";
  EXPECT_THAT(refusal(system_of(many)), HasSubstr("at most 65536 elements"));
}

TEST(NcclValues, LanesAreKnownByPrefix) {
  using nccl::lane_bandwidth;
  EXPECT_DOUBLE_EQ(lane_bandwidth("2.5 GT/s PCIe").value(), 15e9 / 80);
  EXPECT_DOUBLE_EQ(lane_bandwidth("5.0 GT/s PCIe").value(), 30e9 / 80);
  EXPECT_DOUBLE_EQ(lane_bandwidth("8 GT/s").value(), 60e9 / 80);
  EXPECT_DOUBLE_EQ(lane_bandwidth("16.0 GT/s PCIe").value(), 120e9 / 80);
  EXPECT_DOUBLE_EQ(lane_bandwidth("32 GT/s PCIe/s").value(), 240e9 / 80);
  EXPECT_DOUBLE_EQ(lane_bandwidth("64.0 GT/s PCIe").value(), 480e9 / 80);
  for (const char* unknown : {"16.0 GT/s", "64 GT/s", "Unknown", ""}) EXPECT_FALSE(lane_bandwidth(unknown)) << unknown;
}

TEST(NcclValues, ProcessorsAreKnownByModel) {
  const auto intel = [](long long model) { return nccl::processor_bandwidth({"x86_64", "GenuineIntel", 6, model}) / 1e9; };
  EXPECT_DOUBLE_EQ(intel(79), 6);    // Broadwell
  EXPECT_DOUBLE_EQ(intel(85), 10);   // Skylake
  EXPECT_DOUBLE_EQ(intel(143), 22);  // Sapphire Rapids
  EXPECT_DOUBLE_EQ(intel(207), 40);  // Emerald Rapids
  EXPECT_DOUBLE_EQ(nccl::processor_bandwidth({"x86_64", "AuthenticAMD", 175, 1}), 16e9);
  EXPECT_DOUBLE_EQ(nccl::processor_bandwidth({"arm64", "", 0, 0}), 6e9);
  EXPECT_DOUBLE_EQ(nccl::processor_bandwidth({"", "", 0, 0}), 0);
}

TEST(NcclValues, AddressesHaveOneForm) {
  EXPECT_EQ(nccl::address("0000:1A:00.0"), "0000:1a:00.0");
  EXPECT_EQ(nccl::address("00000000:07:00.1"), "0000:07:00.1");
  EXPECT_EQ(nccl::address("07:00.1"), "0000:07:00.1");
  EXPECT_EQ(nccl::address("fffffff:ff:ff.0"), "fffffff:ff:ff.0");
  for (const char* wrong : {"", "7", "0000:07:00", "0000:107:00.0", "g:07:00.0", ":07:00.0", "0000::00.0", "1.2:3"})
    EXPECT_EQ(nccl::address(wrong), "") << wrong;
}

TEST(NcclValues, CpusAreBitsOfWords) {
  EXPECT_THAT(nccl::cpus("1,80000000").value(), ElementsAre(31, 32));
  EXPECT_THAT(nccl::cpus("0000,00000000,5").value(), ElementsAre(0, 2));
  EXPECT_FALSE(nccl::cpus("123456789"));
  EXPECT_FALSE(nccl::cpus("1,,1"));
}

}  // namespace
}  // namespace toric
