// hwloc's XML: own examples of all versions, real machines where their files are there, damaged texts.
#include "toric/topology/discovery.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace toric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two packages of one core with two CPUs; a GPU and a network card behind a bridge at the first, a disk, a management
// display; the mask of device types is that of version 3.
constexpr const char* small_machine = R"(<?xml version="1.0" encoding="UTF-8"?>
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" allowed_cpuset="0x00000007" nodeset="0x3" gp_index="1">
    <info name="HostName" value="example"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x1" gp_index="2">
      <info name="CPUModel" value="Processor"/>
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x1" gp_index="3" local_memory="1000"/>
      <object type="L3Cache" cpuset="0x00000003" nodeset="0x1" gp_index="4" cache_size="4096" depth="3" cache_type="0">
        <object type="L1iCache" cpuset="0x00000003" nodeset="0x1" cache_size="64" depth="1" cache_type="2">
          <object type="Core" os_index="0" cpuset="0x00000003" nodeset="0x1" gp_index="5">
            <object type="PU" os_index="0" cpuset="0x00000001" nodeset="0x1" gp_index="6"/>
            <object type="PU" os_index="1" cpuset="0x00000002" nodeset="0x1" gp_index="7"/>
          </object>
        </object>
      </object>
      <object type="Bridge" gp_index="10" bridge_type="0-1" depth="0" bridge_pci="0000:[00-03]">
        <object type="Bridge" gp_index="11" bridge_type="1-1" depth="1" pci_busid="0000:00:01.0" pci_type="0604 [8086:0001] [0:0] 01 00" pci_link_speed="4.0">
          <object type="PCIDev" gp_index="12" pci_busid="0000:01:00.0" pci_type="0302 [10de:15f9] [10de:116b] a1 00" pci_link_speed="16.5">
            <object type="OSDev" gp_index="13" name="cuda0" osdev_type="12"/>
            <object type="OSDev" gp_index="14" name="nvml2" osdev_type="12"><info name="GPUModel" value="Device"/></object>
          </object>
          <object type="PCIDev" gp_index="15" pci_busid="0000:02:00.0" pci_type="0207 [15b3:1013] [15b3:0013] 00 00" pci_link_speed="8.0">
            <object type="OSDev" gp_index="16" name="ib0" osdev_type="16"/>
            <object type="OSDev" gp_index="17" name="mlx5_0" osdev_type="48"/>
          </object>
        </object>
        <object type="Bridge" gp_index="18" bridge_type="1-1" depth="1" pci_busid="0000:00:02.0" pci_type="0604 [8086:0002] [0:0] 01 00">
          <object type="PCIDev" gp_index="19" pci_busid="0000:03:00.0" pci_type="0106 [8086:2922] [0:0] 01 00">
            <object type="OSDev" gp_index="20" name="sda" osdev_type="1"/>
          </object>
        </object>
        <object type="PCIDev" gp_index="21" pci_busid="0000:00:03.0" pci_type="0300 [102b:0532] [0:0] 01 00"/>
      </object>
    </object>
    <object type="Group" cpuset="0x0000000c" nodeset="0x2">
      <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x2" gp_index="30">
        <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x2" gp_index="31" local_memory="2000"/>
        <object type="Core" os_index="7" cpuset="0x0000000c" nodeset="0x2" gp_index="32">
          <object type="PU" os_index="2" cpuset="0x00000004" nodeset="0x2" gp_index="33"/>
          <object type="PU" os_index="3" cpuset="0x00000008" nodeset="0x2" gp_index="34"/>
        </object>
      </object>
    </object>
  </object>
  <distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth">
    <indexes length="20">OSDev:14 Package:30 </indexes>
    <u64values length="8">1000000 40000 </u64values>
    <u64values length="8">30000 1000000 </u64values>
  </distances2hetero>
</topology>
)";

Imported read(std::string_view text, std::string_view name = "file") {
  Result<Imported> made = read_hwloc_xml(text, name);
  EXPECT_TRUE(made.ok()) << made.status().text();
  return made.ok() ? std::move(*made) : Imported();
}

