// `toric algorithms`: what there is, what it costs at a number of ranks, and when it fits.
#include "toric/algorithms/registry.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "commands.hpp"
#include "toric/topology/grid_shape.hpp"

namespace {

void print_offer(const toric::Algorithm& algorithm, toric::Collective collective, toric::Rank ranks) {
  const std::vector<toric::Shape> tori = algorithm.follows_shape ? toric::torus_shapes(ranks) : std::vector<toric::Shape>();
  const toric::Request request{.collective = collective,
                               .ranks = ranks,
                               .root = toric::is_rooted(collective) ? 0 : -1,
                               .bytes = 1 << 20,
                               .shape = tori.empty() ? nullptr : &tori.back()};
  const toric::CostFormula formula = algorithm.formula(collective);
  if (algorithm.fits(request)) {
    const toric::Cost cost = algorithm.cost(request);
    fmt::print("  {:<16} {:>7g} {:>9.4g}   {:<22} {}\n", name_of(collective), cost.rounds, cost.bytes, formula.rounds, formula.bytes);
  } else {
    fmt::print("  {:<16} {:>7} {:>9}   {:<22} {}\n", name_of(collective), "-", "-", formula.rounds, formula.bytes);
  }
}

void run(toric::Rank ranks) {
  fmt::print(
      "p = {} ranks with one full-duplex port each; bytes: on the busiest port, in units of the whole vector;\n"
      "p': the largest power of two not above p, folded: where that is not p; a torus: the most even one of up to 3 dimensions d_i.\n",
      ranks);
  fmt::print("  {:<16} {:>7} {:>9}   {:<22} {}\n", "collective", "rounds", "bytes", "rounds =", "bytes =");
  for (const toric::Algorithm& algorithm : toric::algorithms()) {
    fmt::print("\n{}\n", algorithm.name);
    for (toric::Collective collective : algorithm.collectives) print_offer(algorithm, collective, ranks);
    fmt::print("  fits: {}\n  from: {}\n", algorithm.when, algorithm.reference);
  }
}

}  // namespace

void add_algorithms(CLI::App& app) {
  auto ranks = std::make_shared<toric::Rank>(8);
  CLI::App* command = app.add_subcommand("algorithms", "List algorithms: collectives, rounds, bytes on the busiest port, when they fit");
  command->add_option("--ranks,-n", *ranks, "costs for this many ranks")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  command->callback([ranks] { run(*ranks); });
}
