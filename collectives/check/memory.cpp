#include "toric/check/memory.hpp"

#include <algorithm>

namespace toric::check {

std::uint32_t Memory::block_chunks(const Schedule& s) {
  switch (s.what) {
    case Collective::all_gather:
    case Collective::gather:
    case Collective::reduce_scatter:
    case Collective::scatter:
      return std::max(1u, s.chunks / static_cast<std::uint32_t>(s.ranks));
    default:
      return s.chunks;
  }
}

// Which part of the logical vector a rank's send and receive buffers are, as the API documents each call.
bool Memory::reaches(std::uint32_t rank, Buf buf, std::uint32_t api) const {
  const bool is_root = static_cast<Rank>(rank) == s_.root, own = api / block_ == rank, input = buf == Buf::input;
  switch (s_.what) {
    case Collective::all_reduce:
    case Collective::barrier:
      return true;
    case Collective::all_gather:
      return input ? own : true;
    case Collective::reduce_scatter:
      return input ? true : own;
    case Collective::broadcast:
      return input ? is_root : true;
    case Collective::reduce:
      return input ? true : is_root;
    case Collective::gather:
      return input ? own : is_root;
    case Collective::scatter:
      return input ? is_root : own;
    case Collective::all_to_all:
      return false;
  }
  return false;
}

// A block's place in its own buffer is left out of the address: a buffer of one block starts where the block lies in the
// full vector, which is exactly the API's in-place offset. Apart, output and input have memory of their own.
Cell* Memory::at(std::uint32_t rank, Buf buf, std::uint32_t api, std::uint32_t element) {
  const std::uint32_t begin = buf == Buf::output ? output_begin_ : 0;
  return &cells_[std::size_t{rank} * rank_cells_ + begin + api * elements_per_chunk + element];
}

Cell* Memory::find(std::uint32_t rank, Buf buf, std::uint32_t chunk, std::uint32_t element) {
  if (buf == Buf::scratch) {
    if (chunk >= s_.scratch_chunks) return nullptr;
    return &cells_[std::size_t{rank} * rank_cells_ + scratch_begin_ + chunk * elements_per_chunk + element];
  }
  if (chunk >= s_.chunks) return nullptr;
  const std::uint32_t api = s_.place.empty() ? chunk : s_.place[chunk];
  return reaches(rank, buf, api) ? at(rank, buf, api, element) : nullptr;
}

void Memory::fill(const InterpretOptions& options) {
  options_ = options;
  output_begin_ = options.in_place ? 0 : s_.chunks * elements_per_chunk;
  scratch_begin_ = output_begin_ + s_.chunks * elements_per_chunk;
  rank_cells_ = scratch_begin_ + s_.scratch_chunks * elements_per_chunk;
  cells_.assign(std::size_t{rank_cells_} * s_.programs.size(), Cell{});
  for (std::uint32_t rank = 0; rank < s_.programs.size(); ++rank)
    for (std::uint32_t api = 0; api < s_.chunks; ++api)
      for (std::uint32_t element = 0; element < elements_per_chunk; ++element)
        if (reaches(rank, Buf::input, api)) *at(rank, Buf::input, api, element) = leaf(rank, api, element);
}

// A barrier's contributions are bits, so that hearing of a rank twice is no fault: up to 128 ranks each has a bit of its own,
// and which ones have is turned by the seed where there are more.
Cell Memory::leaf(std::uint32_t rank, std::uint32_t api, std::uint32_t element) const {
  if (s_.what == Collective::barrier) {
    const std::uint32_t bit = static_cast<std::uint32_t>((rank + options_.seed) % static_cast<std::uint64_t>(s_.ranks));
    return {bit < 64 ? std::uint64_t{1} << bit : 0, bit >= 64 && bit < 128 ? std::uint64_t{1} << (bit - 64) : 0, true};
  }
  Random random(options_.seed * 0x100000001b3u ^ (std::uint64_t{rank} << 40) ^ (std::uint64_t{api} << 8) ^ element);
  const std::uint64_t value = random(), tree = random();
  return {options_.keep_rank_order ? value | 1 : value, tree, true};
}

// Sum and an unordered hash; or, where the order counts, maps x -> value * x + tree, which compose but do not commute.
Cell Memory::combine(const Cell& left, const Cell& right) const {
  const bool written = left.written && right.written;
  if (s_.what == Collective::barrier) return {left.value | right.value, left.tree | right.tree, written};
  if (options_.keep_rank_order) return {left.value * right.value, left.value * right.tree + left.tree, written};
  const auto [low, high] = std::minmax(left.tree, right.tree);
  return {left.value + right.value, Random::mix(Random::mix(low) + 3 * high), written};
}

Cell Memory::expected(std::uint32_t api, std::uint32_t element) const {
  switch (s_.what) {
    case Collective::broadcast:
    case Collective::scatter:
      return leaf(static_cast<std::uint32_t>(s_.root), api, element);
    case Collective::all_gather:
    case Collective::gather:
      return leaf(api / block_, api, element);
    default:
      break;
  }
  Cell all = leaf(0, api, element);
  for (std::uint32_t rank = 1; rank < s_.programs.size(); ++rank) all = combine(all, leaf(rank, api, element));
  return all;
}

std::optional<std::string> Memory::compare_one(std::uint32_t rank, std::uint32_t api, std::uint32_t element, const Cell& want) {
  const Cell& cell = *at(rank, Buf::output, api, element);
  const std::string where = "rank " + std::to_string(rank) + " output, API chunk " + std::to_string(api);
  if (!cell.written) return where + ": never written";
  // Of a sum only the value is known beforehand; its tree need only be the same on all ranks of an all-reduce.
  const bool sum = !options_.keep_rank_order &&
                   (s_.what == Collective::all_reduce || s_.what == Collective::reduce || s_.what == Collective::reduce_scatter);
  if (cell.value != want.value || (!sum && cell.tree != want.tree)) return where + ": wrong value";
  if (s_.what == Collective::all_reduce && cell.tree != at(0, Buf::output, api, element)->tree)
    return where + ": combined in another order than on rank 0";
  return std::nullopt;
}

Interpretation Memory::compare() {
  for (std::uint32_t api = 0; api < s_.chunks; ++api)
    for (std::uint32_t element = 0; element < elements_per_chunk; ++element) {
      const Cell want = expected(api, element);
      for (std::uint32_t rank = 0; rank < s_.programs.size(); ++rank) {
        const bool output = reaches(rank, Buf::output, api), input = reaches(rank, Buf::input, api);
        if (output)
          if (auto text = compare_one(rank, api, element, want)) return {Outcome::wrong, *text};
        if (!input || (options_.in_place && output)) continue;
        const Cell &now = *at(rank, Buf::input, api, element), was = leaf(rank, api, element);
        if (now.value != was.value || now.tree != was.tree)
          return {Outcome::wrong,
                  "rank " + std::to_string(rank) + " input, API chunk " + std::to_string(api) + ": the caller's input was changed"};
      }
    }
  return {};
}

}  // namespace toric::check