std::string refusal(std::string_view text) {
  const Result<Imported> made = read_hwloc_xml(text, "file");
  EXPECT_FALSE(made.ok()) << "this was not refused:\n" << text.substr(0, 500);
  if (!made.ok()) {
    EXPECT_EQ(made.status().code(), Code::invalid_argument);
  }
  return std::string(made.status().text());
}

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), fresh);
}

std::vector<std::string> names(const Topology& topology, NodeKind kind) {
  std::vector<std::string> found;
  for (const NodeId id : topology.of_kind(kind)) found.push_back(topology.node(id).name);
  return found;
}

NodeId named(const Topology& topology, std::string_view name) {
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    if (topology.nodes[i].name == name) return static_cast<NodeId>(i);
  ADD_FAILURE() << "there is no " << name;
  return 0;
}

/// -1: no such link.
double bandwidth(const Topology& topology, std::string_view from, std::string_view to, LinkKind kind) {
  for (const TopologyLink& link : topology.links)
    if (topology.node(link.from).name == from && topology.node(link.to).name == to && link.kind == kind) return link.bandwidth;
  return -1;
}

/// Of a machine with one PU, between its Machine tag and that PU.
std::string around(const std::string& inside, const std::string& version = R"( version="2.0")") {
  return "<topology" + version + R"(><object type="Machine" cpuset="0x1">)" + inside + "</object></topology>";
}
constexpr const char* one_cpu = R"(<object type="PU" os_index="0" cpuset="0x1"/>)";

TEST(HwlocXml, ReadsWhatTheMachineIsMadeOf) {
  const Topology t = read(small_machine).topology;
  ASSERT_FALSE(t.nodes.empty());
  EXPECT_EQ(t.nodes[0].name, "example");
  EXPECT_EQ(t.nodes[0].bytes, 3000U);
  EXPECT_THAT(t.nodes[0].cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(t.allowed_cpus, ElementsAre(0, 1, 2));
  EXPECT_THAT(names(t, NodeKind::package), ElementsAre("package 0", "package 1"));
  EXPECT_THAT(names(t, NodeKind::numa), ElementsAre("numa 0", "numa 1"));
  EXPECT_THAT(names(t, NodeKind::cache), ElementsAre("L3"));
  EXPECT_THAT(names(t, NodeKind::core), ElementsAre("core 0", "core 7"));
  EXPECT_EQ(t.node(named(t, "package 0")).model, "Processor");
  EXPECT_EQ(t.node(named(t, "numa 1")).bytes, 2000U);
  EXPECT_EQ(t.node(named(t, "numa 1")).parent, named(t, "package 1"));
  EXPECT_EQ(t.node(named(t, "package 1")).parent, 0);
  EXPECT_EQ(t.node(named(t, "core 0")).parent, named(t, "L3"));
  EXPECT_EQ(t.node(named(t, "L3")).bytes, 4096U);
  EXPECT_THAT(t.node(named(t, "core 7")).cpus, ElementsAre(2, 3));
  EXPECT_EQ(t.node(named(t, "core 7")).numa, 1);
  EXPECT_EQ(bandwidth(t, "package 0", "example", LinkKind::package), 0);
  EXPECT_EQ(bandwidth(t, "numa 0", "package 0", LinkKind::memory), 0);
}

TEST(HwlocXml, KeepsDevicesThatComputeOrReachTheNetwork) {
  const Imported made = read(small_machine);
  const Topology& t = made.topology;
  EXPECT_THAT(names(t, NodeKind::gpu), ElementsAre("gpu 2"));
  EXPECT_THAT(names(t, NodeKind::nic), ElementsAre("ib0"));
  EXPECT_THAT(names(t, NodeKind::pcie_switch), ElementsAre("PCIe 0000:00:01.0"));
  const TopologyNode& gpu = t.node(named(t, "gpu 2"));
  EXPECT_EQ(gpu.address, "0000:01:00.0");
  EXPECT_EQ(gpu.os_index, 2);
  EXPECT_EQ(gpu.model, "Device");
  EXPECT_EQ(gpu.numa, 0);
  EXPECT_THAT(gpu.cpus, ElementsAre(0, 1));
  EXPECT_EQ(t.node(named(t, "PCIe 0000:00:01.0")).parent, named(t, "package 0"));
  EXPECT_EQ(bandwidth(t, "gpu 2", "PCIe 0000:00:01.0", LinkKind::pcie), 16.5e9);
  EXPECT_EQ(bandwidth(t, "PCIe 0000:00:01.0", "ib0", LinkKind::pcie), 8e9);
  EXPECT_EQ(bandwidth(t, "PCIe 0000:00:01.0", "package 0", LinkKind::pcie), 4e9);
  EXPECT_EQ(t.ranks, t.of_kind(NodeKind::gpu));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("display that does not compute (found '0000:00:03.0')")));
}

