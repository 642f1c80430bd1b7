#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "toric/topology/discovery.hpp"
#include "toric/topology/grid_shape.hpp"
#include "toric/topology/render_dot.hpp"
#include "toric/topology/render_svg.hpp"

#include "topology/hand_made.hpp"
#include "topology/picture.hpp"

namespace toric {
namespace {

using test::Box;
using test::Picture;

int sum_of(const std::vector<pugi::xml_node>& groups, const char* attribute) {
  int sum = 0;
  for (const pugi::xml_node& group : groups) sum += group.attribute(attribute).as_int();
  return sum;
}

std::map<std::string, int> kinds_of(const std::vector<pugi::xml_node>& groups) {
  std::map<std::string, int> kinds;
  for (const pugi::xml_node& group : groups) ++kinds[group.attribute("data-kind").value()];
  return kinds;
}

TEST(RenderSvg, AHostOfEightGpus) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const Picture picture(render_svg(topology, test::flat_shape(8)));
  picture.expect_tidy();
  const std::map<std::string, int> nodes = {{"host", 1}, {"package", 2}, {"pcie_switch", 4}, {"gpu", 8}, {"nic", 4}, {"nvswitch", 1}};
  EXPECT_EQ(kinds_of(picture.groups("node")), nodes);
  // 8 gpus, 4 NICs and 4 switches on PCIe; four NVSwitches drawn as one.
  const std::map<std::string, int> links = {{"pcie", 16}, {"nvlink", 8}, {"package", 1}};
  EXPECT_EQ(kinds_of(picture.groups("link")), links);
  EXPECT_EQ(sum_of(picture.groups("link"), "data-count"), 16 + 8 * 4 + 1);
  EXPECT_TRUE(picture.says("4 NVSwitches"));
  for (int rank = 0; rank < 8; ++rank) EXPECT_TRUE(picture.says("rank " + std::to_string(rank)));
  EXPECT_TRUE(picture.says("450 GB/s")) << "four links of 112.5";
}

TEST(RenderSvg, WhatContainsIsDrawnAround) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const Picture picture(render_svg(topology, test::flat_shape(8)));
  for (std::size_t i = 1; i < topology.nodes.size(); ++i)
    if (topology.nodes[i].kind != NodeKind::nvswitch) {
      EXPECT_TRUE(picture.node_box(static_cast<int>(i)).within(picture.node_box(topology.nodes[i].parent))) << topology.nodes[i].name;
    }
}

TEST(RenderSvg, LinksEndAtWhatTheyJoin) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const Picture picture(render_svg(topology, test::flat_shape(8)));
  for (const pugi::xml_node& link : picture.groups("link")) {
    const std::vector<double> path = test::numbers_in(link.child("path").attribute("d").value());
    const Box from = picture.node_box(link.attribute("data-from").as_int());
    const Box to = picture.node_box(static_cast<int>(test::numbers_in(link.attribute("data-to").value()).front()));
    const Box start = {path[0], path[1], path[0], path[1]};
    const Box end = {path[path.size() - 2], path.back(), path[path.size() - 2], path.back()};
    EXPECT_TRUE((start.within(from) && end.within(to)) || (start.within(to) && end.within(from))) << link.attribute("data-from").value();
  }
}

TEST(RenderSvg, ATorusIsAGridByItsCoordinates) {
  const Shape shape = torus_shape({4, 3});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("node").size(), 12U);
  ASSERT_EQ(picture.groups("link").size(), 24U);
  for (int rank = 0; rank < 12; ++rank) {
    const Box first = picture.node_box(1), box = picture.node_box(rank + 1);
    const double pitch = picture.node_box(2).left - first.left;
    EXPECT_NEAR(box.left, first.left + rank % 4 * pitch, 0.01);
    EXPECT_NEAR(box.top, first.top + rank / 4 * pitch, 0.01);
  }
  // Links that go round are two stubs: one of each row and of each column. Each line has its outline, too.
  std::size_t stubs = 0;
  for (const pugi::xml_node& link : picture.groups("link")) {
    const auto children = link.children("path");
    const auto lines = std::distance(children.begin(), children.end());
    EXPECT_TRUE(lines == 2 || lines == 4);
    if (lines == 4) ++stubs;
  }
  EXPECT_EQ(stubs, 3U + 4U);
}

