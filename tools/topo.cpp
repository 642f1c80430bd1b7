// `toric topo`: what a machine consists of (this one, a file's, or one in words), the shape that is read from it, and where
// ranks would run on this host.
#include "candidates.hpp"
#include "commands.hpp"
#include "toric/topology/discovery.hpp"
#include "toric/topology/render_dot.hpp"
#include "toric/topology/render_svg.hpp"
#include "toric/topology/render_tree.hpp"
#include "toric/topology/text_form.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

using namespace toric;

struct Options {
  int ranks = 0;
  std::string host, file, spec;
  std::string format = "tree";
};

[[noreturn]] void fail(std::string_view text) {
  fmt::print(stderr, "toric topo: {}\n", text);
  throw CLI::RuntimeError(1);
}

tools::Machine open(const Options& options) {
  if (!options.file.empty() || !options.spec.empty()) {
    Result<tools::Machine> machine = tools::open_machine(options.spec, options.file);
    if (!machine.ok()) fail(machine.status().text());
    return *std::move(machine);
  }
  Result<Topology> topology = options.host.empty() ? discover_host() : describe_host(options.host);
  if (!topology.ok()) fail(topology.status().text());
  tools::Machine machine;
  machine.topology = *std::move(topology);
  machine.topology.rank_everything();
  machine.shape = shape_of(machine.topology);
  return machine;
}

void print_tree(const tools::Machine& machine, const Options& options) {
  const auto placements = place_ranks(machine.topology, options.ranks);
  std::fputs(render_tree(machine.topology, placements).c_str(), stdout);
  if (placements.empty()) {
    fmt::print("shape {}{}{}\n", machine.shape.text(), machine.shape.note.empty() ? "" : ": ", machine.shape.note);
    return;
  }
  if (placements.front().pinned)
    fmt::print("{} ranks, each bound to a CPU of its own\n", options.ranks);
  else
    fmt::print("{} ranks on {} CPUs: they share CPUs, so none is bound\n", options.ranks, machine.topology.allowed_cpus.size());
}

void run(const Options& options) {
  const tools::Machine machine = open(options);
  if (options.format == "tree") return print_tree(machine, options);
  std::string text;
  if (options.format == "summary") text = summary(machine.topology, machine.shape.text()) + "\n";
  if (options.format == "json") text = to_json(machine.topology) + "\n";
  if (options.format == "text") text = topology_text(machine.topology);
  if (options.format == "dot") text = render_dot(machine.topology);
  if (options.format == "svg") text = render_svg(machine.topology, machine.shape);
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void add_topo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("topo", "Show a machine and its shape; this host's also with the CPU each rank gets");
  command->add_option("--ranks,-n", options->ranks, "place this many ranks on this host")->check(CLI::Range(1, 1 << 20));
  auto* host =
      command->add_option("--host", options->host, "an imaginary host instead of this one, like 'package:2 numa:1 l3:1 core:4 pu:2'");
  const tools::MachineOptions machine = tools::add_machine_options(*command, options->spec, options->file);
  host->excludes(machine.file)->excludes(machine.spec);
  command->add_option("--format", options->format, "tree, summary, text, json, dot or svg")
      ->check(CLI::IsMember({"tree", "summary", "text", "json", "dot", "svg"}))
      ->capture_default_str();
  command->callback([options] { run(*options); });
}
