#include "toric/simulate/step_graph.hpp"

#include <fmt/format.h>

#include <unordered_map>

namespace toric::simulation {

namespace {

Status number_steps(const Schedule& schedule, StepGraph& graph) {
  std::uint64_t steps = 0;
  for (const Program& program : schedule.programs) {
    graph.first.push_back(static_cast<StepId>(steps));
    steps += program.steps.size();
    if (steps >= no_step)
      return {Code::invalid_argument, fmt::format("the schedule has more than {} steps: too many to simulate", no_step - 1)};
  }
  graph.first.push_back(static_cast<StepId>(steps));
  graph.rank.resize(steps);
  for (std::size_t rank = 0; rank < schedule.programs.size(); ++rank)
    std::fill(graph.rank.begin() + graph.first[rank], graph.rank.begin() + graph.first[rank + 1], static_cast<Rank>(rank));
  return {};
}

/// Calls visit(step, another of the same rank, whether the step overwrites what that sends) for each it waits for: the step
/// before in its lane, and its dependencies.
template <typename Visit>
void for_each_wait(const Program& program, StepId first, std::vector<StepId>& last_of_lane, const Visit& visit) {
  std::fill(last_of_lane.begin(), last_of_lane.end(), no_step);
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    StepId& before = last_of_lane[step.lane];
    if (before != no_step) visit(first + i, before, false);
    before = first + i;
    for (const Dep dep : program.deps_of(step))
      visit(first + i, first + dep.step, is_send(program.steps[dep.step].op) && writes_dst(step.op));
  }
}

/// From the lengths of the lists, which stand one place to the right, to where they begin.
void add_up(StepLists& lists) {
  for (std::size_t i = 1; i < lists.from.size(); ++i) lists.from[i] += lists.from[i - 1];
  lists.all.resize(lists.from.back());
}

void connect_waits(const Schedule& schedule, StepGraph& graph) {
  const std::size_t steps = graph.steps();
  graph.waits.assign(steps, 0);
  graph.holds.assign(steps, 0);
  std::vector<StepId> last_of_lane(lanes_used(schedule));
  const auto for_all = [&](const auto& visit) {
    for (std::size_t rank = 0; rank < schedule.programs.size(); ++rank)
      for_each_wait(schedule.programs[rank], graph.first[rank], last_of_lane, visit);
  };
  for (StepLists* lists : {&graph.after, &graph.beside}) lists->from.assign(steps + 1, 0);
  for_all([&](StepId step, StepId other, bool beside) {
    ++graph.waits[step];
    if (beside) ++graph.holds[step];
    ++(beside ? graph.beside : graph.after).from[other + std::size_t{1}];
  });
  for (StepLists* lists : {&graph.after, &graph.beside}) add_up(*lists);
  std::vector<std::uint64_t> after(graph.after.from), beside(graph.beside.from);
  for_all([&](StepId step, StepId other, bool is_beside) {
    if (is_beside)
      graph.beside.all[beside[other]++] = step;
    else
      graph.after.all[after[other]++] = step;
  });
}

class Ports {
 public:
  explicit Ports(StepGraph& graph) : graph_(graph) {}

  std::uint32_t of(Rank owner, const Step& step) {
    const Port port = is_send(step.op) ? Port{owner, step.peer, step.channel} : Port{step.peer, owner, step.channel};
    const std::uint64_t key = std::uint64_t(port.from) << 40 | std::uint64_t(port.to) << 16 | port.channel;
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(graph_.ports.size()));
    if (is_new) graph_.ports.push_back(port);
    return found->second;
  }

