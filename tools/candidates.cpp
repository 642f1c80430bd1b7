#include "candidates.hpp"

#include "toric/topology/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace toric::tools {

namespace {

Request request_for(const Machine& machine, const Question& question, std::uint64_t bytes, std::uint32_t pieces) {
  Request request;
  request.collective = question.collective;
  request.ranks = machine.ranks();
  request.root = is_rooted(question.collective) ? 0 : -1;
  request.bytes = bytes;
  request.topology = &machine.topology;
  request.shape = &machine.shape;
  request.pieces = pieces;
  return request;
}

bool is_asked_for(const Question& question, const Algorithm& algorithm) {
  return question.algorithms.empty() ||
         std::find(question.algorithms.begin(), question.algorithms.end(), algorithm.name) != question.algorithms.end();
}

/// Messages grow with the ranks squared for some: what is too large is known before it is built.
double expected_steps(const Algorithm& algorithm, const Request& request) {
  const double ranks = request.ranks;
  const bool all_to_all = algorithm.name == "direct" || algorithm.name == "two_shot";
  return 2 * ranks * request.pieces * (all_to_all ? 2 * ranks : algorithm.cost(request).rounds);
}

std::uint64_t steps_of(const Schedule& schedule) {
  std::uint64_t steps = 0;
  for (const Program& program : schedule.programs) steps += program.steps.size();
  return steps;
}

/// One algorithm cut into one number of pieces, at every size.
Status simulate_one(const Machine& machine, const Routes& routes, const Question& question, const Schedule& schedule, std::uint32_t pieces,
                    const std::vector<std::uint64_t>& sizes, std::vector<Candidate>& row) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    SimulationOptions options = question.options;
    options.bytes = sizes[i];
    options.messages_per_port = pieces > 1 ? 1 : 0;  // the earliest piece first, as transports with a queue a port have it
    const Result<Simulation> simulated = simulate(schedule, machine.topology, routes, options);
    if (!simulated.ok()) return simulated.status();
    Candidate& best = row[i];
    if (best.left_out.empty() && best.seconds > 0 && best.seconds <= simulated->seconds) continue;
    best.left_out.clear();
    best.pieces = pieces;
    best.seconds = simulated->seconds;
    best.busiest_link = simulated->busiest_link == no_link ? "none" : link_text(machine.topology, simulated->busiest_link);
  }
  return {};
}

}  // namespace

MachineOptions add_machine_options(CLI::App& command, std::string& spec, std::string& file) {
  MachineOptions options{};
  options.spec = command.add_option("--topology,-t", spec, "a machine in words, such as torus:4x4x8:50GB/s:1us or dgx-h100*16");
  options.file = command.add_option("--from", file, "a file: Toric's text form, NCCL's or hwloc's XML, nvidia-smi topo -m");
  options.spec->excludes(options.file);
  return options;
}

Result<Machine> open_machine(const std::string& spec, const std::string& file) {
  Machine machine;
  if (!file.empty()) {
    Result<Imported> imported = load_topology(file);
    if (!imported.ok()) return imported.status();
    for (const std::string& warning : imported->warnings) fmt::print(stderr, "toric: {}\n", warning);
    machine.topology = std::move(imported->topology);
  } else {
    Result<Topology> made = topology_from_spec(spec);
    if (!made.ok()) return made.status();
    machine.topology = *std::move(made);
  }
  if (machine.topology.ranks.empty()) machine.topology.rank_everything();
  if (machine.topology.ranks.empty()) return Status(Code::invalid_argument, "there is no device or core in it that could run a rank");
  machine.shape = shape_of(machine.topology);
  return machine;
}

Result<std::vector<std::vector<Candidate>>> simulate_all(const Machine& machine, const Question& question,
                                                         const std::vector<std::uint64_t>& sizes) {
  const Routes routes(machine.topology, machine.shape);
  std::vector<std::vector<Candidate>> rows(sizes.size());
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.offers(question.collective) || !is_asked_for(question, algorithm)) continue;
    std::vector<Candidate> row(sizes.size(), Candidate{std::string(algorithm.name), 1, 0, "", "does not fit"});
    for (const std::uint32_t pieces : question.pieces) {
      const Request request = request_for(machine, question, sizes.back(), pieces);
      if (!algorithm.fits(request)) continue;
      std::string too_large;
      if (const double steps = expected_steps(algorithm, request); steps > 4.0 * static_cast<double>(question.most_steps))
        too_large = fmt::format("about {:.0f} million steps", steps / 1e6);
      Result<Schedule> schedule = too_large.empty() ? build_schedule(algorithm, request) : Result<Schedule>(Schedule());
      if (!schedule.ok()) return schedule.status();
      if (too_large.empty() && steps_of(*schedule) > question.most_steps)
        too_large = fmt::format("{:.1f} million steps", static_cast<double>(steps_of(*schedule)) / 1e6);
      if (!too_large.empty()) {
        for (Candidate& candidate : row)
          if (!candidate.left_out.empty()) candidate.left_out = too_large + ", more than are simulated";
        continue;
      }
      TORIC_TRY(simulate_one(machine, routes, question, *schedule, pieces, sizes, row));
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) rows[i].push_back(row[i]);
  }
  return rows;
}

std::size_t fastest(const std::vector<Candidate>& candidates) {
  std::size_t best = candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].left_out.empty() && (best == candidates.size() || candidates[i].seconds < candidates[best].seconds)) best = i;
  return best;
}

std::string link_text(const Topology& topology, LinkId link) {
  const TopologyLink& found = topology.links[link];
  return topology.node(found.from).name + " -> " + topology.node(found.to).name;
}

}  // namespace toric::tools
