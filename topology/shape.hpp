// The shape of a topology: what an algorithm can follow, read from the graph and the ranks alone, ranks in any order.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

enum class LevelKind : std::uint8_t { switched, clique, rail, ring, line, mesh, irregular };
[[nodiscard]] std::string_view name_of(LevelKind kind);  // "switch" for switched

/// One level, from the inside out. The ranks of a group of size `size` that differ in this level's coordinate only.
struct Level {
  LevelKind kind = LevelKind::irregular;
  Rank size = 1;
  double bandwidth = 0;  // bytes/s out of one rank into this level, all ports together, one way; 0: unknown
  double latency = 0;    // seconds from one rank of the level to its nearest other; 0: unknown
  bool doubled = false;  // size 2 joined by two links: a ring of two
  friend bool operator==(const Level& a, const Level& b) { return a.kind == b.kind && a.size == b.size && a.doubled == b.doubled; }
};

struct Shape {
  std::vector<Level> levels;  // product of sizes = ranks, unless irregular
  /// coordinates[rank][level]; empty where the shape is irregular (uneven hosts, a torus with a missing link).
  std::vector<std::vector<Rank>> coordinates;
  /// Ranks by group where the outermost regular structure is hosts of different sizes; else empty.
  std::vector<std::vector<Rank>> groups;
  std::string note;  // why it is no better than it is: "torus 4x4 without the link from rank 3 to rank 7"; empty when regular

  /// "switch:8 x rail:16", "ring:4 x ring:2", "irregular:15".
  [[nodiscard]] std::string text() const;
  /// The rank at these coordinates; -1 where there is none.
  [[nodiscard]] Rank at(const std::vector<Rank>& coordinate) const;
  /// Whether every level is a ring or a clique of two.
  [[nodiscard]] bool is_torus() const;
};

/// Never fails: what nothing fits is irregular.
[[nodiscard]] Shape shape_of(const Topology& topology);

}  // namespace toric
