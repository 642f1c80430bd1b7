// The algorithms that fit a topology, each with its simulated time: what `toric simulate` and `toric explain` choose from.
#pragma once

#include "toric/algorithms/registry.hpp"
#include "toric/simulate/simulator.hpp"
#include "toric/topology/routes.hpp"
#include "toric/topology/shape.hpp"
#include "toric/topology/topology.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace toric::tools {

/// A topology with what is read from it.
struct Machine {
  Topology topology;
  Shape shape;
  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(topology.ranks.size()); }
};

/// --topology and --from, of which a command takes one.
struct MachineOptions {
  CLI::Option* spec;
  CLI::Option* file;
};
MachineOptions add_machine_options(CLI::App& command, std::string& spec, std::string& file);

/// From a spec or, where `file` is not empty, a file. Warnings go to stderr.
Result<Machine> open_machine(const std::string& spec, const std::string& file);

struct Candidate {
  std::string algorithm;
  std::uint32_t pieces = 1;
  double seconds = 0;
  std::string busiest_link;  // "gpu 3 -> nvswitch 0"
  std::string left_out;      // why it was not simulated; empty: it was
};

struct Question {
  Collective collective = Collective::all_reduce;
  std::vector<std::string> algorithms;             // empty: all that fit
  std::vector<std::uint32_t> pieces = {1, 4, 16};  // the fastest is kept
  SimulationOptions options;                       // bytes are set by the call
  std::uint64_t most_steps = 12'000'000;           // larger schedules are left out
};

/// Schedules are built once and simulated at each size: one row of candidates a size, algorithms in the registry's order.
Result<std::vector<std::vector<Candidate>>> simulate_all(const Machine& machine, const Question& question,
                                                         const std::vector<std::uint64_t>& sizes);

/// Index of the fastest that was simulated; the number of candidates: none was.
[[nodiscard]] std::size_t fastest(const std::vector<Candidate>& candidates);

[[nodiscard]] std::string link_text(const Topology& topology, LinkId link);

}  // namespace toric::tools
