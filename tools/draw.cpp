// `toric draw`: a schedule over simulated time, or one round of it as arrows on the machine.
#include "candidates.hpp"
#include "commands.hpp"
#include "toric/draw/draw_rounds.hpp"
#include "toric/draw/draw_timeline.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace {

using namespace toric;

struct Options {
  std::string collective = "all_reduce", algorithm = "ring", topology, file;
  std::uint64_t bytes = std::uint64_t{1} << 20;
  std::uint32_t pieces = 1;
  int round = 0;
};

[[noreturn]] void fail(std::string_view text) {
  fmt::print(stderr, "toric draw: {}\n", text);
  throw CLI::RuntimeError(1);
}

Schedule build(const Options& options, const tools::Machine& machine, Collective collective) {
  const Algorithm* algorithm = find_algorithm(options.algorithm);
  if (algorithm == nullptr) fail("there is no algorithm '" + options.algorithm + "'; see: toric algorithms");
  Request request;
  request.collective = collective;
  request.ranks = machine.ranks();
  request.root = is_rooted(collective) ? 0 : -1;
  request.bytes = options.bytes;
  request.topology = &machine.topology;
  request.shape = &machine.shape;
  request.pieces = options.pieces;
  Result<Schedule> schedule = build_schedule(*algorithm, request);
  if (!schedule.ok()) fail(schedule.status().text());
  return *std::move(schedule);
}

void run(const Options& options) {
  const std::optional<Collective> collective = collective_from(options.collective);
  if (!collective) fail("there is no collective '" + options.collective + "'");
  const Result<tools::Machine> machine = tools::open_machine(options.topology, options.file);
  if (!machine.ok()) fail(machine.status().text());
  const Schedule schedule = build(options, *machine, *collective);
  if (options.round > 0) {
    std::fputs(draw_rounds(schedule, machine->topology, machine->shape, options.round).c_str(), stdout);
    return;
  }
  SimulationOptions simulation;
  simulation.bytes = options.bytes;
  simulation.timeline = true;
  simulation.messages_per_port = options.pieces > 1 ? 1 : 0;
  const Routes routes(machine->topology, machine->shape);
  const Result<Simulation> simulated = simulate(schedule, machine->topology, routes, simulation);
  if (!simulated.ok()) fail(simulated.status().text());
  std::fputs(draw_timeline(schedule, *simulated).c_str(), stdout);
}

}  // namespace

void add_draw(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("draw", "Draw a schedule over simulated time, or one round of it on the machine (SVG)");
  command->add_option("--collective,-c", options->collective, "what it does")->capture_default_str();
  command->add_option("--algorithm,-a", options->algorithm, "how")->capture_default_str();
  tools::add_machine_options(*command, options->topology, options->file);
  command->add_option("--bytes", options->bytes, "of the full vector, as 16M")->transform(CLI::AsSizeValue(false))->capture_default_str();
  command->add_option("--pieces", options->pieces, "cut it into so many")->check(CLI::Range(1, 64))->capture_default_str();
  command->add_option("--round", options->round, "draw this round's messages on the machine instead, the first is 1")
      ->check(CLI::Range(1, 1 << 20));
  command->callback([options] {
    if (options->topology.empty() && options->file.empty()) fail("say on which machine: --topology SPEC or --from FILE");
    run(*options);
  });
}