TEST(HwlocXml, ReadsBothDirectionsOfNvlinks) {
  const Topology t = read(small_machine).topology;
  EXPECT_EQ(bandwidth(t, "gpu 2", "package 1", LinkKind::nvlink), 40e9);
  EXPECT_EQ(bandwidth(t, "package 1", "gpu 2", LinkKind::nvlink), 30e9);
  EXPECT_EQ(std::ranges::count(t.links, LinkKind::nvlink, &TopologyLink::kind), 2);
}

TEST(HwlocXml, MakesNvswitchesOfPciDevicesThatNvlinksName) {
  std::string text = with(small_machine, "OSDev:14 Package:30", "OSDev:14 PCIDev:19");
  const Topology t = read(text).topology;
  EXPECT_THAT(names(t, NodeKind::nvswitch), ElementsAre("nvswitch 0"));
  EXPECT_EQ(t.node(named(t, "nvswitch 0")).address, "0000:03:00.0");
  EXPECT_EQ(bandwidth(t, "gpu 2", "nvswitch 0", LinkKind::nvlink), 40e9);
  EXPECT_EQ(bandwidth(t, "nvswitch 0", "gpu 2", LinkKind::nvlink), 30e9);
  text = with(small_machine, "OSDev:14 Package:30", "OSDev:14 OSDev:99");
  EXPECT_THAT(read(text).warnings, testing::Contains(HasSubstr("an object that is not there (found '99')")));
}

TEST(HwlocXml, TypesOfDevicesAreAListBeforeVersion3) {
  const auto machine = [](const char* version, const char* type) {
    return around(fmt::format(R"({}<object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0880 [1:2] [3:4] 00">)"
                              R"(<object type="OSDev" name="x" osdev_type="{}"/></object>)",
                              one_cpu, type),
                  version);
  };
  const auto kinds = [&](const char* version, const char* type) {
    const Topology t = read(machine(version, type)).topology;
    return std::pair(t.of_kind(NodeKind::gpu).size(), t.of_kind(NodeKind::nic).size());
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(kinds("", "2"), Counts(0, 1));
  EXPECT_EQ(kinds(R"( version="2.0")", "3"), Counts(0, 1));
  EXPECT_EQ(kinds(R"( version="2.0")", "5"), Counts(1, 0));
  EXPECT_EQ(kinds(R"( version="3.0")", "5"), Counts(0, 0));
  EXPECT_EQ(kinds(R"( version="3.0")", "2"), Counts(0, 0));
  EXPECT_EQ(kinds(R"( version="3.0")", "48"), Counts(0, 1));
  EXPECT_EQ(kinds(R"( version="3.0")", "12"), Counts(1, 0));
}

TEST(HwlocXml, Version1HasNumaNodesAsALevel) {
  const std::string numa = R"(<object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" local_memory="5">)";
  const std::string socket = R"(<object type="Socket" os_index="3" cpuset="0x1">)" + std::string(one_cpu) + "</object>";
  const Topology in_package = read(around(numa + socket + "</object>", "")).topology;
  EXPECT_EQ(in_package.node(named(in_package, "numa 0")).parent, named(in_package, "package 3"));
  EXPECT_EQ(in_package.node(named(in_package, "package 3")).parent, 0);
  const Topology beside = read(around(numa + one_cpu + "</object>", "")).topology;
  EXPECT_EQ(beside.node(named(beside, "numa 0")).parent, 0);
  EXPECT_EQ(beside.node(named(beside, "core 0")).parent, 0);
}

