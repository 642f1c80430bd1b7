// The command line of the perf programs: nccl-tests' flags, and what Toric adds.
#pragma once

#include "toric/base.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toric::perf {

/// What -o can name; pre_mul_sum is written mulsum.
struct Options {
  Collective what = Collective::all_reduce;
  std::string program;
  std::uint64_t min_bytes = 32 << 20, max_bytes = 32 << 20, step_bytes = 1 << 20;
  double step_factor = 0;  // 0: additive steps
  int iterations = 20, warmup = 1, aggregate = 1, checks = 1, cycles = 1, blocking = 0;
  std::vector<DataType> types{DataType::float32};
  std::vector<RedOp> ops{RedOp::sum};
  int root = 0;
  bool all_roots = false;
  bool per_iteration = false;
  std::uint64_t unalign = 0;  // elements
  double timeout_seconds = 0;
  int processes = 0;  // --np: start that many here; 0: this process is one rank (or --threads ranks)
  int threads = 1;
  std::string algorithm;  // empty: the library chooses; "all": side by side
};

struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;  // when there are no options: help was printed (0) or the line was refused
};

/// `program` decides the collective: all_reduce_perf and its siblings. Prints help to stdout, refusals to stderr.
Parsed parse(int argc, const char* const* argv);

/// "8", "4K", "1G": powers of 1024 in either case. nullopt when it is not such a size.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The sizes of a sweep, in order.
std::vector<std::uint64_t> sizes_of(const Options& options);

}  // namespace toric::perf
