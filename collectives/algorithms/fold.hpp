// Index arithmetic shared by the power-of-two algorithms, free of any builder call.
#pragma once

#include "toric/base.hpp"

#include <algorithm>

namespace toric {

[[nodiscard]] constexpr int floor_log2(Rank ranks) {
  int log = 0;
  while ((ranks >> (log + 1)) != 0) ++log;
  return log;
}

[[nodiscard]] constexpr int ceil_log2(Rank ranks) { return ranks <= 1 ? 0 : floor_log2(ranks - 1) + 1; }

/// Folds any number of ranks to the largest power of two below it. The first `surplus` pairs of neighbours
/// (2i, 2i+1) act as one participant, its even member; every other rank is a participant by itself. Participants are in
/// rank order and each stands for a run of neighbouring ranks, so what a group of neighbouring participants stands for is
/// again a run: no permutation of blocks is needed, and operands stay in rank order where the algorithm keeps it.
struct Fold {
  explicit constexpr Fold(Rank ranks) : power(1 << floor_log2(ranks)), surplus(ranks - power) {}

  /// The rank of participant i, which is also the first rank of the run it stands for; at(power) is the rank count.
  [[nodiscard]] constexpr Rank at(int i) const { return i + std::min(i, surplus); }
  /// The rank that sits out beside participant i < surplus.
  [[nodiscard]] constexpr Rank beside(int i) const { return at(i) + 1; }

  int power, surplus;
};

/// The first member of i's group of `size` participants, `size` a power of two.
[[nodiscard]] constexpr int group_of(int i, int size) { return i & ~(size - 1); }

}  // namespace toric