TEST(HwlocXml, SetsHaveEmptyWords) {
  const std::string cpu = R"(<object type="PU" os_index="96" cpuset="0x3,,,0x80000000"/>)";
  const Topology t =
      read(R"(<topology version="2.0"><object type="Machine" cpuset="0x3,,,0x80000000">)" + cpu + "</object></topology>").topology;
  EXPECT_THAT(t.nodes[0].cpus, ElementsAre(31, 96, 97));
  EXPECT_THAT(t.allowed_cpus, ElementsAre(31, 96, 97));
  EXPECT_EQ(t.nodes[0].name, "host");
}

TEST(HwlocXml, Version3TellsTheHostsNameBehindIt) {
  const std::string text = with(around(one_cpu, " version=\"3.0\""), "</topology>", "<info name=\"HostName\" value=\"other\"/></topology>");
  EXPECT_EQ(read(text).topology.nodes[0].name, "other");
}

TEST(HwlocXml, OneNodeForEachPortOfANetworkCard) {
  const std::string card = R"(<object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0280 [1:2] [3:4] 00">)"
                           R"(<object type="OSDev" name="ib0" osdev_type="2"/><object type="OSDev" name="ib1" osdev_type="2"/>)"
                           R"(<object type="OSDev" name="mlx4_0" osdev_type="3"/></object>)";
  EXPECT_THAT(names(read(around(one_cpu + card)).topology, NodeKind::nic), ElementsAre("ib0", "ib1"));
  const std::string fabric = R"(<object type="PCIDev" pci_type="0c06 [1:2]"><object type="OSDev" name="qib0" osdev_type="3"/></object>)";
  EXPECT_THAT(names(read(around(one_cpu + fabric)).topology, NodeKind::nic), ElementsAre("qib0"));
  EXPECT_THAT(read(around(one_cpu + std::string(R"(<object type="OSDev" name="veth1" osdev_type="2"/>)"))).warnings,
              ElementsAre(HasSubstr("no PCI device (found 'veth1')")));
}

TEST(HwlocXml, AllowsOnlyCpusThatAreThere) {
  const std::string wide = with(around(one_cpu), R"(cpuset="0x1")", R"(cpuset="0x1" allowed_cpuset="0xff")");
  EXPECT_THAT(read(wide).topology.allowed_cpus, ElementsAre(0));
}

TEST(HwlocXml, LeavesOutRemarksAndNamesUnknownTypes) {
  EXPECT_THAT(read(around(one_cpu + std::string(R"(<object type="Misc" name="x"/>)"))).warnings, IsEmpty());
  const Imported made = read(around("<object type=\"Drawer\">" + std::string(one_cpu) + "</object>"));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("a type that is not known; what it contains is kept (found 'Drawer')")));
  EXPECT_THAT(names(made.topology, NodeKind::core), ElementsAre("core 0"));
}

TEST(HwlocXml, MemoryWithoutCpusHasNone) {
  const std::string memory = R"(<object type="NUMANode" os_index="2" cpuset="0x0" nodeset="0x4"/>)";
  const Topology t = read(around(one_cpu + memory)).topology;
  EXPECT_THAT(t.node(named(t, "numa 2")).cpus, IsEmpty());
  EXPECT_EQ(t.node(1).kind, NodeKind::numa) << "memory stands before the CPUs, whatever the order of the file";
}

