// The command line of toric-compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace toric::compare {

struct Options {
  std::uint64_t min_bytes = 4, max_bytes = 64 << 20;
  double factor = 4;
  double max_seconds = 120, min_seconds = 10;
  std::size_t blocks = 5;          // clean ones wanted per size and regime
  double block_milliseconds = 2;   // of each side
  double split_microseconds = 12;  // between near and far, until the probes show two groups
  bool huge_pages = false;
  int processes = 0;  // --np: start them with mpirun
  [[nodiscard]] std::vector<std::uint64_t> sizes() const;
};

struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;  // when there are no options
};
[[nodiscard]] Parsed parse(int argc, const char* const* argv);

/// What starts `processes` ranks of this program with the same options, without --np. `spare_cores`: each rank can have
/// a core of its own.
[[nodiscard]] std::vector<std::string> launch_line(int argc, const char* const* argv, const std::string& program, int processes,
                                                   bool spare_cores, bool as_root);

}  // namespace toric::compare
