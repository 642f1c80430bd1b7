// `toric verify`: proves every schedule the registry can build, or one from a file; with --mutate, tests the verifier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "campaign.hpp"
#include "commands.hpp"
#include "mutation.hpp"
#include "toric/check/verifier.hpp"
#include "toric/ir/text_form.hpp"

namespace {

using namespace toric;
using namespace toric::tools;

struct Options {
  std::string ranks, pieces, algorithm, collective, file;
  bool mutate = false;
  std::uint64_t seed = 1;
  std::size_t mutants = 50;
  unsigned threads = 0;
};

[[noreturn]] void fail(const Status& status) {
  std::fflush(stdout);
  fmt::print(stderr, "toric verify: {}\n", status.text());
  throw CLI::RuntimeError(1);
}

Status proven(const Schedule& schedule, const std::string& what) {
  const Verdict verdict = verify_all(schedule);
  if (verdict.ok()) return {};
  return {Code::internal_error, fmt::format("{}: {}: {}", what, name_of(verdict.fault), verdict.text)};
}

void verify_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) fail({Code::system_error, fmt::format("cannot read '{}'", path)});
  const Result<Schedule> schedule = from_text(std::string(std::istreambuf_iterator<char>(in), {}));
  if (!schedule.ok()) fail({schedule.status().code(), fmt::format("{}: {}", path, schedule.status().text())});
  if (const Status status = proven(*schedule, path); !status.ok()) fail(status);
  fmt::print("{}: {} of {} ranks, {} chunks: verified\n", path, name_of(schedule->what), schedule->ranks, schedule->chunks);
}

void print_table(const Cases& cases, const std::vector<std::size_t>& verified, double seconds) {
  std::size_t total = 0;
  fmt::print("{:<20} {:<16} {:>10} {:>12}\n", "algorithm", "collective", "schedules", "do not fit");
  for (std::size_t i = 0; i < cases.rows.size(); ++i) {
    const Row& row = cases.rows[i];
    fmt::print("{:<20} {:<16} {:>10} {:>12}\n", row.algorithm->name, name_of(row.collective), verified[i], row.unfit);
    total += verified[i];
  }
  fmt::print("{} schedules, each with input and output apart and in place, in {:.1f} s\n", total, seconds);
}

void verify_registry(const Options& options, const Cases& cases) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::size_t> verified(cases.rows.size());
  std::mutex mutex;
  const Status status = run_cases(cases, options.threads, [&](const Case& one, const Schedule& schedule) {
    TORIC_TRY(proven(schedule, describe(one)));
    const std::lock_guard lock(mutex);
    ++verified[one.row];
    return Status();
  });
  print_table(cases, verified, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (!status.ok()) fail(status);
}

Result<Cases> cases_of(const Options& options) {
  // Mutants of small schedules say as much as those of large ones, and each schedule has thousands.
  const Result<std::vector<std::uint32_t>> ranks = parse_numbers(!options.ranks.empty() ? options.ranks : options.mutate ? "2-5" : "1-64");
  const Result<std::vector<std::uint32_t>> pieces = parse_numbers(!options.pieces.empty() ? options.pieces
                                                                  : options.mutate        ? "1,2"
                                                                                          : "1,4");
  if (!ranks.ok()) return ranks.status();
  if (!pieces.ok()) return pieces.status();
  return select_cases({.ranks = *ranks, .pieces = *pieces, .algorithm = options.algorithm, .collective = options.collective});
}

void run(const Options& options) {
  if (!options.file.empty()) return verify_file(options.file);
  const Result<Cases> cases = cases_of(options);
  if (!cases.ok()) fail(cases.status());
  if (!options.mutate) return verify_registry(options, *cases);
  if (const Status status = run_mutation(*cases, options.threads, options.seed, options.mutants); !status.ok()) fail(status);
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("verify", "Prove every schedule: paired, free of deadlock and races, and right");
  command->add_option("--ranks,-n", options->ranks, "rank counts, like 1-64 or 2,4,8 (default 1-64; with --mutate 2-5)");
  command->add_option("--algorithm,-a", options->algorithm, "this one alone");
  command->add_option("--collective,-c", options->collective, "this one alone");
  command->add_option("--pieces", options->pieces, "piece counts (default 1,4; with --mutate 1,2)");
  CLI::Option* file = command->add_option("--file,-f", options->file, "verify the schedule in this text file instead");
  command->add_flag("--mutate", options->mutate, "test the verifier: break schedules one field at a time, and see that it notices")
      ->excludes(file);
  command->add_option("--mutants", options->mutants, "with --mutate: at most this many of each schedule, drawn at random (0: all)")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "of what is drawn at random")->capture_default_str();
  command->add_option("--threads,-t", options->threads, "0: one a core")->capture_default_str();
  command->callback([options] { run(*options); });
}