TEST(HwlocXml, RefusesWithLineAndReason) {
  EXPECT_THAT(refusal(""), HasSubstr("file:1:"));
  EXPECT_THAT(refusal("<system/>"), HasSubstr("expected <topology>, found <system>"));
  EXPECT_THAT(refusal("<topology version=\"4.0\"/>"), HasSubstr("expected version 1, 2 or 3"));
  EXPECT_THAT(refusal("<topology/>"), HasSubstr("type Machine"));
  EXPECT_THAT(refusal(around("")), HasSubstr("found no PU"));
  EXPECT_THAT(refusal(with(small_machine, "0x0000000f", "0x0000000g")), HasSubstr("file:3: expected cpuset"));
  EXPECT_THAT(refusal(with(small_machine, "os_index=\"7\"", "os_index=\"-7\"")), HasSubstr("file:38: expected os_index"));
  EXPECT_THAT(refusal(with(small_machine, "\"16.5\"", "\"fast\"")), HasSubstr("expected pci_link_speed in GB/s, found \"fast\""));
  EXPECT_THAT(refusal(with(small_machine, "nbobjs=\"2\"", "nbobjs=\"3\"")), HasSubstr("file:45: expected nbobjs=\"2\""));
  EXPECT_THAT(refusal(with(small_machine, ">30000 1000000 <", ">30000 <")), HasSubstr("expected 2 x 2 values, found 3"));
  EXPECT_THAT(refusal(with(small_machine, "</topology>", "")), HasSubstr("well-formed"));
}

TEST(HwlocXml, BoundsNumbersOfCpusAndDepth) {
  std::string far = "0x1";  // bit 2^20
  for (int word = 0; word < (1 << 20) / 32; ++word) far += ",";
  EXPECT_THAT(refusal(around(R"(<object type="PU" os_index="0" cpuset=")" + far + "\"/>")), HasSubstr("below 1048576"));

  std::string deep = one_cpu;
  for (int i = 0; i < 300; ++i) deep = "<object type=\"Group\">" + deep + "</object>";
  EXPECT_THAT(refusal(around(deep)), HasSubstr("deep"));

  std::string many;  // each of these copies the CPUs of the machine
  for (int i = 0; i < 5000; ++i) many += R"(<object type="PCIDev" pci_type="0200"/>)";
  std::string all = "0xffffffff";
  for (int i = 0; i < 2000; ++i) all += ",0xffffffff";
  EXPECT_THAT(
      refusal("<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"" + all + "\">" + one_cpu + many + "</object></topology>"),
      HasSubstr("expected fewer CPUs"));
}

// hwloc's own library.

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Hwloc = std::unique_ptr<hwloc_topology, Destroy>;

Hwloc by_hwloc(const std::string& text) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Hwloc topology(raw);
  if (hwloc_topology_set_xmlbuffer(raw, text.c_str(), static_cast<int>(text.size()) + 1) != 0) return nullptr;
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  return hwloc_topology_load(raw) == 0 ? std::move(topology) : nullptr;
}

std::size_t cpus_of_cores(const Topology& t) {
  std::set<int> cpus;
  for (const NodeId id : t.of_kind(NodeKind::core)) cpus.insert(t.node(id).cpus.begin(), t.node(id).cpus.end());
  return cpus.size();
}

using Described = std::tuple<NodeKind, std::string, std::string, std::vector<int>, int, std::uint64_t>;

std::vector<Described> described(const Topology& t) {
  std::vector<Described> made;
  for (const TopologyNode& node : t.nodes)
    made.emplace_back(node.kind, node.name, node.parent == no_node ? "" : t.node(node.parent).name, node.cpus, node.numa, node.bytes);
  return made;
}

using Joined = std::tuple<std::string, std::string, LinkKind, double>;

std::vector<Joined> joined(const Topology& t) {
  std::vector<Joined> made;
  for (const TopologyLink& link : t.links) made.emplace_back(t.node(link.from).name, t.node(link.to).name, link.kind, link.bandwidth);
  return made;
}

