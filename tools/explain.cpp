// `toric explain`: which algorithm a machine calls for, and why.
#include "candidates.hpp"
#include "commands.hpp"
#include "toric/simulate/bound.hpp"
#include "toric/topology/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace {

using namespace toric;

struct Options {
  std::string collective = "all_reduce", topology, file;
  std::uint64_t bytes = std::uint64_t{16} << 20;
};

[[noreturn]] void fail(std::string_view text) {
  fmt::print(stderr, "toric explain: {}\n", text);
  throw CLI::RuntimeError(1);
}

void print_candidates(const std::vector<tools::Candidate>& candidates, const Bound& bound) {
  fmt::print("\n{:<20} {:>12} {:>9} {:>7}  {}\n", "algorithm", "simulated", "of bound", "pieces", "busiest link");
  for (const tools::Candidate& candidate : candidates) {
    if (!candidate.left_out.empty()) {
      fmt::print("{:<20} {:>12} {:>9} {:>7}  {}\n", candidate.algorithm, "-", "-", "-", candidate.left_out);
      continue;
    }
    const std::string share = bound.seconds > 0 ? fmt::format("{:.3f}", bound.seconds / candidate.seconds) : "unknown";
    fmt::print("{:<20} {:>9.2f} us {:>9} {:>7}  {}\n", candidate.algorithm, candidate.seconds * 1e6, share, candidate.pieces,
               candidate.busiest_link);
  }
}

void print_choice(std::vector<tools::Candidate> candidates, const Bound& bound) {
  std::erase_if(candidates, [](const tools::Candidate& candidate) { return !candidate.left_out.empty(); });
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (candidates.empty()) return fmt::print("\nNothing that fits could be simulated.\n");
  const tools::Candidate& best = candidates.front();
  fmt::print("\nChoice: {} in {} pieces: {:.2f} us", best.algorithm, best.pieces, best.seconds * 1e6);
  if (bound.seconds > 0) fmt::print(", {:.1f} % of what no schedule can beat ({})", 100 * bound.seconds / best.seconds, bound.why);
  fmt::print(".\nReason: ");
  if (candidates.size() == 1)
    fmt::print("it is the only one that fits.\n");
  else
    fmt::print("the next, {}, takes {:.2f} times as long; it is held up by {}.\n", candidates[1].algorithm,
               candidates[1].seconds / best.seconds, candidates[1].busiest_link);
  fmt::print("{} fits {}.\n", best.algorithm, find_algorithm(best.algorithm)->when);
}

void run(const Options& options) {
  const std::optional<Collective> collective = collective_from(options.collective);
  if (!collective) fail("there is no collective '" + options.collective + "'; try all_reduce, all_gather, reduce_scatter, broadcast");
  const Result<tools::Machine> machine = tools::open_machine(options.topology, options.file);
  if (!machine.ok()) fail(machine.status().text());
  tools::Question question;
  question.collective = *collective;
  const auto rows = tools::simulate_all(*machine, question, {options.bytes});
  if (!rows.ok()) fail(rows.status().text());
  const Bound bound = lower_bound(machine->topology, *collective, options.bytes);
  fmt::print("{} of {} on {}\n", options.collective, bytes_text(options.bytes), options.file.empty() ? options.topology : options.file);
  fmt::print("shape: {} ({} ranks){}{}\n", machine->shape.text(), machine->ranks(), machine->shape.note.empty() ? "" : "; ",
             machine->shape.note);
  if (bound.seconds > 0) fmt::print("bound: {:.2f} us by {}\n", bound.seconds * 1e6, bound.why);
  print_candidates(rows->front(), bound);
  print_choice(rows->front(), bound);
}

}  // namespace

void add_explain(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "Say which algorithm a machine calls for, and why");
  command->add_option("--collective,-c", options->collective, "what is to be done")->capture_default_str();
  tools::add_machine_options(*command, options->topology, options->file);
  command->add_option("--bytes", options->bytes, "of the full vector, as 16M")->transform(CLI::AsSizeValue(false))->capture_default_str();
  command->callback([options] {
    if (options->topology.empty() && options->file.empty()) fail("say on which machine: --topology SPEC or --from FILE");
    run(*options);
  });
}
