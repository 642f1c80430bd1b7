#include "toric/execute/window.hpp"

#include <algorithm>

namespace toric {

void SliceShape::shape(const Plan& plan_wanted, std::uint64_t count_wanted, std::uint64_t slice_wanted) {
  const Schedule& s = plan_wanted.schedule;
  plan = plan_wanted.identity;
  count = count_wanted;
  slice = slice_wanted;
  longest = longest_chunk(s, slice);
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
  const auto& program = plan_wanted.program().steps;
  steps.resize(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const std::uint32_t first = plan_wanted.steps[i].data;
    steps[i] = {start[first], start[first], start[first + program[i].count], 0};
  }
}

void Window::begin(const Plan& plan, const SliceShape& slice_shape, std::uint64_t first, std::uint32_t set, bool several) {
  shape = &slice_shape;
  base = first;
  scratch_set = set;
  steps_left = static_cast<std::uint32_t>(slice_shape.steps.size());
  steps.assign(slice_shape.steps.begin(), slice_shape.steps.end());
  cursor.assign(plan.lanes.size(), 0);
  port_left.clear();
  if (!several) return;
  port_left.assign(plan.port_count, 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i)
    if (!is_local(plan.program().steps[i].op)) ++port_left[plan.steps[i].port_index];
}

}  // namespace toric