TEST(HwlocXml, ReadsWhatHwlocExportsAsDiscoveryReadsIt) {
  for (const char* synthetic : {"package:2 numa:1 l3:1 core:4 pu:2", "numa:2 package:2 l2:2 core:1 pu:1", "package:1 pu:4"})
    for (const unsigned long flags : {0UL, static_cast<unsigned long>(HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V1)}) {
      hwloc_topology_t raw = nullptr;
      ASSERT_EQ(hwloc_topology_init(&raw), 0);
      const Hwloc topology(raw);
      ASSERT_EQ(hwloc_topology_set_synthetic(raw, synthetic), 0);
      ASSERT_EQ(hwloc_topology_load(raw), 0);
      char* buffer = nullptr;
      int length = 0;
      ASSERT_EQ(hwloc_topology_export_xmlbuffer(raw, &buffer, &length, flags), 0);
      const std::string text = buffer;
      hwloc_free_xmlbuffer(raw, buffer);
      const auto expected = describe_host(synthetic);
      ASSERT_TRUE(expected.ok());
      const Topology found = read(text).topology;
      EXPECT_EQ(described(found), described(*expected)) << synthetic << " " << flags << "\n" << text;
      EXPECT_EQ(joined(found), joined(*expected)) << synthetic << " " << flags;
      EXPECT_EQ(found.allowed_cpus, expected->allowed_cpus);
    }
}

// Real machines.

const std::filesystem::path shared = std::filesystem::path(TORIC_SHARED_DATA) / "hwloc";

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> shared_files() {
  std::map<std::string, std::string> found;
  if (!std::filesystem::is_directory(shared)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(shared))
    if (entry.path().extension() == ".xml") found[entry.path().filename()] = content_of(entry.path());
  return found;
}

/// File to type to number, from lines "file | version 3.0 | Core=16 L1Cache=16 | ...".
std::map<std::string, std::map<std::string, std::size_t>> expected_counts() {
  std::map<std::string, std::map<std::string, std::size_t>> found;
  std::ifstream file(shared / "EXPECTED.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, word;
    words >> name;
    for (int bars = 0; bars < 3 && words >> word;) {
      const std::size_t equals = word.find('=');
      if (word == "|")
        ++bars;
      else if (bars == 2 && equals != std::string::npos)
        found[name][word.substr(0, equals)] = std::stoul(word.substr(equals + 1));
    }
  }
  return found;
}

class SharedHwloc : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(shared)) {
      std::puts("skipped: no files of real machines here");
      GTEST_SKIP();
    }
    files_ = shared_files();
    ASSERT_FALSE(files_.empty());
  }
  std::map<std::string, std::string> files_;
};

TEST_F(SharedHwloc, HoldAsManyPartsAsIsWrittenOfThem) {
  auto expected = expected_counts();
  for (const auto& [name, text] : files_) {
    SCOPED_TRACE(name);
    const bool bad = name.starts_with("bad-");
    if (bad) {
      EXPECT_FALSE(read_topology(text, name).ok());
      continue;
    }
    const Result<Imported> made = read_topology(text, name);
    ASSERT_TRUE(made.ok()) << made.status().text();
    const Topology& t = made->topology;
    ASSERT_TRUE(expected.contains(name));
    auto& counts = expected[name];
    EXPECT_EQ(t.of_kind(NodeKind::host).size(), counts["Machine"]);
    EXPECT_EQ(t.of_kind(NodeKind::package).size(), counts["Package"] + counts["Socket"]);
    EXPECT_EQ(t.of_kind(NodeKind::numa).size(), counts["NUMANode"]);
    EXPECT_EQ(t.of_kind(NodeKind::core).size(), counts["Core"] > 0 ? counts["Core"] : counts["PU"]);
    EXPECT_EQ(cpus_of_cores(t), counts["PU"]);
    if (counts["Cache"] == 0) {
      EXPECT_EQ(t.of_kind(NodeKind::cache).size(), counts["L1Cache"] + counts["L2Cache"] + counts["L3Cache"]);
    }
    EXPECT_LE(t.of_kind(NodeKind::pcie_switch).size(), counts["Bridge"]);
    EXPECT_TRUE(validate(t).ok());
  }
}

