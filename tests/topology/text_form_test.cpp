// The text form, the validator, the hash, JSON and the summary line.
#include "toric/topology/text_form.hpp"

#include "toric/topology/discovery.hpp"
#include "toric/topology/quantity.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace toric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Topology read(std::string_view text) {
  auto read = read_topology_text(text, "file");
  EXPECT_TRUE(read.ok()) << read.status().text();
  return read ? std::move(read->topology) : Topology();
}

std::string refusal(std::string_view text) {
  const auto read = read_topology_text(text, "file");
  EXPECT_FALSE(read.ok()) << "this was not refused:\n" << text;
  if (!read.ok()) {
    EXPECT_EQ(read.status().code(), Code::invalid_argument);
  }
  return std::string(read.status().text());
}

void expect_same(const Topology& one, const Topology& other) {
  ASSERT_EQ(one.nodes.size(), other.nodes.size());
  for (std::size_t i = 0; i < one.nodes.size(); ++i) {
    const TopologyNode& a = one.nodes[i];
    const TopologyNode& b = other.nodes[i];
    EXPECT_TRUE(a.kind == b.kind && a.name == b.name && a.parent == b.parent && a.os_index == b.os_index && a.level == b.level &&
                a.numa == b.numa && a.bytes == b.bytes && a.cpus == b.cpus && a.model == b.model && a.address == b.address)
        << "node " << i;
  }
  ASSERT_EQ(one.links.size(), other.links.size());
  for (std::size_t i = 0; i < one.links.size(); ++i) {
    const TopologyLink& a = one.links[i];
    const TopologyLink& b = other.links[i];
    EXPECT_TRUE(a.from == b.from && a.to == b.to && a.kind == b.kind && a.bandwidth == b.bandwidth && a.latency == b.latency)
        << "link " << i;
  }
  EXPECT_EQ(one.allowed_cpus, other.allowed_cpus);
  EXPECT_EQ(one.ranks, other.ranks);
}

constexpr std::string_view small_machine = R"(# a machine
toric topology 1

node 0 host "my host" size 2GiB cpus 0-3
node 1 package "package \"0\"" in 0 os 0 cpus 0-1,3   # one CPU is missing
node 2 cache in 1 level 3 size 33554432B numa 0
node 3 gpu "gpu 0" in 1 os 0 model "A100" address 0000:1b:00.0
node 4 gpu "gpu 1" in 1 os 1
node 5 nvswitch in 0
default nvlink 300GB/s 2us
link 3 5 nvlink
link 4 5 nvlink 200GB/s
link 3 4 pcie 64Gb/s 500ns one-way
link 0 1 package
link 1 2 cache ?B/s 10ns
allowed 1,3
ranks 4,3
)";

