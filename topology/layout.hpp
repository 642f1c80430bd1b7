// Where the parts of a topology go in a picture. Placing is apart from drawing, so that others can draw on the same places.
#pragma once

#include "toric/topology/shape.hpp"
#include "toric/topology/svg.hpp"
#include "toric/topology/topology.hpp"

#include <string>
#include <vector>

namespace toric {

/// A place in the picture: a node, several alike folded into one, or a frame around others.
struct PlacedNode {
  std::vector<NodeId> nodes;  // empty: no node, but a place for what is left out
  NodeKind kind = NodeKind::host;
  Rectangle frame;  // with all that lies in it
  Rectangle body;   // where its links end; the same as the frame of what contains nothing
  std::string label;
  std::string second_line;  // the ranks; may be empty
};

/// All links of one kind between two places.
struct PlacedLink {
  int from = 0, to = 0;  // indices into Layout::places
  LinkKind kind = LinkKind::network;
  int count = 0;             // pairs of links, one each way
  double bandwidth = 0;      // bytes/s of all together, in the direction that has more; 0: unknown
  double latency = 0;        // seconds, the least; 0: unknown
  std::vector<Path> paths;   // one line, or the stubs at both ends of a link that goes round
  bool to_left_out = false;  // stands for links to what is not drawn
};

struct Layout {
  std::string heading;
  std::vector<PlacedNode> places;  // frames before what lies in them
  std::vector<PlacedLink> links;
  std::vector<int> place_of_rank;  // -1: not drawn
  std::vector<std::pair<Point, std::string>> captions;
  std::vector<std::string> notes;  // for below the picture: what is left out, how to read it
  double arc_limit = 0;            // how deep arcs may hang under devices; 0: as they like
  // Of grids; sides are empty where the picture is not a grid.
  std::vector<Rank> sides;
  std::vector<std::vector<Rank>> coordinates;  // by rank
};

/// Tori and meshes as grids by their coordinates, a single ring as a circle; everything else as hosts with what is in them.
/// `room_for_messages`: hosts leave room under their devices for arcs between any two.
[[nodiscard]] Layout place(const Topology& topology, const Shape& shape, bool room_for_messages = false);

/// How something that goes from one rank's place to another's is drawn: one path, or a stub at each end. Empty: one of
/// them is not drawn, or both are the same.
[[nodiscard]] std::vector<Path> ways(const Layout& layout, Rank from, Rank to);

// The two ways of placing; place() chooses. Grids need coordinates of one to four sides.
[[nodiscard]] Layout place_grid(const Topology& topology, const Shape& shape);
[[nodiscard]] Layout place_hosts(const Topology& topology, const Shape& shape, bool room_for_messages = false);

/// The ranks of each node.
[[nodiscard]] std::vector<std::vector<Rank>> ranks_of_nodes(const Topology& topology);

/// Joins the links between the same places into one, kind by kind, in a fixed order; `place_of` is by node, -1: nowhere.
[[nodiscard]] std::vector<PlacedLink> joined_links(const Topology& topology, const std::vector<int>& place_of);

/// From one grid place to another, for links and messages alike.
[[nodiscard]] std::vector<Path> grid_ways(const Layout& layout, Rank from, Rank to, bool round);

/// Whether coordinates say that the way between the two goes round the side they differ in.
[[nodiscard]] bool goes_round(const Layout& layout, Rank from, Rank to);

/// A line between two bodies: straight where one is above the other. In one row: an arc below by `depth_of_arc`, an arc above
/// where that is negative, and straight where it is 0.
[[nodiscard]] Path joining_path(const Rectangle& from, const Rectangle& to, double depth_of_arc);

/// How deep an arc hangs whose ends are that far apart: arcs of different lengths nest.
[[nodiscard]] double arc_depth(double distance);

}  // namespace toric
