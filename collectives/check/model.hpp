// A schedule as the interpreter runs it: lanes as little machines, messages as wires between them. Internal to this folder;
// made without the verifier's index, on purpose.
#pragma once

#include "toric/check/memory.hpp"
#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace toric::check {

inline constexpr std::uint32_t nothing = UINT32_MAX;

/// What a lane does next with its current segment.
enum class Phase : std::uint8_t { begin, read_early, wait_taken, wait_offered, load, store };

/// A message's elements and how far its two ends are.
struct Wire {
  std::uint32_t send_rank = 0, send_step = nothing, receive_rank = 0, receive_step = nothing;
  std::uint32_t previous = nothing;  // the message before it on the same (from, to, channel)
  std::uint32_t offered = 0, taken = 0;
  bool late = false;  // the receiver reads the sender's memory when it takes the elements, not earlier
  std::vector<Cell> cells;
};

struct StepState {
  std::uint32_t wire = nothing;
  std::uint32_t begin = 0, length = 0;  // in elements of the logical vector
  std::uint32_t done = 0;
};

struct Lane {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> steps;
  std::size_t cursor = 0;
  Phase phase = Phase::begin;
  std::uint32_t segment_begin = 0, segment_end = 0, index = 0;
  // How the current segment runs: reads at its begin or its end; all reads before all writes or one by one; from which
  // end; without others in between.
  bool early = false, batched = false, reversed = false, at_once = false;
  bool runnable = false, slow = false;
  std::uint32_t priority = 0;
  std::vector<Cell> own, result;  // operands read early, values loaded but not stored
};

struct Model {
  explicit Model(const Schedule& schedule);
  void reset();

  const Schedule& schedule;
  std::vector<std::vector<StepState>> states;        // by rank and step
  std::vector<Lane> lanes;                           // of all ranks
  std::vector<std::vector<std::uint32_t>> lanes_of;  // by rank
  std::vector<Wire> wires;
  std::string refused;  // why this cannot run at all; empty: it can

 private:
  void add_rank(std::uint32_t rank);
  void match_wires();
  void attach(std::vector<std::uint32_t>& port, std::uint32_t nth, std::uint32_t rank, std::uint32_t step);
};

}  // namespace toric::check