TEST(TextForm, ReadsWhatAPersonWrote) {
  const Topology topology = read(small_machine);
  ASSERT_EQ(topology.nodes.size(), 6u);
  EXPECT_EQ(topology.nodes[0].kind, NodeKind::host);
  EXPECT_EQ(topology.nodes[0].name, "my host");
  EXPECT_EQ(topology.nodes[0].bytes, 2147483648u);
  EXPECT_EQ(topology.nodes[0].parent, no_node);
  EXPECT_THAT(topology.nodes[0].cpus, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(topology.nodes[1].name, "package \"0\"");
  EXPECT_EQ(topology.nodes[1].os_index, 0);
  EXPECT_EQ(topology.nodes[1].numa, -1) << "what is not written is unknown";
  EXPECT_THAT(topology.nodes[1].cpus, ElementsAre(0, 1, 3));
  EXPECT_EQ(topology.nodes[2].level, 3);
  EXPECT_EQ(topology.nodes[2].bytes, 32u << 20);
  EXPECT_EQ(topology.nodes[2].numa, 0);
  EXPECT_EQ(topology.nodes[2].os_index, -1);
  EXPECT_EQ(topology.nodes[3].model, "A100");
  EXPECT_EQ(topology.nodes[3].address, "0000:1b:00.0");
  EXPECT_EQ(topology.nodes[5].parent, 0);
  EXPECT_THAT(topology.allowed_cpus, ElementsAre(1, 3));
  EXPECT_THAT(topology.ranks, ElementsAre(4, 3));
}

TEST(TextForm, LinksGoBothWaysUnlessOneWayAndTakeDefaults) {
  const Topology topology = read(small_machine);
  struct Expected {
    NodeId from, to;
    LinkKind kind;
    double bandwidth, latency;
  };
  const Expected all[] = {
      {3, 5, LinkKind::nvlink, 300e9, 2e-6}, {5, 3, LinkKind::nvlink, 300e9, 2e-6}, {4, 5, LinkKind::nvlink, 200e9, 2e-6},
      {5, 4, LinkKind::nvlink, 200e9, 2e-6}, {3, 4, LinkKind::pcie, 8e9, 500e-9},   {0, 1, LinkKind::package, 0, 0},
      {1, 0, LinkKind::package, 0, 0},       {1, 2, LinkKind::cache, 0, 10e-9},     {2, 1, LinkKind::cache, 0, 10e-9},
  };
  ASSERT_EQ(topology.links.size(), std::size(all));
  for (std::size_t i = 0; i < std::size(all); ++i) {
    const TopologyLink& link = topology.links[i];
    EXPECT_TRUE(link.from == all[i].from && link.to == all[i].to && link.kind == all[i].kind) << "link " << i;
    EXPECT_EQ(link.bandwidth, all[i].bandwidth) << "link " << i;
    EXPECT_EQ(link.latency, all[i].latency) << "link " << i;
  }
}

TEST(TextForm, ADefaultMayBeSetAsideAgain) {
  const Topology topology = read(
      "toric topology 1\nnode 0 host\nnode 1 gpu in 0\nnode 2 gpu in 0\ndefault xgmi 50GB/s 1us\nlink 1 2 xgmi ?B/s ?s\n"
      "default xgmi 3us\nlink 1 2 xgmi\nranks all\n");
  ASSERT_EQ(topology.links.size(), 4u);
  EXPECT_EQ(topology.links[0].bandwidth, 0);
  EXPECT_EQ(topology.links[0].latency, 0);
  EXPECT_EQ(topology.links[2].bandwidth, 50e9);
  EXPECT_EQ(topology.links[2].latency, 3e-6);
  EXPECT_THAT(topology.ranks, ElementsAre(1, 2));
}

TEST(TextForm, WritesOneLinePerNodeAndPair) {
  EXPECT_EQ(topology_text(read(small_machine)), R"(toric topology 1
node 0 host "my host" size 2GiB cpus 0-3
node 1 package "package \"0\"" in 0 os 0 cpus 0-1,3
node 2 cache in 1 level 3 numa 0 size 32MiB
node 3 gpu "gpu 0" in 1 os 0 model "A100" address 0000:1b:00.0
node 4 gpu "gpu 1" in 1 os 1
node 5 nvswitch in 0
link 3 5 nvlink 300GB/s 2us
link 4 5 nvlink 200GB/s 2us
link 3 4 pcie 8GB/s 500ns one-way
link 0 1 package
link 1 2 cache 10ns
allowed 1,3
ranks 4,3
)");
}

TEST(TextForm, RefusalsNameFileLineAndWhatWasExpected) {
  const std::string head = "toric topology 1\nnode 0 host\nnode 1 gpu in 0\nnode 2 gpu in 0\n";
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "file:1: expected 'toric topology 1' as the first line, found the end"},
      {"# nothing\n", "file:1: expected 'toric topology 1'"},
      {"toric topology 2\n", "file:1: expected 'toric topology 1' as the first line, found 'toric'"},
      {"toric topology 1\n", "file:1: a topology without nodes"},
      {"toric topology 1\nnode 0 gpu\n", "file:2: node 0 (gpu) is the first; expected a host"},
      {head + "frob 1 2\n", "file:5: expected node, link, default, ranks or allowed, found 'frob'"},
      {head + "node 4 gpu in 0\n", "file:5: expected 3, the next node's number, found '4'"},
      {head + "node 3 tpu in 0\n",
       "file:5: expected a kind of node (host, package, numa, cache, core, pcie_switch, gpu, nic, nvswitch, "
       "network_switch), found 'tpu'"},
      {head + "node 3 gpu\n", "file:5: node 3 (gpu) has parent -1; expected a node before it"},
      {head + "node 3 gpu in 3\n", "file:5: node 3 (gpu) has parent 3; expected a node before it"},
      {head + "node 3 gpu in 0 in 1\n", "file:5: expected 'in' once, found '1'"},
      {head + "node 3 host in 0\n", "file:5: node 3 (host) has a parent; expected none"},
      {head + "node 3 network_switch in 0\n", "file:5: node 3 (network_switch) has a parent; expected none"},
      {head + "node 3 cache in 0\n", "file:5: node 3 (cache) has level 0; expected 1 or more of a cache"},
      {head + "node 3 core in 0 level 2\n", "file:5: node 3 (core) has level 2"},
      {head + "node 3 gpu in 0 os -1\n", "file:5: expected the operating system's number, found '-1'"},
      {head + "node 3 gpu in 0 os 2147483648\n", "file:5: expected the operating system's number, found '2147483648'"},
      {head + "node 3 gpu in 0 size 3GB\n", "file:5: expected a size, as 32MiB, found '3GB'"},
      {head + "node 3 gpu in 0 model A100\n", "file:5: expected a model in quotation marks, found 'A100'"},
      {head + "node 3 gpu in 0 address 1b:00.0\n", "file:5: node 3 (gpu) has the address '1b:00.0'; expected dddd:bb:dd.f"},
      {head + "node 3 gpu in 0 address 0000:1B:00.0\n", "expected dddd:bb:dd.f in lower case"},
      {head + "node 3 core in 0 cpus 3-1\n", "file:5: expected ascending CPU numbers, as 0-3,8, found '3-1'"},
      {head + "node 3 core in 0 cpus 1,1\n", "file:5: expected ascending CPU numbers"},
      {head + "node 3 core in 0 cpus 1,\n", "file:5: expected ascending CPU numbers"},
      {head + "node 3 core in 0 cpus 0-99999999\n", "file:5: '0-99999999' makes the lists of this text longer than a machine could mean"},
      {head + "node 3 core \"a in 0\n", "file:5: expected a closing '\"', found the end of the line"},
      {head + "node 3 core \"a\\q\" in 0\n", "file:5: expected \\\", \\\\ or \\x and two hexadecimal digits"},
      {head + "node 3 core \"a\\xg0\" in 0\n", "file:5: expected \\\", \\\\ or \\x and two hexadecimal digits"},
      {head + "node 3 core \"a\\x1", "file:5: expected \\\", \\\\ or \\x and two hexadecimal digits"},
      {head + "link 1 1 xgmi\n", "file:5: link 0 joins node 1 (gpu) to itself"},
      {head + "link 1 3 xgmi\n", "file:5: expected the number of a node above this line, found '3'"},
      {head + "link 1 2 wire\n",
       "file:5: expected a kind of link (cache, memory, package, pcie, nvlink, xgmi, c2c, network), found 'wire'"},
      {head + "link 1 2 cache\n", "file:5: link 0 is a cache link to node 1 (gpu)"},
      {head + "link 1 2 xgmi 50GB\n",
       "file:5: expected a bandwidth (as 50GB/s), then a latency (as 1us), then one-way, or the end of the line, "
       "found '50GB'"},
      {head + "link 1 2 xgmi 1us 50GB/s\n", "file:5: expected a bandwidth"},
      {head + "link 1 2 xgmi -1GB/s\n", "file:5: expected a bandwidth"},
      {head + "link 1 2 xgmi 1e400GB/s\n", "file:5: expected a bandwidth"},
      {head + "link 1 2 xgmi nanGB/s\n", "file:5: expected a bandwidth"},
      {head + "default xgmi\n", "file:5: expected a bandwidth (as 50GB/s), then a latency (as 1us), found the end of the line"},
      {head + "ranks 0\n", "file:5: expected gpus or cores, but node 0 is a host"},
      {head + "ranks 1-5\n", "file:5: expected numbers of nodes above this line, found '1-5'"},
      {head + "ranks 1,2,1\n", "file:5: expected each node once, but node 1 has a rank already"},
      {head + "ranks 1\nranks all\n", "file:6: expected 'ranks all' or lists of nodes, found both"},
      {head + "ranks all\nranks 1\n", "file:6: expected each node once, but node 1 has a rank already"},
      {head + "allowed 0\nallowed 1\n", "file:6: expected one line 'allowed', found a second"},
      {head + "allowed\n", "file:5: expected ascending CPU numbers, as 0-3,8, found the end of the line"},
  };
  for (const Case& one : cases) EXPECT_THAT(refusal(one.text), HasSubstr(one.message)) << one.text;
}