TEST(RenderSvg, LinksThatGoRoundLeaveTheGridAtBothSides) {
  const Shape shape = torus_shape({4, 3});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  const Box first = picture.node_box(1), last = picture.node_box(12);
  int sideways = 0, upright = 0;
  for (const pugi::xml_node& link : picture.groups("link")) {
    std::vector<double> x, y;
    for (const pugi::xml_node& path : link.children("path")) {
      const std::vector<double> numbers = test::numbers_in(path.attribute("d").value());
      for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
        x.push_back(numbers[i]);
        y.push_back(numbers[i + 1]);
      }
    }
    const auto [left, right] = std::ranges::minmax(x);
    const auto [top, bottom] = std::ranges::minmax(y);
    const bool out_sideways = left < first.left && right > last.right, out_upright = top < first.top && bottom > last.bottom;
    if (link.attribute("data-from").as_int() % 4 == 1 && link.attribute("data-to").as_int() % 4 == 0) {
      EXPECT_TRUE(out_sideways) << link.attribute("data-from").value();
      ++sideways;
    } else if (link.attribute("data-to").as_int() - link.attribute("data-from").as_int() == 8) {
      EXPECT_TRUE(out_upright) << link.attribute("data-from").value();
      ++upright;
    } else {
      EXPECT_FALSE(out_sideways || out_upright);
    }
  }
  EXPECT_EQ(sideways, 3);
  EXPECT_EQ(upright, 4);
}

TEST(RenderSvg, LayersOfAThreeDimensionalTorusStandSideBySide) {
  const Shape shape = torus_shape({4, 4, 4});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("node").size(), 64U);
  EXPECT_EQ(picture.groups("link").size(), 192U);
  for (const char* layer : {"z = 0", "z = 1", "z = 2", "z = 3"}) EXPECT_TRUE(picture.says(layer));
  for (int rank = 0; rank < 48; ++rank) {
    EXPECT_EQ(picture.node_box(rank + 1).top, picture.node_box(rank + 17).top);
    EXPECT_GT(picture.node_box(rank + 17).left, picture.node_box(rank / 16 * 16 + 4).right) << "layers overlap";
  }
}

TEST(RenderSvg, FourDimensionsMakeRowsOfLayers) {
  const Shape shape = torus_shape({3, 3, 2, 2});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("node").size(), 36U);
  // Two links each way along the sides of three, one pair of links drawn as one along those of two.
  EXPECT_EQ(picture.groups("link").size(), 36U + 36U + 18U + 18U);
  EXPECT_TRUE(picture.says("z = 1, w = 1"));
}

TEST(RenderSvg, ASideOfTwoThatIsJoinedTwiceShowsBothLinks) {
  const Shape shape = torus_shape({4, 2});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  ASSERT_EQ(picture.groups("link").size(), 8U + 4U);
  EXPECT_EQ(sum_of(picture.groups("link"), "data-count"), 8 + 8);
  EXPECT_TRUE(picture.says("4 drawn for 8 links"));
}

TEST(RenderSvg, AMeshHasNoStubs) {
  Shape shape = torus_shape({4, 4});
  for (Level& level : shape.levels) level.kind = LevelKind::line;
  const Picture picture(render_svg(test::chips_in(shape, false), shape));
  picture.expect_tidy();
  ASSERT_EQ(picture.groups("link").size(), 24U);
  for (const pugi::xml_node& link : picture.groups("link")) EXPECT_FALSE(link.child("path").next_sibling().next_sibling());
}

TEST(RenderSvg, ARingIsACircle) {
  const Shape shape = torus_shape({12});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("link").size(), 12U);
  const auto middle = [&](int id) {
    const Box box = picture.node_box(id);
    return std::pair{(box.left + box.right) / 2, (box.top + box.bottom) / 2};
  };
  const double x = (middle(1).first + middle(7).first) / 2, y = (middle(1).second + middle(7).second) / 2;
  const double radius = std::hypot(middle(1).first - x, middle(1).second - y);
  for (int id = 2; id <= 12; ++id) EXPECT_NEAR(std::hypot(middle(id).first - x, middle(id).second - y), radius, 0.02);
}

TEST(RenderSvg, OfALargeTorusWholeLayersAreDrawn) {
  const Shape shape = torus_shape({20, 20, 4});
  const Picture picture(render_svg(test::chips_in(shape), shape));
  picture.expect_tidy();
  EXPECT_EQ(picture.groups("node").size(), 800U) << "two layers: a third would make more than 1024";
  EXPECT_TRUE(picture.says("800 of 1600 ranks are drawn"));
}