 private:
  StepGraph& graph_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

std::string name_of_port(const Port& port) {
  return fmt::format("from rank {} to rank {} on channel {}", port.from, port.to, port.channel);
}

/// Where in one list of all sends, ordered by port, each port's begin; and one more at the end.
std::vector<std::uint32_t> sends_by_port(const Schedule& schedule, StepGraph& graph, std::vector<StepId>& sends) {
  Ports ports(graph);
  graph.port.assign(graph.steps(), UINT32_MAX);
  std::vector<std::uint32_t> from{0};
  for (StepId id = 0; id < graph.steps(); ++id) {
    const Step& step = step_of(schedule, graph, id);
    if (is_local(step.op)) continue;
    graph.port[id] = ports.of(graph.rank[id], step);
    from.resize(graph.ports.size() + 1);
    if (is_send(step.op)) ++from[graph.port[id] + std::size_t{1}];
  }
  for (std::size_t i = 1; i < from.size(); ++i) from[i] += from[i - 1];
  sends.resize(from.back());
  std::vector<std::uint32_t> fill(from.begin(), from.end() - 1);
  for (StepId id = 0; id < graph.steps(); ++id)
    if (graph.port[id] != UINT32_MAX && is_send(step_of(schedule, graph, id).op)) sends[fill[graph.port[id]]++] = id;
  return from;
}

/// The n-th send of a port meets its n-th receive.
Status pair_messages(const Schedule& schedule, StepGraph& graph) {
  std::vector<StepId> sends;
  const std::vector<std::uint32_t> from = sends_by_port(schedule, graph, sends);
  std::vector<std::uint32_t> next(from.begin(), from.end() - 1);
  graph.partner.assign(graph.steps(), no_step);
  if (schedule.fifo > 0) graph.later.assign(graph.steps(), no_step);
  for (StepId id = 0; id < graph.steps(); ++id) {
    const std::uint32_t port = graph.port[id];
    if (port == UINT32_MAX) continue;
    const Step& step = step_of(schedule, graph, id);
    if (!is_receive(step.op)) continue;
    if (next[port] == from[port + 1])
      return {Code::invalid_argument, fmt::format("{} has no send to meet: {} messages are sent {}", describe(schedule, graph, id),
                                                  from[port + 1] - from[port], name_of_port(graph.ports[port]))};
    const std::uint32_t at = next[port]++;
    graph.partner[id] = sends[at];
    graph.partner[sends[at]] = id;
    if (schedule.fifo > 0 && at - from[port] >= schedule.fifo) graph.later[graph.partner[sends[at - schedule.fifo]]] = id;
    const Step& send = step_of(schedule, graph, sends[at]);
    if (send.count != step.count || data_first(send, schedule.chunks) != data_first(step, schedule.chunks))
      return {Code::invalid_argument,
              fmt::format("{} meets {}, which is about other chunks", describe(schedule, graph, id), describe(schedule, graph, sends[at]))};
  }
  for (std::size_t port = 0; port < next.size(); ++port)
    if (next[port] != from[port + 1])
      return {Code::invalid_argument,
              fmt::format("{} has no receive to meet: {} messages are received {}", describe(schedule, graph, sends[next[port]]),
                          next[port] - from[port], name_of_port(graph.ports[port]))};
  return {};
}

}  // namespace

Result<StepGraph> graph_of(const Schedule& schedule) {
  TORIC_TRY(check_structure(schedule));
  StepGraph graph;
  TORIC_TRY(number_steps(schedule, graph));
  connect_waits(schedule, graph);
  TORIC_TRY(pair_messages(schedule, graph));
  return graph;
}

std::string describe(const Schedule& schedule, const StepGraph& graph, StepId id) {
  constexpr std::string_view names[] = {"send", "recv", "recv_reduce", "copy", "reduce"};
  const Step& step = step_of(schedule, graph, id);
  const Rank rank = graph.rank[id];
  std::string text = fmt::format("step {} of rank {}, a {}", id - graph.first[static_cast<std::size_t>(rank)], rank,
                                 names[static_cast<std::size_t>(step.op)]);
  if (!is_local(step.op)) text += fmt::format(" {} rank {} on channel {}", is_send(step.op) ? "to" : "from", step.peer, step.channel);
  return text;
}

StepBytes::StepBytes(const Schedule& schedule, std::uint64_t bytes, std::size_t element) : before_(schedule.chunks + std::size_t{1}) {
  const std::uint64_t elements = bytes / element;
  const std::uint64_t count = has_blocks(schedule.what) ? elements / static_cast<std::uint64_t>(schedule.ranks) : elements;
  for (std::uint32_t chunk = 0; chunk < schedule.chunks; ++chunk)
    before_[chunk + std::size_t{1}] = before_[chunk] + extent_of(schedule, api_chunk(schedule, chunk), count).length * element;
}

}  // namespace toric::simulation
