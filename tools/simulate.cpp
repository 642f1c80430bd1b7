// `toric simulate`: how long collectives would take on a machine that need not be there, algorithms side by side.
#include "candidates.hpp"
#include "commands.hpp"
#include "toric/simulate/bound.hpp"
#include "toric/topology/quantity.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <memory>

namespace {

using namespace toric;

struct Options {
  std::string collective = "all_reduce", topology, file, json;
  std::uint64_t first = 1024, last = std::uint64_t{1} << 30;
  double factor = 4;
  std::vector<std::string> algorithms = {"all"};
  std::vector<std::uint32_t> pieces = {1, 4, 16};
  double overhead_us = 0;
};

[[noreturn]] void fail(std::string_view text) {
  fmt::print(stderr, "toric simulate: {}\n", text);
  throw CLI::RuntimeError(1);
}

std::vector<std::uint64_t> sizes_of(const Options& options) {
  std::vector<std::uint64_t> sizes;
  for (auto size = static_cast<double>(options.first); size <= static_cast<double>(options.last); size *= options.factor)
    sizes.push_back(static_cast<std::uint64_t>(size));
  return sizes;
}

std::string time_text(double seconds) { return fmt::format("{:.2f}", seconds * 1e6); }

void print_table(const tools::Machine& machine, const Options& options, Collective collective, const std::vector<std::uint64_t>& sizes,
                 const std::vector<std::vector<tools::Candidate>>& rows) {
  fmt::print("# {} on {}, {} ranks, shape {}; times in us, * the fastest, in brackets the pieces\n", options.collective,
             options.file.empty() ? options.topology : options.file, machine.ranks(), machine.shape.text());
  if (!machine.shape.note.empty()) fmt::print("# {}\n", machine.shape.note);
  fmt::print("{:>10} {:>12}", "bytes", "bound");
  for (const tools::Candidate& candidate : rows.front()) fmt::print(" {:>20}", candidate.algorithm);
  fmt::print("\n");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bound bound = lower_bound(machine.topology, collective, sizes[i]);
    fmt::print("{:>10} {:>12}", bytes_text(sizes[i]), bound.seconds > 0 ? time_text(bound.seconds) : "unknown");
    const std::size_t best = tools::fastest(rows[i]);
    for (std::size_t c = 0; c < rows[i].size(); ++c) {
      const tools::Candidate& candidate = rows[i][c];
      fmt::print(" {:>20}", candidate.left_out.empty()
                                ? fmt::format("{}{} ({})", c == best ? "*" : "", time_text(candidate.seconds), candidate.pieces)
                                : "-");
    }
    fmt::print("\n");
  }
  for (const tools::Candidate& candidate : rows.back())
    if (!candidate.left_out.empty()) fmt::print("# {}: {}\n", candidate.algorithm, candidate.left_out);
  const std::size_t best = tools::fastest(rows.back());
  if (best < rows.back().size())
    fmt::print("# at {} the busiest link of {} is {}; bound: {}\n", bytes_text(sizes.back()), rows.back()[best].algorithm,
               rows.back()[best].busiest_link, lower_bound(machine.topology, collective, sizes.back()).why);
}

void write_json(const tools::Machine& machine, const Options& options, Collective collective, const std::vector<std::uint64_t>& sizes,
                const std::vector<std::vector<tools::Candidate>>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (const tools::Candidate& candidate : rows[i])
      if (candidate.left_out.empty())
        list.push_back({{"topology", options.file.empty() ? options.topology : options.file},
                        {"collective", options.collective},
                        {"algorithm", candidate.algorithm},
                        {"pieces", candidate.pieces},
                        {"bytes", sizes[i]},
                        {"seconds", candidate.seconds},
                        {"bound_seconds", lower_bound(machine.topology, collective, sizes[i]).seconds},
                        {"busiest_link", candidate.busiest_link}});
  std::ofstream out(options.json);
  out << list.dump(2) << "\n";
  if (!out.flush()) fail("cannot write " + options.json);
}

void run(const Options& options) {
  const std::optional<Collective> collective = collective_from(options.collective);
  if (!collective) fail("there is no collective '" + options.collective + "'; try all_reduce, all_gather, reduce_scatter, broadcast");
  const Result<tools::Machine> machine = tools::open_machine(options.topology, options.file);
  if (!machine.ok()) fail(machine.status().text());
  tools::Question question;
  question.collective = *collective;
  question.pieces = options.pieces;
  question.options.step_overhead = options.overhead_us * 1e-6;
  if (options.algorithms != std::vector<std::string>{"all"}) question.algorithms = options.algorithms;
  for (const std::string& name : question.algorithms)
    if (find_algorithm(name) == nullptr) fail("there is no algorithm '" + name + "'; see: toric algorithms");
  const std::vector<std::uint64_t> sizes = sizes_of(options);
  if (sizes.empty()) fail("there is no size from -b to -e");
  const auto rows = tools::simulate_all(*machine, question, sizes);
  if (!rows.ok()) fail(rows.status().text());
  if (rows->front().empty()) fail("no algorithm offers " + options.collective + " here");
  print_table(*machine, options, *collective, sizes, *rows);
  if (!options.json.empty()) write_json(*machine, options, *collective, sizes, *rows);
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("simulate", "Time collectives on a modelled machine, algorithms side by side");
  command->add_option("--collective,-c", options->collective, "what to time")->capture_default_str();
  tools::add_machine_options(*command, options->topology, options->file);
  command->add_option("-b", options->first, "first size, as 1K")->transform(CLI::AsSizeValue(false))->capture_default_str();
  command->add_option("-e", options->last, "last size")->transform(CLI::AsSizeValue(false))->capture_default_str();
  command->add_option("-f", options->factor, "factor between sizes")->check(CLI::Range(1.01, 1e9))->capture_default_str();
  command->add_option("--algorithm,-a", options->algorithms, "names, or all")->delimiter(',')->capture_default_str();
  command->add_option("--pieces", options->pieces, "numbers of pieces to try; the fastest counts")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--overhead-us", options->overhead_us, "of each message")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_option("--json", options->json, "write the times to this file too");
  command->callback([options] {
    if (options->topology.empty() && options->file.empty()) fail("say on which machine: --topology SPEC or --from FILE");
    run(*options);
  });
}
