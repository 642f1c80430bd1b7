#include "toric/check/trees.hpp"

#include <algorithm>
#include <bit>

namespace toric::check {

namespace {
constexpr std::uint32_t empty_slot = UINT32_MAX;
}

Trees::Trees(std::uint32_t ranks, std::uint32_t chunks, bool ordered, std::size_t combinations)
    : ranks_(ranks),
      chunks_(chunks),
      leaves_(ranks * chunks),
      words_((ranks + 63) / 64),
      ordered_(ordered),
      sets_(std::size_t{ranks} * words_),
      slots_(std::bit_ceil(combinations * 2 + 2), empty_slot) {
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sets_[std::size_t{rank} * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
}

std::uint32_t Trees::combine(std::uint32_t left, std::uint32_t right) {
  if (!ordered_ && right < left) std::swap(left, right);
  const std::size_t mask = slots_.size() - 1;
  const std::uint64_t key = (std::uint64_t{left} << 32) | right;
  std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 24 & mask;
  for (; slots_[at] != empty_slot; at = (at + 1) & mask) {
    const Node& node = nodes_[slots_[at]];
    if (node.left == left && node.right == right) return leaves_ + slots_[at];
  }
  slots_[at] = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({left, right});
  const std::size_t made = sets_.size();
  sets_.resize(made + words_);
  const auto a = set_of(left), b = set_of(right);
  for (std::uint32_t i = 0; i < words_; ++i) sets_[made + i] = a[i] | b[i];
  return leaves_ + static_cast<std::uint32_t>(nodes_.size() - 1);
}

std::span<const std::uint64_t> Trees::set_of(std::uint32_t tree) const {
  const std::size_t number = tree < leaves_ ? tree / chunks_ : ranks_ + (tree - leaves_);
  return {sets_.data() + number * words_, words_};
}

bool Trees::overlap(std::uint32_t a, std::uint32_t b) const {
  const auto first = set_of(a), second = set_of(b);
  for (std::uint32_t i = 0; i < words_; ++i)
    if ((first[i] & second[i]) != 0) return true;
  return false;
}

std::uint32_t Trees::ranks_in(std::uint32_t tree) const {
  int count = 0;
  for (const std::uint64_t word : set_of(tree)) count += std::popcount(word);
  return static_cast<std::uint32_t>(count);
}

std::uint32_t Trees::first_missing(std::uint32_t tree) const {
  const auto set = set_of(tree);
  for (std::uint32_t i = 0; i < words_; ++i)
    if (set[i] != ~std::uint64_t{0}) return std::min(ranks_, i * 64 + static_cast<std::uint32_t>(std::countr_one(set[i])));
  return ranks_;
}

std::uint32_t Trees::lowest(std::uint32_t tree) const {
  const auto set = set_of(tree);
  std::uint32_t word = 0;
  while (set[word] == 0) ++word;  // no set is empty
  return word * 64 + static_cast<std::uint32_t>(std::countr_zero(set[word]));
}

std::uint32_t Trees::highest(std::uint32_t tree) const {
  const auto set = set_of(tree);
  std::uint32_t word = words_ - 1;
  while (set[word] == 0) --word;
  return word * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(set[word]));
}

}  // namespace toric::check