TEST(RenderSvg, OfManyHostsTheFirstAreDrawnAndTheRestCounted) {
  Topology topology;
  for (int host = 0; host < 20; ++host) {
    const NodeId id = test::put(topology, NodeKind::host, "host " + std::to_string(host), no_node);
    for (int gpu = 0; gpu < 2; ++gpu) test::put(topology, NodeKind::gpu, "GPU " + std::to_string(gpu), id);
    topology.join(test::put(topology, NodeKind::nic, "NIC", id), id + 1, LinkKind::pcie, 25e9);
  }
  const NodeId middle = test::put(topology, NodeKind::network_switch, "spine", no_node);
  for (const NodeId nic : topology.of_kind(NodeKind::nic)) topology.join(nic, middle, LinkKind::network, 25e9);
  topology.rank_everything();
  const std::string svg = render_svg(topology, test::flat_shape(40));
  const Picture picture(svg);
  picture.expect_tidy();
  EXPECT_EQ(kinds_of(picture.groups("node"))["host"], 4);
  EXPECT_EQ(picture.groups("left-out").size(), 1U);
  EXPECT_TRUE(picture.says("and 16 more"));
  EXPECT_TRUE(picture.says("hosts, alike"));
  EXPECT_EQ(sum_of(picture.groups("link"), "data-count"), 4 + 4 + 16) << "those of the hosts left out in one line";

  topology.nodes[static_cast<std::size_t>(topology.ranks.back())].model = "another";
  EXPECT_FALSE(Picture(render_svg(topology, test::flat_shape(40))).says("alike"));
}

TEST(RenderSvg, CoresAreDrawnWhereThereAreNoGpus) {
  Result<Topology> topology = describe_host("package:2 numa:1 l3:2 l2:3 core:1 pu:2");
  ASSERT_TRUE(topology.ok());
  topology->rank_everything();
  const Picture picture(render_svg(*topology, test::flat_shape(12)));
  picture.expect_tidy();
  EXPECT_EQ(kinds_of(picture.groups("node"))["core"], 12);
  EXPECT_EQ(kinds_of(picture.groups("node"))["cache"], 4) << "the L3s; an L2 of one core is not drawn";
  test::put(*topology, NodeKind::gpu, "GPU", 0);
  topology->rank_everything();
  EXPECT_EQ(kinds_of(Picture(render_svg(*topology, test::flat_shape(1))).groups("node"))["core"], 0);
}

TEST(RenderSvg, GpusJoinedDirectlyHaveArcs) {
  Topology topology;
  test::put(topology, NodeKind::host, "box", no_node);
  for (int gpu = 0; gpu < 8; ++gpu) test::put(topology, NodeKind::gpu, "GPU " + std::to_string(gpu), 0);
  for (int one = 1; one <= 8; ++one)
    for (int other = one + 1; other <= 8; ++other) topology.join(one, other, LinkKind::xgmi, 50e9);
  topology.rank_everything();
  const Picture picture(render_svg(topology, test::flat_shape(8)));
  picture.expect_tidy();
  ASSERT_EQ(picture.groups("link").size(), 28U);
  const Box host = picture.node_box(0);
  for (const pugi::xml_node& link : picture.groups("link")) {
    const std::vector<double> path = test::numbers_in(link.child("path").attribute("d").value());
    if (path.size() != 8) continue;  // neighbours: straight
    EXPECT_LT(path[1] + 0.75 * (path[3] - path[1]), host.bottom) << "the lowest point of the arc";
  }
}

