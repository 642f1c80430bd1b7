#include "toric/ir/schedule.hpp"

#include <algorithm>

namespace toric {

namespace {

// (a * b) / c without overflow of the product; the quotient always fits because b <= c.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  if (a <= UINT32_MAX) return a * b / c;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

std::uint64_t parts_of(const Schedule& s) { return has_blocks(s.what) ? s.chunks / static_cast<std::uint32_t>(s.ranks) : s.chunks; }

}  // namespace

bool input_holds(const Schedule& s, Rank rank, std::uint32_t chunk) {
  switch (s.what) {
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::barrier:
      return true;
    case Collective::all_gather:
    case Collective::gather:
      return block_of(s, chunk) == rank;
    case Collective::broadcast:
    case Collective::scatter:
      return rank == s.root;
    case Collective::all_to_all:
      return false;  // arrives with its algorithms
  }
  return false;
}

bool output_holds(const Schedule& s, Rank rank, std::uint32_t chunk) {
  switch (s.what) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::barrier:
      return true;
    case Collective::reduce_scatter:
    case Collective::scatter:
      return block_of(s, chunk) == rank;
    case Collective::reduce:
    case Collective::gather:
      return rank == s.root;
    case Collective::all_to_all:
      return false;
  }
  return false;
}

Extent extent_of(const Schedule& s, std::uint32_t api, std::uint64_t count) {
  const std::uint64_t parts = parts_of(s);
  const std::uint64_t block = api / parts, part = api % parts;
  const std::uint64_t begin = scaled(count, part, parts), end = scaled(count, part + 1, parts);
  return {block * count + begin, end - begin};
}

std::uint64_t longest_chunk(const Schedule& s, std::uint64_t count) {
  const std::uint64_t parts = parts_of(s);
  return count / parts + (count % parts != 0 ? 1 : 0);
}

std::uint32_t channels_used(const Schedule& s) {
  std::uint32_t used = s.channels;
  if (used != 0) return used;
  for (const Program& program : s.programs)
    for (const Step& step : program.steps)
      if (!is_local(step.op)) used = std::max<std::uint32_t>(used, step.channel + 1u);
  return used;
}

std::uint32_t lanes_used(const Schedule& s) {
  std::uint32_t used = s.lanes;
  if (used != 0) return used;
  for (const Program& program : s.programs)
    for (const Step& step : program.steps) used = std::max<std::uint32_t>(used, step.lane + 1u);
  return used;
}

}  // namespace toric