TEST(TextForm, ReadsLinesOfOtherSystemsAndNoLastNewline) {
  const Topology topology = read("toric topology 1\r\nnode 0 host \"a\"\r\nnode 1 core in 0 cpus 5\r\nranks 1");
  EXPECT_EQ(topology.nodes[0].name, "a");
  EXPECT_THAT(topology.ranks, ElementsAre(1));
}

// --- properties over random graphs -----------------------------------------------------------------------------------

using Random = std::mt19937_64;

int below(Random& random, int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }

std::string any_text(Random& random) {
  std::string text;
  for (int left = below(random, 6); left > 0; --left) text += static_cast<char>(below(random, 256));
  return text;
}

std::vector<int> any_cpus(Random& random) {
  std::set<int> cpus;
  for (int left = below(random, 5); left > 0; --left) cpus.insert(below(random, 12));
  return {cpus.begin(), cpus.end()};
}

/// Any finite number from 0, of any size, or a round one.
double any_number(Random& random) {
  if (below(random, 3) == 0) return 0;
  if (below(random, 2) == 0) return below(random, 1000) * std::pow(10.0, below(random, 30) - 15);
  const double value = std::bit_cast<double>(random() >> 1);
  return std::isfinite(value) ? value : std::numeric_limits<double>::max();
}

