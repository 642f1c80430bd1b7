// One level of a regular shape after the other: what torus and hierarchical algorithms have in common. Ranks have
// coordinates; reduce-scatter runs along one coordinate at a time on what the ones before have left, all-gather back.
#pragma once

#include "toric/ir/builder.hpp"
#include "toric/topology/shape.hpp"

#include <cstdint>
#include <vector>

namespace toric {

/// Part of a vector that takes the levels in an order of its own. Its chunks are numbered by the ranks' coordinates, the
/// first level in its order counting most, so that what a rank holds between two levels is always one run.
struct GridPart {
  std::vector<std::size_t> order;  // levels of the shape that are larger than 1
  bool forward = true;             // round the rings by ascending coordinates, or descending
  std::uint32_t weight = 1;        // chunks a rank
  std::uint32_t before = 0;        // weights of the parts before this one
  std::uint16_t channel = 0;
};

struct GridParts {
  std::vector<GridPart> parts;
  std::uint32_t weight = 0;  // of all parts: chunks a rank
  double load = 0;           // bytes on the busiest link, one reduce-scatter, in units of the whole vector
};

/// Where each of the schedule's chunks lies in the API's order of blocks: part after part here, rank after rank there.
[[nodiscard]] std::vector<std::uint32_t> place_of_parts(const GridParts& parts, const Shape& shape);

/// The statements of one part. A group of a stage is the ranks that differ in that stage's coordinate only.
class GridPhases {
 public:
  GridPhases(const GridPart& part, const Shape& shape);

  /// Each rank ends with the block of its coordinate reduced over its group. Before: it held the group's blocks.
  void ring_reduce_scatter(Builder& b, std::size_t stage) const;
  /// Each rank starts with the block of its coordinate and ends with its group's blocks.
  void ring_all_gather(Builder& b, std::size_t stage) const;
  /// The same directly: each rank sends to the next of its group, the one after that and so on, while it receives from those
  /// before it in the same order. No message waits for another; on one port they take turns.
  void direct_reduce_scatter(Builder& b, std::size_t stage) const;
  void direct_all_gather(Builder& b, std::size_t stage) const;

 private:
  struct Stage {
    std::uint32_t size;    // ranks of a group
    std::uint32_t stride;  // from one of their numbers to the next
    std::uint32_t run;     // chunks of a block
  };
  [[nodiscard]] Stage stage_of(std::size_t stage) const;
  /// The rank `places` on in its group, in the part's direction.
  [[nodiscard]] Rank moved(const Stage& stage, Rank rank, std::uint32_t places) const;
  /// First chunk of that rank's block.
  [[nodiscard]] std::uint32_t block_of(const Stage& stage, Rank rank) const;
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(rank_of_.size()); }

  const GridPart& part_;
  const Shape& shape_;
  std::vector<std::uint32_t> number_of_;  // by rank: its coordinates as digits, the part's first level counting most
  std::vector<Rank> rank_of_;             // by number
};

}  // namespace toric
