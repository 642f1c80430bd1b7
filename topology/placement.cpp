#include "toric/topology/placement.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace toric {
namespace {

struct Slot {
  int cpu;
  NodeId core;
};

/// Every allowed CPU once: the first of each core, then the second of each, and so on.
std::vector<Slot> slots_of(const Topology& topology) {
  std::vector<std::vector<Slot>> by_turn;
  for (const NodeId core : topology.of_kind(NodeKind::core)) {
    std::size_t turn = 0;
    for (const int cpu : topology.node(core).cpus) {
      if (!topology.allows(cpu)) continue;
      if (turn == by_turn.size()) by_turn.emplace_back();
      by_turn[turn++].push_back({cpu, core});
    }
  }
  std::vector<Slot> slots;
  for (const auto& turn : by_turn) slots.insert(slots.end(), turn.begin(), turn.end());
  return slots;
}

}  // namespace

std::vector<Placement> place_ranks(const Topology& topology, Rank ranks) {
  const std::vector<Slot> slots = slots_of(topology);
  const bool pinned = ranks > 0 && static_cast<std::size_t>(ranks) <= slots.size();
  std::vector<Placement> placed;
  for (Rank rank = 0; rank < ranks; ++rank) {
    Placement placement;
    placement.local_rank = rank;
    if (!slots.empty()) {
      const Slot& slot = slots[static_cast<std::size_t>(rank) % slots.size()];
      placement.cpu = slot.cpu;
      placement.core = slot.core;
      placement.numa = topology.node(slot.core).numa;
      placement.pinned = pinned;
    }
    placed.push_back(placement);
  }
  return placed;
}

Status pin_this_thread(int cpu) {
  // A mask of the size that this CPU needs: cpu_set_t alone ends at 1,024.
  cpu_set_t* set = cpu < 0 ? nullptr : CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
  if (set == nullptr) return {Code::invalid_argument, fmt::format("cannot bind a thread to CPU {}: there is no such CPU", cpu)};
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  const int error = sched_setaffinity(0, bytes, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  if (error == 0) return {};
  return {Code::system_error,
          fmt::format("cannot bind a thread to CPU {} ({}): run it on CPUs that this process may use, or leave threads unbound", cpu,
                      std::strerror(error))};
}

}  // namespace toric