TopologyNode any_node(Random& random, NodeId id) {
  TopologyNode node;
  node.kind = id == 0 ? NodeKind::host : static_cast<NodeKind>(below(random, 10));
  const bool outermost = node.kind == NodeKind::host || node.kind == NodeKind::network_switch;
  if (!outermost) node.parent = below(random, id);
  node.name = any_text(random);
  node.os_index = below(random, 5) - 1;
  node.numa = below(random, 3) - 1;
  node.level = node.kind == NodeKind::cache ? 1 + below(random, 4) : 0;
  node.bytes = below(random, 2) == 0 ? random() >> below(random, 64) : std::uint64_t{1} << below(random, 64);
  node.cpus = any_cpus(random);
  node.model = any_text(random);
  if (below(random, 4) == 0) node.address = "0000:a" + std::to_string(below(random, 10)) + ":00.7";
  return node;
}

Topology any_topology(Random& random) {
  Topology made;
  const int nodes = 1 + below(random, 20);
  for (NodeId id = 0; id < nodes; ++id) made.add(any_node(random, id));
  for (int left = nodes < 2 ? 0 : below(random, 40); left > 0; --left) {
    const NodeId from = below(random, nodes);
    const NodeId to = (from + 1 + below(random, nodes - 1)) % nodes;
    const auto kind = static_cast<LinkKind>(2 + below(random, 6));
    if (below(random, 3) > 0)
      made.join(from, to, kind, any_number(random), any_number(random));
    else
      made.links.push_back({from, to, kind, any_number(random), any_number(random)});
    if (below(random, 4) == 0) std::swap(made.links.front(), made.links.back());
    if (below(random, 4) == 0) made.links.push_back(made.links.back());
  }
  made.allowed_cpus = any_cpus(random);
  made.rank_everything();
  std::shuffle(made.ranks.begin(), made.ranks.end(), random);
  return made;
}

