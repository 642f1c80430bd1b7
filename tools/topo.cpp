// `toric topo`: what this host consists of, and where ranks would run on it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "commands.hpp"
#include "toric/topology/discovery.hpp"
#include "toric/topology/render_tree.hpp"

namespace {

struct Options {
  int ranks = 0;
  std::string host;
};

void run(const Options& options) {
  const toric::Result<toric::Topology> topology = options.host.empty() ? toric::discover_host() : toric::describe_host(options.host);
  if (!topology.ok()) {
    std::fprintf(stderr, "toric topo: %s\n", std::string(topology.status().text()).c_str());
    throw CLI::RuntimeError(1);
  }
  const auto placements = toric::place_ranks(*topology, options.ranks);
  std::fputs(toric::render_tree(*topology, placements).c_str(), stdout);
  if (placements.empty()) return;
  if (placements.front().pinned) {
    std::printf("%d ranks, each bound to a CPU of its own\n", options.ranks);
  } else {
    std::printf("%d ranks on %zu CPUs: they share CPUs, so none is bound\n", options.ranks, topology->allowed_cpus.size());
  }
}

}  // namespace

void add_topo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("topo", "Show packages, NUMA nodes, caches and cores, and which CPU each rank gets");
  command->add_option("--ranks,-n", options->ranks, "place this many ranks")->check(CLI::Range(1, 1 << 20));
  command->add_option("--host", options->host, "an imaginary host instead of this one, like 'package:2 numa:1 l3:1 core:4 pu:2'");
  command->callback([options] { run(*options); });
}
