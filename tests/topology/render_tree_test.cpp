#include "toric/topology/render_tree.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toric/topology/discovery.hpp"

namespace toric {
namespace {

TEST(RenderTree, ThePictureOfASmallMachine) {
  Result<Topology> made = describe_host("package:1 [numa(memory=4294967296)] l3:1(size=8388608) l2:2(size=1048576) core:1 pu:2");
  ASSERT_TRUE(made.ok()) << made.status().text();
  Topology& topology = *made;
  topology.nodes[0].name = "box";
  topology.allowed_cpus = {0, 2, 3};
  const std::string expected =
      "box  4 GiB  3 of 4 CPUs allowed: 0,2-3\n"
      "└─ package 0\n"
      "   ├─ numa 0  4 GiB\n"
      "   └─ L3  8 MiB  shared by cpu 0-3\n"
      "      ├─ core 0  cpu 0-1 (not allowed: 1)  L2 1 MiB  <- rank 0 on cpu 0, 3 on cpu 0\n"
      "      └─ core 1  cpu 2-3  L2 1 MiB  <- rank 1 on cpu 2, 2 on cpu 3\n";
  EXPECT_EQ(render_tree(topology, place_ranks(topology, 4)), expected);
}

TEST(RenderTree, EveryRankAndCoreAppearsOnce) {
  const Result<Topology> topology = describe_host("package:2 numa:2 l3:1 l2:4 l1d:1 core:1 pu:2");
  ASSERT_TRUE(topology.ok());
  const std::string text = render_tree(*topology, place_ranks(*topology, 20));
  for (int rank = 0; rank < 20; ++rank) {
    std::string mark = " ";
    mark.append(std::to_string(rank)).append(" on cpu ");
    const std::size_t at = text.find(mark);
    ASSERT_NE(at, std::string::npos) << mark << "\n" << text;
    EXPECT_EQ(text.find(mark, at + 1), std::string::npos) << mark << "\n" << text;
  }
  for (int core = 0; core < 16; ++core)
    EXPECT_NE(text.find(std::string("core ").append(std::to_string(core)).append("  cpu ")), std::string::npos) << text;
}

TEST(RenderTree, AnEmptyTopologyIsNoCrash) { EXPECT_EQ(render_tree(Topology()), "nothing is known\n"); }

TEST(RenderTree, Bytes) {
  EXPECT_EQ(readable_bytes(0), "0 B");
  EXPECT_EQ(readable_bytes(1023), "1023 B");
  EXPECT_EQ(readable_bytes(48 << 10), "48 KiB");
  EXPECT_EQ(readable_bytes(2560 << 10), "2.5 MiB");
  EXPECT_EQ(readable_bytes(std::uint64_t{1} << 40), "1 TiB");
}

TEST(RenderTree, Cpus) {
  EXPECT_EQ(readable_cpus({}), "");
  EXPECT_EQ(readable_cpus(std::vector<int>{5}), "5");
  EXPECT_EQ(readable_cpus(std::vector<int>{0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(readable_cpus(std::vector<int>{0, 2, 3}), "0,2-3");
}

}  // namespace
}  // namespace toric
