#include "toric/execute/plan.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace toric {

namespace {

// What happens to one place (chunk of output, slot of scratch) after the point that a backward walk has reached.
struct Fate {
  std::uint32_t reader = no_step;  // the one reader before the next write
  std::uint32_t readers = 0;
  bool overwritten = false;
};

struct Fates {
  std::vector<Fate> output, scratch;

  Fate* of(Buf buf, std::uint32_t first) {
    if (buf == Buf::output) return output.data() + first;
    if (buf == Buf::scratch) return scratch.data() + first;
    return nullptr;
  }
  void read(Buf buf, std::uint32_t first, std::uint32_t count, std::uint32_t step) {
    if (Fate* fate = of(buf, first))
      for (std::uint32_t i = 0; i < count; ++i) {
        fate[i].reader = step;
        ++fate[i].readers;
      }
  }
  void write(Buf buf, std::uint32_t first, std::uint32_t count) {
    if (Fate* fate = of(buf, first))
      for (std::uint32_t i = 0; i < count; ++i) fate[i] = {no_step, 0, true};
  }
  bool all(const Step& step, auto predicate) {
    const Fate* fate = of(step.dst_buf, step.dst_first);
    return fate != nullptr && std::all_of(fate, fate + step.count, predicate);
  }
};

bool overlaps(Buf a_buf, std::uint32_t a, std::uint32_t a_count, Buf b_buf, std::uint32_t b, std::uint32_t b_count) {
  return a_buf == b_buf && a < b + b_count && b < a + a_count;
}

// The first later step that reads exactly what `receive` writes, unchanged since, and waits for it: a send, or a copy into output.
std::uint32_t partner_of(const Program& program, std::uint32_t receive) {
  const Step& from = program.steps[receive];
  for (std::uint32_t j = receive + 1; j < program.steps.size(); ++j) {
    const Step& to = program.steps[j];
    if (writes_dst(to.op) && overlaps(from.dst_buf, from.dst_first, from.count, to.dst_buf, to.dst_first, to.count)) return no_step;
    const bool kind = to.op == Op::send || (to.op == Op::copy && to.dst_buf == Buf::output && from.dst_buf == Buf::scratch);
    if (!kind || to.src_buf != from.dst_buf || to.src_first != from.dst_first || to.count != from.count) continue;
    const auto deps = program.deps_of(to);
    if (std::any_of(deps.begin(), deps.end(), [&](Dep d) { return d.step == receive; })) return j;
    if (to.op == Op::copy && to.lane == from.lane) return j;  // lane order stands for the dependency
  }
  return no_step;
}

// Program order is one order that the dependencies allow, so a backward walk sees who reads a value before it is replaced.
void mark_fusion(Plan& plan) {
  const Program& program = plan.program();
  Fates fates{std::vector<Fate>(plan.schedule.chunks), std::vector<Fate>(plan.schedule.scratch_chunks)};
  for (std::uint32_t i = static_cast<std::uint32_t>(program.steps.size()); i-- > 0;) {
    const Step& step = program.steps[i];
    PlanStep& mark = plan.steps[i];
    if (writes_dst(step.op)) {
      mark.final_write = step.dst_buf == Buf::output && fates.all(step, [](const Fate& f) { return f.readers == 0 && !f.overwritten; });
      if (is_receive(step.op)) mark.fused_with = partner_of(program, i);
      if (mark.fused_with != no_step)
        mark.dead_if_fused = fates.all(step, [&](const Fate& f) {
          return f.readers == 1 && f.reader == mark.fused_with && (f.overwritten || step.dst_buf == Buf::scratch);
        });
      fates.write(step.dst_buf, step.dst_first, step.count);
    }
    if (step.op == Op::reduce) fates.read(step.dst_buf, step.dst_first, step.count, i);
    if (reads_src(step.op)) fates.read(step.src_buf, step.src_first, step.count, i);
  }
}

Status resolve_ports(Plan& plan, Transport& transport) {
  std::map<std::pair<Port, bool>, std::uint32_t> index;
  const Program& program = plan.program();
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (is_local(step.op)) continue;
    Result<Port> port = is_send(step.op) ? transport.out(step.peer, step.channel) : transport.in(step.peer, step.channel);
    if (!port) return port.status();
    plan.steps[i].port = *port;
    plan.steps[i].port_index = index.try_emplace({*port, is_send(step.op)}, static_cast<std::uint32_t>(index.size())).first->second;
  }
  plan.port_count = static_cast<std::uint32_t>(index.size());
  return {};
}

void collect_lanes(Plan& plan) {
  std::map<std::uint16_t, std::uint32_t> index;  // ordered: a lane's place among the visits follows its number
  for (const Step& step : plan.program().steps) index.try_emplace(step.lane, 0);
  std::uint32_t next = 0;
  for (auto& [lane, place] : index) place = next++;
  plan.lanes.resize(index.size());
  for (std::uint32_t i = 0; i < plan.program().steps.size(); ++i) {
    plan.steps[i].data = data_first(plan.program().steps[i], plan.schedule.chunks);
    plan.steps[i].lane = index[plan.program().steps[i].lane];
    plan.lanes[plan.steps[i].lane].push_back(i);
  }
}

void compact_scratch(Plan& plan) {
  plan.scratch_index.assign(plan.schedule.scratch_chunks, no_step);
  auto name = [&](Buf buf, std::uint32_t first, std::uint32_t count) {
    if (buf != Buf::scratch) return;
    for (std::uint32_t slot = first; slot < first + count; ++slot)
      if (plan.scratch_index[slot] == no_step) plan.scratch_index[slot] = plan.scratch_used++;
  };
  for (const Step& step : plan.program().steps) {
    if (reads_src(step.op)) name(step.src_buf, step.src_first, step.count);
    if (writes_dst(step.op)) name(step.dst_buf, step.dst_first, step.count);
  }
}

}  // namespace

Result<Plan> bind_plan(Schedule schedule, Rank rank, std::string algorithm, Transport& transport, const PlanOptions& options) {
  if (rank < 0 || rank >= schedule.ranks)
    return Status(Code::invalid_argument,
                  "a plan for rank " + std::to_string(rank) + " of a schedule of " + std::to_string(schedule.ranks) + " ranks");
  if (schedule.fifo != 0)
    return Status(Code::invalid_usage, "the schedule needs " + std::to_string(schedule.fifo) +
                                           " messages of buffering a port; only schedules verified at capacity 0 are run");
  if (options.segment_bytes < 64 || options.segment_bytes % 64 != 0 || options.segment_bytes > transport.segment_bytes())
    return Status(Code::invalid_argument, "segments of " + std::to_string(options.segment_bytes) +
                                              " bytes: need a multiple of 64, at most the " + std::to_string(transport.segment_bytes()) +
                                              " of transport " + std::string(transport.name()));
  Plan plan;
  plan.schedule = std::move(schedule);
  plan.rank = rank;
  plan.algorithm = std::move(algorithm);
  plan.options = options;
  plan.identity = std::make_shared<const char>('\0');
  plan.steps.resize(plan.program().steps.size());
  TORIC_TRY(resolve_ports(plan, transport));
  collect_lanes(plan);
  compact_scratch(plan);
  mark_fusion(plan);
  return plan;
}

}  // namespace toric
