#include "toric/simulate/simulator.hpp"

#include "toric/simulate/run.hpp"

#include <fmt/format.h>

#include <cmath>

namespace toric {

namespace {

using simulation::Path;
using simulation::StepBytes;
using simulation::StepGraph;

Status refuse(std::string text) { return {Code::invalid_argument, std::move(text)}; }

Status check_options(const SimulationOptions& options) {
  const std::pair<const char*, double> numbers[] = {{"step_overhead", options.step_overhead},
                                                    {"reduce_seconds_per_byte", options.reduce_seconds_per_byte},
                                                    {"copy_seconds_per_byte", options.copy_seconds_per_byte},
                                                    {"default_bandwidth", options.default_bandwidth}};
  for (const auto& [name, value] : numbers)
    if (!(value >= 0) || !std::isfinite(value)) return refuse(fmt::format("{} is {}; expected a number from 0 up", name, value));
  if (options.element == 0) return refuse("an element has 0 bytes; expected 1 or more");
  return {};
}

std::string name_of_link(const Topology& topology, LinkId id) {
  const TopologyLink& link = topology.links[id];
  return fmt::format("the {} link {} from \"{}\" (node {}) to \"{}\" (node {})", name_of(link.kind), id, topology.node(link.from).name,
                     link.from, topology.node(link.to).name, link.to);
}

Status check_link(const Topology& topology, LinkId id, double capacity) {
  if (!(capacity > 0))
    return refuse(name_of_link(topology, id) + " carries messages but its bandwidth is unknown: say it, or give a default bandwidth");
  const double latency = topology.links[id].latency;
  if (!(latency >= 0) || !std::isfinite(latency) || !std::isfinite(capacity))
    return refuse(fmt::format("{} has a bandwidth of {} bytes/s and a latency of {} s; expected finite numbers", name_of_link(topology, id),
                              capacity, latency));
  return {};
}

std::vector<double> capacities_of(const Topology& topology, const SimulationOptions& options) {
  std::vector<double> capacities;
  capacities.reserve(topology.links.size());
  for (const TopologyLink& link : topology.links) capacities.push_back(link.bandwidth == 0 ? options.default_bandwidth : link.bandwidth);
  return capacities;
}

Result<std::vector<Path>> paths_of(const StepGraph& graph, const Topology& topology, const Routes& routes,
                                   const std::vector<double>& capacities, const SimulationOptions& options) {
  std::vector<Path> paths;
  paths.reserve(graph.ports.size());
  for (const simulation::Port& port : graph.ports) {
    Path path{routes.route(port.from, port.to, simulation_variant(port.from, port.channel)), options.step_overhead};
    if (path.links.empty() && !routes.connected(port.from, port.to))
      return refuse(fmt::format("the schedule sends from rank {} to rank {}, but no links lead there", port.from, port.to));
    for (const LinkId link : path.links) {
      TORIC_TRY(check_link(topology, link, capacities[link]));
      path.latency += topology.links[link].latency;
    }
    paths.push_back(path);
  }
  return paths;
}

std::vector<double> count_link_bytes(const Schedule& schedule, const StepGraph& graph, const StepBytes& bytes,
                                     const std::vector<Path>& paths, std::size_t links) {
  std::vector<double> on_port(paths.size()), on_link(links);
  for (simulation::StepId id = 0; id < graph.steps(); ++id)
    if (const Step& step = step_of(schedule, graph, id); is_send(step.op)) on_port[graph.port[id]] += bytes.of(step);
  for (std::size_t port = 0; port < paths.size(); ++port)
    for (const LinkId link : paths[port].links) on_link[link] += on_port[port];
  return on_link;
}

void find_busiest(Simulation& simulation, const std::vector<double>& capacities) {
  double longest = 0;
  for (LinkId link = 0; link < simulation.link_bytes.size(); ++link) {
    const double bytes = simulation.link_bytes[link];
    if (bytes <= 0 || bytes / capacities[link] <= longest) continue;
    longest = bytes / capacities[link];
    simulation.busiest_link = link;
    simulation.busiest_bytes = bytes;
  }
  if (simulation.seconds > 0) simulation.busiest_busy_fraction = longest / simulation.seconds;
}

}  // namespace

std::uint32_t simulation_variant(Rank from, std::uint16_t channel) { return static_cast<std::uint32_t>(from) + channel; }

Result<Simulation> simulate(const Schedule& schedule, const Topology& topology, const Routes& routes, const SimulationOptions& options) {
  TORIC_TRY(check_options(options));
  if (schedule.ranks > 0 && static_cast<std::size_t>(schedule.ranks) > topology.ranks.size())
    return refuse(fmt::format("the schedule is for {} ranks, but the topology places {}", schedule.ranks, topology.ranks.size()));
  Result<StepGraph> graph = simulation::graph_of(schedule);
  if (!graph) return graph.status();
  const std::vector<double> capacities = capacities_of(topology, options);
  const Result<std::vector<Path>> paths = paths_of(*graph, topology, routes, capacities, options);
  if (!paths) return paths.status();
  const StepBytes bytes(schedule, options.bytes, options.element);

  Simulation result;
  result.link_bytes = count_link_bytes(schedule, *graph, bytes, *paths, topology.links.size());
  simulation::Run run(schedule, *std::move(graph), bytes, *paths, capacities, options);
  TORIC_TRY(run.to_the_end());
  result.seconds = run.seconds();
  result.events = run.events();
  result.timeline = run.take_timeline();
  find_busiest(result, capacities);
  return result;
}

}  // namespace toric
