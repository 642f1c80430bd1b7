// The verifier proves a schedule: pairing, no deadlock at its capacity, no race on a rank, and that each output chunk
// holds each contribution exactly once, combined in the same tree on every rank.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace toric {

enum class Fault : std::uint8_t {
  none,
  structure,       // check_structure refused it
  pairing,         // a send without its receive, or the other way round
  data,            // two ends, or source and destination, name different data chunks or lengths
  deadlock,        // no order of the steps runs to the end at this capacity
  race,            // two accesses to one place, one a write, with no path between them
  uninitialised,   // a step reads a place that nothing wrote
  input_written,   // input is a destination
  duplicate,       // a contribution is counted twice in a reduction
  wrong_result,    // an output chunk does not hold what the collective says
  missing_result,  // an output chunk is never written
  order_differs,   // an all-reduce whose ranks combine in different trees
  rank_order,      // kept in rank order was asked for, and it is not
};
inline constexpr std::size_t fault_count = 13;
[[nodiscard]] std::string_view name_of(Fault fault);

struct VerifyOptions {
  bool in_place = false;         // input and output at the API's in-place offset instead of apart
  bool keep_rank_order = false;  // the operator does not commute: operands must be in ascending rank order
};

struct Verdict {
  Fault fault = Fault::none;
  std::string text;  // names rank, step and chunk
  [[nodiscard]] bool ok() const { return fault == Fault::none; }
};

/// Works on (step, chunk). Deadlock is judged with whole steps as segments, which covers every finer cut.
/// Order on a rank counts through its own lanes and dependencies only, which holds at any capacity.
[[nodiscard]] Verdict verify(const Schedule& schedule, const VerifyOptions& options = {});

/// Both alias models, for little more than the price of one.
[[nodiscard]] Verdict verify_all(const Schedule& schedule, bool keep_rank_order = false);

/// What a schedule does on the wire, counted from its steps in units of one vector of `chunks` equal chunks.
struct WireCount {
  std::uint32_t rounds = 0;     // longest chain of messages, each needing the one before
  double busiest_rank_out = 0;  // parts of the full vector sent by the busiest rank
  double busiest_rank_in = 0;   // received
  std::uint64_t messages = 0;   // of all ranks
};
[[nodiscard]] Result<WireCount> count_wire(const Schedule& schedule);

}  // namespace toric
