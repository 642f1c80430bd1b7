// The memory of all ranks as the interpreter sees it: buffers laid out as the API says, filled with random data, and what
// they must hold in the end. Internal to this folder.
#pragma once

#include "toric/check/interpreter.hpp"
#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace toric::check {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15u); }
  /// Below `bound`; a bias of 2^-32 does not matter here.
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(((*this)() >> 32) * bound >> 32); }
  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }

 private:
  std::uint64_t state_;
};

/// One element: two words, combined in different ways so that one shows the contributions and the other the tree.
struct Cell {
  std::uint64_t value = 0, tree = 0;
  bool written = false;
};

/// Elements of one chunk: more than one, so that a segment can be smaller than a chunk and a torn chunk shows.
inline constexpr std::uint32_t elements_per_chunk = 2;

class Memory {
 public:
  explicit Memory(const Schedule& schedule) : s_(schedule), block_(block_chunks(schedule)) {}

  void fill(const InterpretOptions& options);
  /// The element of a chunk (or scratch slot) of a rank; null where the rank's buffer does not reach.
  [[nodiscard]] Cell* find(std::uint32_t rank, Buf buf, std::uint32_t chunk, std::uint32_t element);
  [[nodiscard]] Cell combine(const Cell& left, const Cell& right) const;
  /// Compares every output with what the collective says, and every input with what it was.
  [[nodiscard]] Interpretation compare();

 private:
  [[nodiscard]] static std::uint32_t block_chunks(const Schedule& s);
  [[nodiscard]] bool reaches(std::uint32_t rank, Buf buf, std::uint32_t api) const;
  [[nodiscard]] Cell leaf(std::uint32_t rank, std::uint32_t api, std::uint32_t element) const;
  [[nodiscard]] Cell expected(std::uint32_t api, std::uint32_t element) const;
  [[nodiscard]] Cell* at(std::uint32_t rank, Buf buf, std::uint32_t api, std::uint32_t element);
  [[nodiscard]] std::optional<std::string> compare_one(std::uint32_t rank, std::uint32_t api, std::uint32_t element, const Cell& want);

  const Schedule& s_;
  std::uint32_t block_;  // chunks of one rank's block; all of them where the API fixes no blocks
  InterpretOptions options_;
  std::uint32_t rank_cells_ = 0, output_begin_ = 0, scratch_begin_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace toric::check
