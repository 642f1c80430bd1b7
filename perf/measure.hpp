// One row of the table, measured on one rank: every rank calls the same functions in the same order.
#pragma once

#include "options.hpp"
#include "toric/toric.h"

#include <optional>
#include <string>
#include <vector>

namespace toric::perf {

/// One communicator of this rank. Errors are kept as text; the first one ends the run.
struct Seat {
  toricComm_t comm = nullptr;
  Rank rank = 0, ranks = 1;
  std::string algorithm;  // forced on this communicator; empty: the library's choice
};

struct IterationStatistics {
  double min_us = 0, max_us = 0, p50_us = 0, p99_us = 0, cv_percent = 0;
};

/// One half of a row: out of place or in place.
struct Half {
  double time_us = 0, algorithm_bandwidth = 0, bus_bandwidth = 0;  // GB/s
  std::optional<std::uint64_t> wrong;                              // nullopt: not checked
  std::optional<IterationStatistics> iterations;
};

struct Row {
  std::uint64_t size = 0, count = 0;
  DataType type = DataType::float32;
  RedOp op = RedOp::sum;
  Rank root = -1;
  std::string algorithm;
  Half halves[2];
};

/// The count argument for a row of `bytes`, by nccl-tests' rounding, and the row's size column.
struct RowShape {
  std::uint64_t count, size;
};
[[nodiscard]] RowShape row_shape(Collective what, DataType type, Rank ranks, std::uint64_t bytes);

/// GB/s as nccl-tests defines them, for a call with that count argument taking `seconds`.
struct Bandwidth {
  double algorithm, bus;
};
[[nodiscard]] Bandwidth bandwidth(Collective what, std::uint64_t count, std::size_t element, Rank ranks, double seconds);

[[nodiscard]] IterationStatistics statistics(std::vector<double> microseconds);

/// Buffers of one rank for the largest row; both shifted by --unalign elements.
class Buffers {
 public:
  Buffers(const Options& options, Rank ranks);
  [[nodiscard]] std::byte* send(std::size_t shift) { return send_.data() + align_ + shift; }
  [[nodiscard]] std::byte* receive(std::size_t shift) { return receive_.data() + align_ + shift; }

 private:
  std::vector<std::byte> send_, receive_;
  std::size_t align_ = 0;
};

/// Measures one row. Throws std::runtime_error with the library's text when a call fails.
Row measure(const Options& options, const Seat& seat, Buffers& buffers, DataType type, RedOp op, Rank root, std::uint64_t bytes);

/// Untimed calls of that size.
void warm_up(const Options& options, const Seat& seat, Buffers& buffers, std::uint64_t bytes);

/// Throws std::runtime_error with the library's last error unless `result` is success.
void require(toricResult_t result, const Seat& seat);

}  // namespace toric::perf
