#include "toric/execute/window.hpp"

#include <algorithm>

namespace toric {

void SliceShape::shape(const Plan& plan_wanted, std::uint64_t count_wanted, std::uint64_t slice_wanted) {
  const Schedule& s = plan_wanted.schedule;
  plan = plan_wanted.identity;
  count = count_wanted;
  slice = slice_wanted;
  longest = longest_chunk(s, slice);
  lay_out_chunks(s);
  const auto& program = plan_wanted.program().steps;
  steps.resize(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const std::uint32_t first = plan_wanted.steps[i].data;
    steps[i] = {start[first], start[first], start[first + program[i].count], 0};
  }
  place_cursors(plan_wanted);
}

void SliceShape::lay_out_chunks(const Schedule& s) {
  const std::uint32_t parts = has_blocks(s.what) ? s.chunks / static_cast<std::uint32_t>(s.ranks) : s.chunks;
  start.resize(s.chunks + 1);
  memory.resize(s.chunks);
  run_end.resize(s.chunks);
  start[0] = 0;
  for (std::uint32_t c = 0; c < s.chunks; ++c) {
    const std::uint32_t api = api_chunk(s, c);
    const Extent extent = extent_of(s, api, slice);
    start[c + 1] = start[c] + extent.length;
    memory[c] = extent.begin + (api / parts) * (count - slice);  // blocks stay `count` apart
  }
  for (std::uint32_t c = s.chunks; c-- > 0;) {
    const std::uint64_t length = start[c + 1] - start[c];
    const bool joined = c + 1 < s.chunks && memory[c] + length == memory[c + 1];
    run_end[c] = joined ? run_end[c + 1] : start[c + 1];
  }
}

void SliceShape::place_cursors(const Plan& wanted) {
  steps_left = static_cast<std::uint32_t>(steps.size());
  port_left.assign(wanted.port_count, 0);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (!is_local(wanted.program().steps[i].op)) ++port_left[wanted.steps[i].port_index];
  cursor.assign(wanted.lanes.size(), 0);
  for (std::size_t lane = 0; lane < cursor.size(); ++lane) {
    const auto& order = wanted.lanes[lane];
    for (; cursor[lane] < order.size() && steps[order[cursor[lane]]].begin == steps[order[cursor[lane]]].end; ++cursor[lane]) {
      const std::uint32_t ended = order[cursor[lane]];
      --steps_left;
      if (!is_local(wanted.program().steps[ended].op)) --port_left[wanted.steps[ended].port_index];
    }
  }
}

void Window::begin(const SliceShape& slice_shape, std::uint64_t first, std::uint32_t set, bool several) {
  shape = &slice_shape;
  base = first;
  scratch_set = set;
  steps_left = slice_shape.steps_left;
  steps = slice_shape.steps;
  cursor = slice_shape.cursor;
  if (several)
    port_left = slice_shape.port_left;
  else
    port_left.clear();
}

}  // namespace toric