TEST(TextForm, WrittenAndReadAgainIsTheSame) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Topology topology = any_topology(random);
    ASSERT_TRUE(validate(topology).ok()) << seed << ": " << validate(topology).text();
    const std::string text = topology_text(topology);
    const auto again = read_topology_text(text, "file");
    ASSERT_TRUE(again.ok()) << seed << ": " << again.status().text() << '\n' << text;
    expect_same(topology, again->topology);
    EXPECT_EQ(topology_text(again->topology), text);
    EXPECT_EQ(hash_of(topology), hash_of(again->topology));
    ASSERT_FALSE(HasFailure()) << seed << '\n' << text;
  }
}

TEST(TextForm, AHostFromDiscoveryIsValidAndComesBack) {
  for (const char* machine : {"package:2 numa:1 l3:1 core:4 pu:2", "package:2 numa:4(memory=17179869184) core:2 pu:1", "pu:3",
                              "package:1 l3:2(size=33554432) l2:2(size=1048576) l1d:2(size=32768) core:1 pu:1"}) {
    const auto topology = describe_host(machine);
    ASSERT_TRUE(topology.ok());
    EXPECT_TRUE(validate(*topology).ok()) << validate(*topology).text();
    expect_same(*topology, read(topology_text(*topology)));
  }
  const auto here = discover_host();
  ASSERT_TRUE(here.ok());
  EXPECT_TRUE(validate(*here).ok()) << validate(*here).text();
  expect_same(*here, read(topology_text(*here)));
}

TEST(TextForm, DamagedTextsAreReadOrRefusedWithALine) {
  Random random(7);
  const std::string whole(small_machine);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (int damage = 1 + below(random, 3); damage > 0 && !text.empty(); --damage) {
      const auto at = static_cast<std::size_t>(below(random, static_cast<int>(text.size())));
      const int how = below(random, 4);
      if (how == 0) text[at] = static_cast<char>(below(random, 256));
      if (how == 1) text.erase(at, 1 + static_cast<std::size_t>(below(random, 8)));
      if (how == 2) text.insert(at, text.substr(static_cast<std::size_t>(below(random, static_cast<int>(text.size()))), 9));
      if (how == 3) text.resize(std::max<std::size_t>(at, 1));
    }
    const auto read = read_topology_text(text, "file");
    if (read.ok()) {
      ASSERT_TRUE(validate(read->topology).ok()) << validate(read->topology).text() << '\n' << text;
      continue;
    }
    ++refused;
    ASSERT_THAT(std::string(read.status().text()), StartsWith("file:"));
  }
  EXPECT_GT(refused, 10000);
}

TEST(TextForm, ListsCannotFillTheMemory) {
  std::string text = "toric topology 1\nnode 0 host\n";
  for (int id = 1; id < 1000; ++id) text += "node " + std::to_string(id) + " core in 0 cpus 0-65535\n";
  EXPECT_THAT(refusal(text), HasSubstr("longer than a machine could mean"));
}

// --- quantities ------------------------------------------------------------------------------------------------------

