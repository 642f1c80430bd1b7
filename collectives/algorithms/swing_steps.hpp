// Who meets whom in Swing, and which blocks then change hands.
#pragma once

#include "toric/topology/shape.hpp"

#include <cstdint>
#include <vector>

namespace toric {

/// One of the instances that run at the same time: they begin on different dimensions, and half of them are mirrored, so
/// that all ports work and no two use one direction of a link alike.
class SwingSteps {
 public:
  /// Sides that are even, or 1.
  SwingSteps(const Shape& shape, std::size_t first_dimension, bool mirrored);

  [[nodiscard]] std::size_t count() const { return steps_.size(); }
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(shape_.coordinates.size()); }
  [[nodiscard]] Rank partner(Rank rank, std::size_t step) const { return partners_[step][static_cast<std::size_t>(rank)]; }
  /// Places of the blocks that `rank` hands to its partner in that step of a reduce-scatter, ascending. Each block but its
  /// own is handed over once, at the last step from which it can still reach its owner: with sides that are no powers of
  /// two some could go earlier too, and would be counted twice.
  [[nodiscard]] std::vector<std::uint32_t> handed_over(Rank rank, std::size_t step) const;
  /// Where a rank's block lies, such that for sides that are powers of two what is handed over at a time is one run.
  [[nodiscard]] std::uint32_t place(Rank rank) const { return place_[static_cast<std::size_t>(rank)]; }

  struct Hop {
    std::size_t dimension;
    Rank distance;  // signed: from even coordinates; the other way from odd ones
  };
  [[nodiscard]] const Hop& hop(std::size_t step) const { return steps_[step]; }

 private:
  using Set = std::vector<std::uint64_t>;  // of ranks, a bit each
  void plan_hops(std::size_t first_dimension, bool mirrored);
  void find_partners();
  void find_reach();
  void sort_ranks();

  const Shape& shape_;
  std::vector<Hop> steps_;
  std::vector<std::vector<Rank>> partners_;  // by step and rank
  std::vector<std::vector<Set>> reach_;      // by step and rank: where steps from there on lead
  std::vector<std::uint32_t> place_;         // by rank
};

}  // namespace toric
