// Reduction trees as numbers: equal trees have equal numbers, whoever made them. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace toric::check {

class Trees {
 public:
  /// ordered: a tree is told from its mirror image. combinations: the most that will be made.
  Trees(std::uint32_t ranks, std::uint32_t chunks, bool ordered, std::size_t combinations);

  [[nodiscard]] std::uint32_t leaf(std::uint32_t rank, std::uint32_t chunk) const { return rank * chunks_ + chunk; }
  [[nodiscard]] std::uint32_t combine(std::uint32_t left, std::uint32_t right);

  /// The ranks whose contribution is in a tree, a bit each.
  [[nodiscard]] std::span<const std::uint64_t> set_of(std::uint32_t tree) const;
  [[nodiscard]] bool overlap(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::uint32_t ranks_in(std::uint32_t tree) const;
  /// The lowest rank that is not in the tree; the number of ranks if all are.
  [[nodiscard]] std::uint32_t first_missing(std::uint32_t tree) const;
  /// The lowest and highest rank of a tree.
  [[nodiscard]] std::uint32_t lowest(std::uint32_t tree) const;
  [[nodiscard]] std::uint32_t highest(std::uint32_t tree) const;

 private:
  struct Node {
    std::uint32_t left, right;
  };

  std::uint32_t ranks_, chunks_, leaves_, words_;
  bool ordered_;
  std::vector<Node> nodes_;          // tree number leaves_ + i
  std::vector<std::uint64_t> sets_;  // one set a rank (its leaves'), then one a node
  std::vector<std::uint32_t> slots_;
};

}  // namespace toric::check