TEST(RenderSvg, NamesAreEscapedAndFit) {
  Topology topology;
  test::put(topology, NodeKind::host, "a<b>&\"c'", no_node);
  test::put(topology, NodeKind::gpu, "]]>", 0);
  test::put(topology, NodeKind::gpu, "bell\x07", 0);
  test::put(topology, NodeKind::gpu, "\xc3\x28\xff", 0);
  test::put(topology, NodeKind::gpu, "Größe", 0);
  test::put(topology, NodeKind::gpu, std::string(300, 'w'), 0);
  topology.join(1, 2, LinkKind::nvlink);
  topology.rank_everything();
  const std::string svg = render_svg(topology, test::flat_shape(5));
  const Picture picture(svg);
  picture.expect_tidy();
  for (const char* name : {"a<b>&\"c'", "]]>", "bell?", "?(?", "Größe"}) EXPECT_TRUE(picture.says(name)) << name;
  EXPECT_EQ(svg.find('\x07'), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

TEST(RenderSvg, MoreBandwidthIsAThickerLine) {
  Topology topology;
  test::put(topology, NodeKind::host, "box", no_node);
  for (int gpu = 0; gpu < 4; ++gpu) test::put(topology, NodeKind::gpu, "GPU", 0);
  topology.join(1, 2, LinkKind::nvlink, 900e9);
  topology.join(2, 3, LinkKind::nvlink, 50e9);
  topology.join(3, 4, LinkKind::nvlink);
  topology.rank_everything();
  const Picture picture(render_svg(topology, test::flat_shape(4)));
  const auto links = picture.groups("link");
  ASSERT_EQ(links.size(), 3U);
  const auto width = [&](std::size_t i) { return links[i].last_child().attribute("stroke-width").as_double(); };
  EXPECT_GT(width(0), width(1));
  EXPECT_GT(width(1), width(2));
  EXPECT_TRUE(picture.says("bandwidth unknown"));
}

TEST(RenderSvg, AnIrregularShapeSaysWhy) {
  Shape shape;
  shape.levels.resize(1);
  shape.levels[0].size = 16;
  shape.note = "torus 4x4 without a link";
  const Picture picture(render_svg(test::chips_in(torus_shape({4, 4})), shape));
  picture.expect_tidy();
  EXPECT_EQ(kinds_of(picture.groups("node"))["gpu"], 16);
  EXPECT_TRUE(picture.says("torus 4x4 without a link"));
}

TEST(RenderSvg, NothingIsNoCrash) {
  Picture(render_svg(Topology(), Shape())).expect_tidy();
  Topology bare;
  test::put(bare, NodeKind::host, "", no_node);
  Picture(render_svg(bare, Shape())).expect_tidy();
}

TEST(RenderSvg, TheSamePictureEveryTime) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  EXPECT_EQ(render_svg(topology, test::flat_shape(8)), render_svg(topology, test::flat_shape(8)));
}

TEST(Svg, TheViewEnclosesACurveAndNotJustItsEnds) {
  Svg svg;
  svg.path({{{0, 0}, {0, 400}, {300, 400}, {300, 0}}, true}, {"#000000", 2, false});
  EXPECT_NEAR(svg.extent().bottom(), 300, 3) << "three quarters of the way to the control points";
  Picture(svg.finish(0)).expect_tidy();
}

TEST(Svg, TextIsCutWhereItDoesNotFit) {
  EXPECT_EQ(fit_text("short", 100, 10), "short");
  EXPECT_EQ(fit_text("Größenordnung", 40, 10), "Größe…") << "6.2 a letter: six letters";
  EXPECT_EQ(fit_text("anything", 10, 10), "");
}

TEST(Svg, AShiftIsToTheRightOfTheWay) {
  const Path east = shifted({{{0, 0}, {10, 0}}}, 3), north = shifted({{{0, 0}, {0, -10}}}, 3);
  EXPECT_EQ(east.points, (std::vector<Point>{{0, 3}, {10, 3}})) << "y runs downward";
  EXPECT_EQ(north.points, (std::vector<Point>{{3, 0}, {3, -10}}));
}

// --- dot ---

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(RenderDot, EveryNodeAndLinkOnce) {
  Topology topology;
  test::add_big_host(topology, "box");
  topology.rank_everything();
  const std::string dot = render_dot(topology);
  EXPECT_EQ(count_of(dot, ", shape="), topology.nodes.size());
  EXPECT_EQ(count_of(dot, " -- "), topology.links.size() / 2);
  EXPECT_EQ(count_of(dot, "subgraph cluster_"), 1U);
  EXPECT_EQ(count_of(dot, "(rank 7)"), 1U);
}

TEST(RenderDot, TextIsQuoted) {
  Topology topology;
  test::put(topology, NodeKind::host, "a \"b\" \\ c\n", no_node);
  EXPECT_NE(render_dot(topology).find(R"(label="a \"b\" \\ c ")"), std::string::npos) << render_dot(topology);
}

TEST(RenderDot, GraphvizReadsIt) {
  if (std::system("command -v dot >/dev/null 2>&1") != 0) {
    std::puts("skipped: Graphviz is not installed");
    GTEST_SKIP();
  }
  Topology topology;
  test::add_big_host(topology, "a \"b\" \\ c");
  const std::filesystem::path file = std::filesystem::temp_directory_path() / ("toric_render_test." + std::to_string(getpid()) + ".dot");
  std::ofstream(file) << render_dot(topology);
  EXPECT_EQ(std::system(("dot -Tplain '" + file.string() + "' >/dev/null").c_str()), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace toric
