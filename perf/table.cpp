#include "table.hpp"

#include "toric/toric.h"

#include <fmt/format.h>

namespace toric::perf {

namespace {

constexpr const char* nccl_tests_version = "2.19.6";  // whose table and flags these are

std::string half_text(const Options& o, const Half& half) {
  std::string text = fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", number(half.time_us, 7), number(half.algorithm_bandwidth, 6),
                                 number(half.bus_bandwidth, 6), half.wrong ? fmt::format("{:g}", static_cast<double>(*half.wrong)) : "N/A");
  if (o.per_iteration && half.iterations) {
    const IterationStatistics& s = *half.iterations;
    for (const double value : {s.min_us, s.max_us, s.p50_us, s.p99_us, s.cv_percent}) text += fmt::format("  {:>7}", number(value, 7));
  }
  return text;
}

std::string half_names(const Options& o, bool units) {
  std::string text = units ? fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "")
                           : fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  if (!o.per_iteration) return text;
  for (const char* name : {"i_min", "i_max", "i_p50", "i_p99", "i_cv%"})
    text += fmt::format("  {:>7}", !units ? name : std::string(name) == "i_cv%" ? "" : "(us)");
  return text;
}

}  // namespace

std::string number(double value, int width) {
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (static_cast<int>(text.size()) <= width) return text;
  }
  for (int decimals = 2; decimals >= 0; --decimals) {
    std::string text = fmt::format("{:.{}e}", value, decimals);
    if (static_cast<int>(text.size()) <= width || decimals == 0) return text;
  }
  return {};
}

std::string parameter_lines(const Options& o) {
  int version = 0;
  toricGetVersion(&version);
  std::string text = fmt::format("# toric version {}.{}.{} (table of nccl-tests {}) toric-headers={} toric-library={}\n", TORIC_MAJOR,
                                 TORIC_MINOR, TORIC_PATCH, nccl_tests_version, TORIC_VERSION_CODE, version);
  text += fmt::format("# Collective test starting: {}\n", o.program);
  const std::string step = o.step_factor > 0 ? fmt::format("{:g}(factor)", o.step_factor) : fmt::format("{}(bytes)", o.step_bytes);
  text += fmt::format(
      "# nThread {} nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} validation: {} graph: 0 unalign: "
      "{}\n",
      o.threads, o.min_bytes, o.max_bytes, step, o.warmup, o.iterations, o.aggregate, o.checks, o.unalign);
  if (o.blocking == 1) text += "# Blocking Enabled: barrier after each call\n";
  if (o.blocking == 2) text += "# Blocking Enabled: wait after each call\n";
  if (o.blocking == 3) text += "# Blocking Enabled: barrier after each iteration, not timed\n";
  if (o.per_iteration) text += "# Per-iteration timing: each iteration's slowest rank\n";
  return text + "#\n";
}

std::string device_line(const Device& d) {
  return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [cpu {}] host memory\n", d.rank, 0, d.pid, d.host, 0, d.cpu);
}

std::string header(const Options& o) {
  const std::size_t half = half_names(o, false).size();
  // 10 + 12 + 8 + 6 + 6 and two blanks between; the first two columns of a data line stand under "# ".
  std::string text =
      fmt::format("#\n# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{:^{}}{:^{}}\n", "", "", "", "", "", "out-of-place", half, "in-place", half);
  text += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}\n", "size", "count", "type", "redop", "root", half_names(o, false),
                      half_names(o, false), o.algorithm.empty() ? "" : "  algorithm");
  text +=
      fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "", "", half_names(o, true), half_names(o, true));
  return text;
}

std::string row_line(const Options& o, const Row& row, bool best) {
  std::string text =
      fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.size, row.count, o.what == Collective::barrier ? "none" : name_of(row.type),
                  is_reduction(o.what) && o.what != Collective::barrier ? name_of(row.op) : "none", row.root);
  text += half_text(o, row.halves[0]) + half_text(o, row.halves[1]);
  if (!o.algorithm.empty()) text += fmt::format("  {}{}", row.algorithm, best ? " *" : "");
  return text + "\n";
}

void Totals::add(const Row& row) {
  for (const Half& half : row.halves) {
    bandwidth_sum += half.bus_bandwidth;
    ++halves;
    wrong += half.wrong.value_or(0);
    checked |= half.wrong.has_value();
  }
}

std::string footer(const Options& o, const Totals& t) {
  std::string text = fmt::format("# Out of bounds values : {} {}\n", t.wrong, t.wrong == 0 ? "OK" : "FAILED");
  text += fmt::format("# Avg bus bandwidth    : {:g} \n#\n", t.halves == 0 ? 0.0 : t.bandwidth_sum / static_cast<double>(t.halves));
  return text + fmt::format("# Collective test concluded: {}\n", o.program);
}

}  // namespace toric::perf
