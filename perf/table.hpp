// nccl-tests' table, to the column.
#pragma once

#include "measure.hpp"
#include "options.hpp"

#include <string>

namespace toric::perf {

/// Two, one or no decimals, whichever first fits `width`, else exponent form.
[[nodiscard]] std::string number(double value, int width);

struct Device {
  Rank rank;
  int pid, cpu;
  std::string host;
};

[[nodiscard]] std::string parameter_lines(const Options& options);
[[nodiscard]] std::string device_line(const Device& device);
[[nodiscard]] std::string header(const Options& options);
/// `best`: this row's algorithm was the fastest of its size.
[[nodiscard]] std::string row_line(const Options& options, const Row& row, bool best);

struct Totals {
  std::uint64_t wrong = 0;
  double bandwidth_sum = 0;
  std::uint64_t halves = 0;
  bool checked = false;
  void add(const Row& row);
};
[[nodiscard]] std::string footer(const Options& options, const Totals& totals);

}  // namespace toric::perf
