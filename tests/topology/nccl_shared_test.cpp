// Topology files of real machines, where they are at hand: counts as an independent reader found them.
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace toric {
namespace {

namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = fs::path(TORIC_SHARED_DATA) / "nccl-topo";
  return path;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder()))
    if (entry.path().extension() == ".xml") found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// "name | v 1 cpus 2 numa 0,1 ..." as words after words.
std::map<std::string, std::map<std::string, std::string>> expectations() {
  std::map<std::string, std::map<std::string, std::string>> all;
  std::ifstream file(folder() / "EXPECTED.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, bar, key, value;
    words >> name >> bar;
    while (words >> key >> value) all[name].emplace(key, value);
  }
  return all;
}

std::size_t links_of(const Topology& topology, LinkKind kind) {
  return static_cast<std::size_t>(std::ranges::count(topology.links, kind, &TopologyLink::kind));
}

std::string count_of(const Topology& topology, NodeKind kind) { return std::to_string(topology.of_kind(kind).size()); }

std::string numas_of(const Topology& topology) {
  std::string list;
  for (const NodeId id : topology.of_kind(NodeKind::numa)) list += (list.empty() ? "" : ",") + std::to_string(topology.node(id).os_index);
  return list;
}

class SharedNcclTopologies : public testing::Test {
 protected:
  void SetUp() override {
    if (fs::exists(folder())) return;
    std::cout << "skipped: no " << folder() << '\n';
    GTEST_SKIP();
  }
};

TEST_F(SharedNcclTopologies, HaveTheCountsOfAnIndependentReader) {
  auto expected = expectations();
  std::size_t read = 0;
  for (const fs::path& path : files()) {
    const std::string name = path.filename();
    SCOPED_TRACE(name);
    if (name.starts_with("bad-") || name.starts_with("frag-")) continue;
    ++read;
    const auto result = read_nccl_xml(content_of(path), name);
    ASSERT_TRUE(result.ok()) << result.status().text();
    const Topology& topology = result->topology;
    const Status status = validate(topology);
    EXPECT_TRUE(status.ok()) << status.text();
    auto& counts = expected[name];
    EXPECT_EQ(count_of(topology, NodeKind::package), counts["cpus"]);
    EXPECT_EQ(numas_of(topology), counts["numa"]);
    EXPECT_EQ(count_of(topology, NodeKind::host), counts["hosts"]);
    EXPECT_EQ(count_of(topology, NodeKind::gpu), counts["gpus"]);
    EXPECT_EQ(count_of(topology, NodeKind::nic), counts["net"]);
    EXPECT_EQ(topology.ranks.size(), topology.of_kind(NodeKind::gpu).size());
    // Those two have no target, in a test of the parser that nobody meant to be a machine.
    const std::string xgmis = name.starts_with("ok-") ? "0" : counts["xgmi"];
    EXPECT_EQ(std::to_string(links_of(topology, LinkKind::xgmi)), xgmis);
    EXPECT_EQ(std::to_string(links_of(topology, LinkKind::c2c) / 2), counts["c2c"]);
    std::cout << "read " << name << ": " << result->warnings.size() << " warnings\n";
    for (const std::string& warning : result->warnings) std::cout << "  " << warning << '\n';
  }
  EXPECT_GT(read, 40U) << "files in " << folder();
}

TEST_F(SharedNcclTopologies, AreRefusedWhereMalformedOrPartial) {
  std::size_t refused = 0;
  for (const fs::path& path : files()) {
    const std::string name = path.filename();
    if (!name.starts_with("bad-") && !name.starts_with("frag-")) continue;
    ++refused;
    const auto result = read_nccl_xml(content_of(path), name);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.status().code(), Code::invalid_argument);
    EXPECT_TRUE(result.status().text().starts_with(name + ":")) << result.status().text();
    std::cout << result.status().text() << '\n';
  }
  EXPECT_GE(refused, 12U) << "files in " << folder();
}

TEST_F(SharedNcclTopologies, HaveNvlinkBandwidthsOfTheLogs) {
  const auto result = read_nccl_xml(content_of(folder() / "hgx-h200-8gpu-container.xml"), "h200");
  ASSERT_TRUE(result.ok()) << result.status().text();
  std::size_t nvlinks = 0;
  for (const TopologyLink& link : result->topology.links) {
    if (link.kind != LinkKind::nvlink) continue;
    ++nvlinks;
    EXPECT_NEAR(link.bandwidth, 370.8e9, 1);  // as NCCL logs it: 18 links of 20.6
  }
  EXPECT_EQ(nvlinks, 16U);  // 8 GPUs, to the NVSwitch and back
  EXPECT_EQ(result->topology.of_kind(NodeKind::nvswitch).size(), 1U);
}

}  // namespace
}  // namespace toric
