// The changing side of a plan while it runs over one slice of the vector: where chunks lie, how far each step is.
#pragma once

#include "toric/execute/executor.hpp"

#include <cstdint>
#include <vector>

namespace toric {

/// Positions count data elements of the slice in the schedule's chunk order; begin and end are the step's own.
struct StepState {
  std::uint64_t position, begin, end;
  std::uint32_t chunk;  // of the step's run: the one that position lies in
};

/// The shape of a slice: equal for every call with the same plan and count, so it is kept between calls.
struct SliceShape {
  std::shared_ptr<const char> plan;  // Plan::identity
  std::uint64_t count = 0, slice = 0;
  std::vector<std::uint64_t> start;    // chunks + 1 prefix sums of lengths
  std::vector<std::uint64_t> memory;   // element offset of each chunk from the first element of slice 0 of the full vector
  std::vector<std::uint64_t> run_end;  // position up to which memory stays contiguous from that chunk
  std::uint64_t longest = 0;           // elements of the longest chunk
  // How a window over the slice begins. Steps without elements have ended.
  std::vector<StepState> steps;
  std::vector<std::uint32_t> cursor;     // by lane
  std::vector<std::uint32_t> port_left;  // by port
  std::uint32_t steps_left = 0;

  /// Moves `chunk` of the run of `run` chunks from `data` on to the one that `position` lies in.
  void walk(std::uint32_t data, std::uint32_t run, std::uint32_t& chunk, std::uint64_t position) const {
    while (chunk + 1 < run && start[data + chunk + 1] <= position) ++chunk;
  }
  void shape(const Plan& plan_wanted, std::uint64_t count_wanted, std::uint64_t slice_wanted);

 private:
  void lay_out_chunks(const Schedule& s);
  void place_cursors(const Plan& wanted);
};

/// One slice under way.
struct Window {
  const SliceShape* shape = nullptr;
  std::uint64_t base = 0;  // first element of the slice in each block (or in the vector)
  std::uint32_t scratch_set = 0;
  std::uint32_t steps_left = 0;
  std::vector<StepState> steps;
  std::vector<std::uint32_t> cursor;     // by lane: index into Plan::lanes[lane]
  std::vector<std::uint32_t> port_left;  // by port: steps of this window that have not ended; only where a younger one follows

  void begin(const SliceShape& slice_shape, std::uint64_t first, std::uint32_t set, bool several);
};

}  // namespace toric