TEST_F(SharedHwloc, HwlocItselfFindsAsManyParts) {
  int compared = 0;
  for (const auto& [name, text] : files_) {
    SCOPED_TRACE(name);
    const Hwloc topology = by_hwloc(text);
    const Result<Imported> made = read_hwloc_xml(text, name);
    if (!topology || !made.ok()) continue;
    ++compared;
    const auto count = [&](hwloc_obj_type_t type) { return static_cast<std::size_t>(hwloc_get_nbobjs_by_type(topology.get(), type)); };
    const Topology& t = made->topology;
    EXPECT_EQ(t.of_kind(NodeKind::package).size(), count(HWLOC_OBJ_PACKAGE));
    // hwloc invents a NUMA node where a file of version 1 has none.
    EXPECT_EQ(std::max<std::size_t>(t.of_kind(NodeKind::numa).size(), 1), count(HWLOC_OBJ_NUMANODE));
    EXPECT_EQ(t.of_kind(NodeKind::core).size(), count(HWLOC_OBJ_CORE) > 0 ? count(HWLOC_OBJ_CORE) : count(HWLOC_OBJ_PU));
    EXPECT_EQ(cpus_of_cores(t), count(HWLOC_OBJ_PU));
  }
  std::printf("hwloc accepted %d of %zu files\n", compared, files_.size());
  EXPECT_GT(compared, 0);
}

TEST_F(SharedHwloc, VersionsOfOneMachineAreOneGraph) {
  const std::pair<const char*, const char*> pairs[] = {{"16amd64-4distances.hwloc2.xml", "16amd64-4distances.xml"},
                                                       {"96em64t-4n4d3ca2co-pci.hwloc1.xml", "96em64t-4n4d3ca2co-pci.hwloc2.xml"},
                                                       {"cxlmem+dax.v2.xml", "cxlmem+dax.v3.xml"},
                                                       {"power8gpudistances.hwloc2.xml", "power8gpudistances.xml"}};
  for (const auto& [one, other] : pairs) {
    SCOPED_TRACE(one);
    ASSERT_TRUE(files_.contains(one) && files_.contains(other));
    const Topology a = read(files_[one], one).topology, b = read(files_[other], other).topology;
    EXPECT_EQ(described(a), described(b));
    EXPECT_EQ(joined(a), joined(b));
  }
}

TEST_F(SharedHwloc, GpusOfPower8AreWiredAsItsMatrixSays) {
  ASSERT_TRUE(files_.contains("power8gpudistances.xml"));
  const Topology t = read(files_["power8gpudistances.xml"]).topology;
  EXPECT_THAT(names(t, NodeKind::gpu), ElementsAre("gpu 0", "gpu 1", "gpu 2", "gpu 3"));
  EXPECT_EQ(t.of_kind(NodeKind::pcie_switch).size(), 4U);
  EXPECT_EQ(bandwidth(t, "gpu 0", "gpu 1", LinkKind::nvlink), 40e9);
  EXPECT_EQ(bandwidth(t, "gpu 0", "gpu 2", LinkKind::nvlink), -1);
  EXPECT_EQ(bandwidth(t, "package 1", "gpu 3", LinkKind::nvlink), 40e9);
  EXPECT_EQ(std::ranges::count(t.links, LinkKind::nvlink, &TopologyLink::kind), 12);  // 2 pairs of GPUs, 4 to processors
}

// Damage.

std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); };
  if (below(4) == 0) return text.substr(0, below(text.size()));
  for (std::size_t flips = 1 + below(6); flips > 0; --flips) {
    char& victim = text[below(text.size())];
    victim = static_cast<char>(static_cast<unsigned char>(victim) ^ (1U << below(8)));
  }
  return text;
}

TEST(HwlocXml, SurvivesDamagedTexts) {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  std::vector<std::string> texts = {small_machine, small_machine, small_machine};
  for (const auto& [name, text] : shared_files()) texts.push_back(text);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  int accepted = 0, refused = 0;
  for (std::size_t turn = 0; std::chrono::steady_clock::now() < end; ++turn) {
    const std::string text = damaged(texts[turn % texts.size()], random);
    const Result<Imported> made = read_hwloc_xml(text, "file");
    ++(made.ok() ? accepted : refused);
    if (made.ok()) {
      ASSERT_TRUE(validate(made->topology).ok()) << "seed " << seed << " turn " << turn;
    } else {
      ASSERT_THAT(std::string(made.status().text()), testing::StartsWith("file:")) << "seed " << seed << " turn " << turn;
    }
  }
  std::printf("%d accepted, %d refused\n", accepted, refused);
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace toric
