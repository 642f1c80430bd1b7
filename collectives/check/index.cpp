// Numbers the steps and looks at each step for itself.
#include "toric/check/proof.hpp"

#include <algorithm>

namespace toric::check {

std::string_view name_of(Op op) {
  constexpr std::string_view names[] = {"send", "recv", "recv_reduce", "copy", "reduce"};
  return static_cast<std::size_t>(op) < std::size(names) ? names[static_cast<std::size_t>(op)] : "unknown";
}

std::string_view name_of(Buf buf) {
  constexpr std::string_view names[] = {"input", "output", "scratch"};
  return static_cast<std::size_t>(buf) < std::size(names) ? names[static_cast<std::size_t>(buf)] : "unknown";
}

std::string describe(const Schedule& schedule, std::uint32_t rank, std::uint32_t step_number) {
  const Step& step = schedule.programs[rank].steps[step_number];
  std::string text = "rank " + std::to_string(rank) + " step " + std::to_string(step_number) + " (" + std::string(name_of(step.op));
  if (!is_local(step.op)) {
    text += is_send(step.op) ? " to rank " : " from rank ";
    text += std::to_string(step.peer) + " on channel " + std::to_string(step.channel);
  }
  return text + ")";
}

std::string describe(const Index& index, std::uint32_t id) {
  return describe(*index.schedule, index.rank[id], id - index.base[index.rank[id]]);
}

std::string describe_place(const Schedule& schedule, Buf buf, std::uint32_t at) {
  if (buf != Buf::scratch) return std::string(name_of(buf)) + " chunk " + std::to_string(at);
  return "scratch slot " + std::to_string(at) + " (chunk " + std::to_string(at % schedule.chunks) + ")";
}

namespace {

Verdict check_buffers(const Index& index, std::uint32_t rank, std::uint32_t number) {
  const Schedule& s = *index.schedule;
  const Step& step = s.programs[rank].steps[number];
  const auto where = [&] { return describe(s, rank, number); };
  if (writes_dst(step.op) && step.dst_buf == Buf::input)
    return {Fault::input_written,
            where() + " writes " + describe_place(s, Buf::input, step.dst_first) + "; the caller's input is read only"};
  if (reads_src(step.op) && writes_dst(step.op) && step.src_first % s.chunks != step.dst_first % s.chunks)
    return {Fault::data, where() + " reads " + describe_place(s, step.src_buf, step.src_first) + " but writes " +
                             describe_place(s, step.dst_buf, step.dst_first) + ": both must be of one data chunk"};
  for (std::uint32_t i = 0; i < step.count; ++i) {
    const bool input_missing = reads_src(step.op) && step.src_buf == Buf::input && !index.holds(index.input_held, rank, step.src_first + i);
    const bool output_missing =
        reads_src(step.op) && step.src_buf == Buf::output && !index.holds(index.output_held, rank, step.src_first + i);
    if (input_missing || output_missing)
      return {Fault::uninitialised, where() + " reads " + describe_place(s, step.src_buf, step.src_first + i) + ", which this rank's " +
                                        std::string(name_of(step.src_buf)) + " does not hold"};
    if (writes_dst(step.op) && step.dst_buf == Buf::output && !index.holds(index.output_held, rank, step.dst_first + i))
      return {Fault::structure, where() + " writes " + describe_place(s, Buf::output, step.dst_first + i) +
                                    ", which this rank's output does not hold: use scratch"};
  }
  return {};
}

void fill_held(const Schedule& s, Index& index) {
  const auto ranks = static_cast<std::uint32_t>(s.ranks);
  index.input_held.resize(std::size_t{ranks} * s.chunks);
  index.output_held.resize(std::size_t{ranks} * s.chunks);
  std::size_t at = 0;
  for (Rank rank = 0; rank < s.ranks; ++rank)
    for (std::uint32_t chunk = 0; chunk < s.chunks; ++chunk, ++at) {
      index.input_held[at] = input_holds(s, rank, chunk) ? 1 : 0;
      index.output_held[at] = output_holds(s, rank, chunk) ? 1 : 0;
    }
}

// `last` maps a lane number to the lane's last step so far on this rank; it is left as it came: all none.
void number_lanes(Index& index, std::uint32_t rank, std::vector<std::uint32_t>& last) {
  const std::vector<Step>& steps = index.schedule->programs[rank].steps;
  for (std::uint32_t number = 0; number < steps.size(); ++number) {
    const std::uint32_t id = index.base[rank] + number;
    std::uint32_t& previous = last[steps[number].lane];
    if (previous == none) {
      index.lane[id] = static_cast<std::uint32_t>(index.lane_first.size());
      index.lane_first.push_back(id);
    } else {
      index.lane[id] = index.lane[previous];
      index.next_in_lane[previous] = id;
    }
    previous = id;
  }
  for (const Step& step : steps) last[step.lane] = none;
  index.lane_base.push_back(static_cast<std::uint32_t>(index.lane_first.size()));
}

Verdict check_size(const Schedule& s) {
  std::uint64_t steps = 0, chunk_steps = 0;
  for (const Program& program : s.programs) {
    steps += program.steps.size();
    for (const Step& step : program.steps) chunk_steps += step.count;
  }
  const std::uint64_t leaves = static_cast<std::uint64_t>(s.ranks) * s.chunks;
  if (steps >= none || chunk_steps + leaves >= none || 2ull * s.chunks + s.scratch_chunks >= none)
    return {Fault::structure, "the schedule is too large to verify (" + std::to_string(steps) + " steps, " + std::to_string(chunk_steps) +
                                  " chunk steps): verify the same algorithm with fewer ranks or pieces"};
  return {};
}

Verdict check_head(const Schedule& s) {
  if (Status status = check_structure(s); !status.ok()) return {Fault::structure, std::string(status.text())};
  if (s.what == Collective::all_to_all)
    return {Fault::structure, "all_to_all: which chunks a rank holds is not defined yet, so nothing can be proved"};
  return check_size(s);
}

}  // namespace

Verdict index_steps(const Schedule& schedule, Index& index) {
  if (Verdict verdict = check_head(schedule); !verdict.ok()) return verdict;
  index.schedule = &schedule;
  index.base.assign(1, 0);
  index.lane_base.assign(1, 0);
  fill_held(schedule, index);
  std::uint16_t top_lane = 0;
  for (std::uint32_t rank = 0; rank < schedule.programs.size(); ++rank) {
    const Program& program = schedule.programs[rank];
    index.base.push_back(index.base.back() + static_cast<std::uint32_t>(program.steps.size()));
    for (std::uint32_t number = 0; number < program.steps.size(); ++number) {
      if (Verdict verdict = check_buffers(index, rank, number); !verdict.ok()) return verdict;
      top_lane = std::max(top_lane, program.steps[number].lane);
    }
  }
  index.rank.resize(index.steps());
  index.message.assign(index.steps(), none);
  index.next_in_lane.assign(index.steps(), none);
  index.lane.resize(index.steps());
  std::vector<std::uint32_t> last(std::size_t{top_lane} + 1, none);
  for (std::uint32_t rank = 0; rank < schedule.programs.size(); ++rank) {
    std::fill(index.rank.begin() + index.base[rank], index.rank.begin() + index.base[rank + 1], rank);
    number_lanes(index, rank, last);
  }
  return {};
}

}  // namespace toric::check
