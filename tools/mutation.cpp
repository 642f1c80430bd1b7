#include "mutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "toric/check/mutants.hpp"

namespace toric::tools {

namespace {

constexpr std::size_t holes_shown = 10;

std::uint64_t caught(const MutationReport& report) {
  std::uint64_t sum = 0;
  for (std::uint64_t count : report.caught) sum += count;
  return sum;
}

void print_rows(const Cases& cases, const std::vector<MutationReport>& reports) {
  fmt::print("{:<20} {:<16} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "algorithm", "collective", "possible", "tried", "caught", "cleared",
             "not cleared");
  for (std::size_t i = 0; i < cases.rows.size(); ++i) {
    const MutationReport& report = reports[i];
    fmt::print("{:<20} {:<16} {:>10} {:>10} {:>10} {:>10} {:>12}\n", cases.rows[i].algorithm->name, name_of(cases.rows[i].collective),
               report.possible, report.tried, caught(report), report.cleared, report.not_cleared.size());
  }
}

void print_reasons(const MutationReport& total, double seconds) {
  fmt::print("\ncaught by reason\n");
  for (std::size_t i = 0; i < fault_count; ++i)
    if (total.caught[i] != 0) fmt::print("  {:<16} {:>10}\n", name_of(static_cast<Fault>(i)), total.caught[i]);
  fmt::print("surviving            {:>8}\n", total.cleared + total.not_cleared.size());
  fmt::print("  {:<16} {:>10}  right in {} random interleavings each, at the schedule's capacity and one more, apart and in place\n",
             "cleared", total.cleared, interleavings_to_clear);
  fmt::print("  {:<16} {:>10}\n", "not cleared", total.not_cleared.size());
  fmt::print("{} of {} mutants tried in {:.1f} s\n", total.tried, total.possible, seconds);
}

}  // namespace

Status run_mutation(const Cases& cases, unsigned threads, std::uint64_t seed, std::size_t mutants) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<MutationReport> reports(cases.rows.size());
  std::mutex mutex;
  TORIC_TRY(run_cases(cases, threads, [&](const Case& one, const Schedule& schedule) {
    MutationReport report = mutate(schedule, seed, mutants == 0 ? std::numeric_limits<std::uint64_t>::max() : mutants);
    for (std::string& hole : report.not_cleared) hole = describe(one) + ": " + hole;
    const std::lock_guard lock(mutex);
    reports[one.row] += report;
    return Status();
  }));
  MutationReport total;
  for (const MutationReport& report : reports) total += report;
  print_rows(cases, reports);
  print_reasons(total, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  if (total.ok()) return {};
  std::string text = fmt::format("{} mutants are wrong and were not noticed", total.not_cleared.size());
  for (std::size_t i = 0; i < std::min(holes_shown, total.not_cleared.size()); ++i) text += "\n  " + total.not_cleared[i];
  return {Code::internal_error, text};
}

}  // namespace toric::tools