TEST(Quantity, Reads) {
  EXPECT_EQ(parse_bandwidth("50GB/s"), 50e9);
  EXPECT_EQ(parse_bandwidth("400Gb/s"), 50e9);
  EXPECT_EQ(parse_bandwidth("1.5kB/s"), 1500.0);
  EXPECT_EQ(parse_bandwidth("2GiB/s"), 2147483648.0);
  EXPECT_EQ(parse_bandwidth("1e3MB/s"), 1e9);
  EXPECT_EQ(parse_bandwidth("25e-1TB/s"), 2.5e12);
  EXPECT_EQ(parse_bandwidth("8b/s"), 1.0);
  EXPECT_EQ(parse_latency("1us"), 1e-6);
  EXPECT_EQ(parse_latency("300ns"), 300e-9);
  EXPECT_EQ(parse_latency("0.3us"), 0.3e-6);
  EXPECT_EQ(parse_latency("2ms"), 2e-3);
  EXPECT_EQ(parse_latency("5ps"), 5e-12);
  EXPECT_EQ(parse_latency("3s"), 3.0);
  EXPECT_EQ(parse_bytes("16GiB"), std::uint64_t{16} << 30);
  EXPECT_EQ(parse_bytes("18446744073709551615B"), std::numeric_limits<std::uint64_t>::max());
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"",       "GB/s",    "50",        "50GB",    "50 GB/s", "-50GB/s", "+5GB/s", ".5GB/s", "5.GB/s", "5..0GB/s",
                           "5eGB/s", "5e+GB/s", "1e999GB/s", "infGB/s", "0x5GB/s", "5gB/s",   "5KB/s",  "5GB/s ", "5us",    "5e99999B/s"})
    EXPECT_EQ(parse_bandwidth(text), std::nullopt) << text;
  for (const char* text : {"", "s", "5", "5m", "5 us", "5US", "5GB/s"}) EXPECT_EQ(parse_latency(text), std::nullopt) << text;
  for (const char* text : {"", "5", "5GB", "1.5GiB", "18446744073709551616B", "16777216TiB", "-1B"})
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Quantity, WritesTheShortestText) {
  EXPECT_EQ(bandwidth_text(50e9), "50GB/s");
  EXPECT_EQ(bandwidth_text(1.8e12), "1.8TB/s");
  EXPECT_EQ(bandwidth_text(40.1e9), "40.1GB/s");
  EXPECT_EQ(bandwidth_text(999), "999B/s");
  EXPECT_EQ(bandwidth_text(1e3 / 3), "333.3333333333333B/s");
  EXPECT_EQ(bandwidth_text(0), "0B/s");
  EXPECT_EQ(bandwidth_text(0.5), "5e-01B/s");
  EXPECT_EQ(bandwidth_text(1e28), "10000000000000000TB/s");
  EXPECT_EQ(bandwidth_text(1e33), "1e+33B/s");
  EXPECT_EQ(latency_text(1e-6), "1us");
  EXPECT_EQ(latency_text(0.3e-6), "300ns");
  EXPECT_EQ(latency_text(936.25e-9), "936.25ns");
  EXPECT_EQ(latency_text(12), "12s");
  EXPECT_EQ(bytes_text(0), "0B");
  EXPECT_EQ(bytes_text(1536), "1536B");
  EXPECT_EQ(bytes_text(48u << 10), "48KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{1} << 60), "1048576TiB");
}

// --- validator, hash, JSON, summary ----------------------------------------------------------------------------------

Topology two_gpus() {
  return read(
      "toric topology 1\nnode 0 host\nnode 1 gpu \"a\" in 0\nnode 2 gpu in 0 cpus 3\nlink 1 2 xgmi 50GB/s 1us\nallowed 1-2\nranks 1-2\n");
}

TEST(Validate, RefusesEachKindOfDamage) {
  struct Case {
    std::function<void(Topology&)> damage;
    std::string_view message;
  };
  const double infinite = std::numeric_limits<double>::infinity();
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {
      {[](Topology& t) { t.nodes.clear(); }, "a topology without nodes"},
      {[](Topology& t) { t.nodes[0].kind = NodeKind::package; }, "node 0 (package) is the first; expected a host"},
      {[](Topology& t) { t.nodes[1].kind = static_cast<NodeKind>(10); }, "node 1 is of no known kind"},
      {[](Topology& t) { t.nodes[1].parent = 2; }, "node 1 (gpu 'a') has parent 2; expected a node before it"},
      {[](Topology& t) { t.nodes[1].parent = 1; }, "node 1 (gpu 'a') has parent 1"},
      {[](Topology& t) { t.nodes[2].parent = -2; }, "node 2 (gpu) has parent -2"},
      {[](Topology& t) { t.nodes[0].parent = 0; }, "node 0 (host) has a parent"},
      {[](Topology& t) { t.nodes[2].os_index = -2; }, "node 2 (gpu) has a number below 0"},
      {[](Topology& t) { t.nodes[2].numa = -2; }, "node 2 (gpu) has a number below 0"},
      {[](Topology& t) {
         t.nodes[2].cpus = {3, 3};
       },
       "node 2 (gpu) has CPUs that do not ascend"},
      {[](Topology& t) {
         t.nodes[2].cpus = {-1, 3};
       },
       "node 2 (gpu) has CPUs that do not ascend"},
      {[](Topology& t) {
         t.allowed_cpus = {2, 1};
       },
       "the allowed CPUs do not ascend"},
      {[](Topology& t) { t.links[1].to = 3; }, "link 1 joins node 3, which is not there"},
      {[](Topology& t) { t.links[1].from = -1; }, "link 1 joins node -1, which is not there"},
      {[](Topology& t) { t.links[0].to = 1; }, "link 0 joins node 1 (gpu 'a') to itself"},
      {[](Topology& t) { t.links[0].kind = static_cast<LinkKind>(8); }, "link 0 is of no known kind"},
      {[](Topology& t) { t.links[0].kind = LinkKind::memory; }, "link 0 is a memory link to node 1"},
      {[](Topology& t) { t.links[0].bandwidth = -1; }, "link 0 has a bandwidth or latency"},
      {[=](Topology& t) { t.links[0].bandwidth = infinite; }, "link 0 has a bandwidth or latency"},
      {[=](Topology& t) { t.links[1].latency = no_number; }, "link 1 has a bandwidth or latency"},
      {[](Topology& t) { t.links[1].latency = -1e-9; }, "link 1 has a bandwidth or latency"},
      {[](Topology& t) {
         t.ranks = {1, 3};
       },
       "rank 1 is on node 3, which is not there"},
      {[](Topology& t) { t.ranks = {0}; }, "rank 0 is on node 0 (host); expected a gpu or a core"},
      {[](Topology& t) {
         t.ranks = {2, 1, 2};
       },
       "rank 2 is on node 2 (gpu), where rank 0 is already"},
  };
  EXPECT_TRUE(validate(two_gpus()).ok());
  for (const Case& one : cases) {
    Topology topology = two_gpus();
    one.damage(topology);
    const Status status = validate(topology);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_THAT(std::string(status.text()), StartsWith(std::string(one.message)));
  }
}

TEST(Validate, SwitchesBetweenHostsNeedNoParent) {
  Topology topology = two_gpus();
  for (const NodeKind kind : {NodeKind::nvswitch, NodeKind::network_switch, NodeKind::host}) {
    TopologyNode node;
    node.kind = kind;
    topology.add(node);
  }
  EXPECT_TRUE(validate(topology).ok()) << validate(topology).text();
  topology.nodes[3].parent = 0;
  EXPECT_TRUE(validate(topology).ok()) << "an NVSwitch within a host has one";
}

// Computed by a program of its own from the description: FNV-1a, numbers as 8 bytes little-endian, texts after their length.
TEST(Hash, IsWhatItWasOnAnyMachine) { EXPECT_EQ(hash_of(two_gpus()), 0xa43e8f19a3f5b5ffu); }

TEST(Hash, EverythingCounts) {
  using Change = std::function<void(Topology&)>;
  const Change changes[] = {
      [](Topology& t) { t.nodes[1].name = "b"; },
      [](Topology& t) { t.nodes[1].name = "", t.nodes[1].model = "a"; },
      [](Topology& t) { t.nodes[1].kind = NodeKind::core; },
      [](Topology& t) { t.nodes[2].parent = 1; },
      [](Topology& t) { t.nodes[2].os_index = 1; },
      [](Topology& t) { t.nodes[2].numa = 1; },
      [](Topology& t) { t.nodes[2].level = 1; },
      [](Topology& t) { t.nodes[2].bytes = 1; },
      [](Topology& t) { t.nodes[2].cpus = {4}; },
      [](Topology& t) { t.nodes[2].address = "0000:00:00.0"; },
      [](Topology& t) { t.links[0].bandwidth = 49e9; },
      [](Topology& t) { t.links[0].latency = 0; },
      [](Topology& t) { t.links[0].kind = LinkKind::nvlink; },
      [](Topology& t) { std::swap(t.links[0], t.links[1]); },
      [](Topology& t) { t.links.pop_back(); },
      [](Topology& t) { std::swap(t.ranks[0], t.ranks[1]); },
      [](Topology& t) { t.ranks.pop_back(); },
      [](Topology& t) { t.allowed_cpus = {1}; },
  };
  std::set<std::uint64_t> hashes = {hash_of(two_gpus())};
  for (const Change& change : changes) {
    Topology topology = two_gpus();
    change(topology);
    hashes.insert(hash_of(topology));
  }
  EXPECT_EQ(hashes.size(), std::size(changes) + 1);
  Topology negative = two_gpus();
  Topology positive = two_gpus();
  negative.links[0].latency = -0.0;
  positive.links[0].latency = 0.0;
  EXPECT_EQ(hash_of(negative), hash_of(positive));
}

TEST(Json, HasTheWholeGraph) {
  const auto json = nlohmann::json::parse(to_json(two_gpus()));
  EXPECT_EQ(json, nlohmann::json::parse(R"({"format": "toric topology 1",
    "nodes": [{"id": 0, "kind": "host"}, {"id": 1, "kind": "gpu", "name": "a", "parent": 0},
              {"id": 2, "kind": "gpu", "parent": 0, "cpus": [3]}],
    "links": [{"from": 1, "to": 2, "kind": "xgmi", "bandwidth": 50000000000.0, "latency": 1e-06},
              {"from": 2, "to": 1, "kind": "xgmi", "bandwidth": 50000000000.0, "latency": 1e-06}],
    "ranks": [1, 2], "allowed_cpus": [1, 2]})"));
}

TEST(Json, TakesNamesThatAreNoUtf8) {
  Topology topology = two_gpus();
  topology.nodes[1].name = "\xff";
  EXPECT_EQ(nlohmann::json::parse(to_json(topology))["nodes"][1]["name"], "\xef\xbf\xbd");
}

TEST(Summary, CountsNodesAndPairsOfLinks) {
  EXPECT_EQ(summary(read(small_machine), "clique:2"), "hosts 1 packages 1 numa 0 gpus 2 nics 0 switches 1 links 5 shape clique:2");
  const std::string_view cluster =
      "toric topology 1\nnode 0 host\nnode 1 host\nnode 2 numa in 0\nnode 3 nic in 0\nnode 4 nic in 1\nnode 5 pcie_switch in 1\nnode 6 "
      "network_switch\n"
      "link 3 6 network 50GB/s\nlink 4 6 network 50GB/s\nlink 4 6 network 50GB/s\nlink 4 5 pcie\nlink 5 4 network one-way\n";
  EXPECT_EQ(summary(read(cluster), "irregular:0"), "hosts 2 packages 0 numa 1 gpus 0 nics 2 switches 2 links 5 shape irregular:0");
}

}  // namespace
}  // namespace toric
