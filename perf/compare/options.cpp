#include "options.hpp"

#include "../options.hpp"

#include <CLI/CLI.hpp>

#include <string_view>

namespace toric::compare {

std::vector<std::uint64_t> Options::sizes() const {
  std::vector<std::uint64_t> all;
  for (auto size = static_cast<double>(min_bytes); size <= static_cast<double>(max_bytes); size *= factor)
    all.push_back(static_cast<std::uint64_t>(size) / sizeof(float) * sizeof(float));
  return all;
}

Parsed parse(int argc, const char* const* argv) {
  Options options;
  CLI::App app{
      "Toric's all-reduce and MPI_Allreduce take turns on the same buffers and cores; figures are told apart by the machine's regime.",
      "toric-compare"};
  const auto size = [&app](const char* flags, std::uint64_t& into, const char* text) {
    app.add_option_function<std::string>(
        flags,
        [&into, flags](const std::string& given) {
          const auto value = perf::parse_size(given);
          if (!value) throw CLI::ValidationError(flags, given + " is not a size; write for instance 8, 4K or 64M");
          into = *value;
        },
        text);
  };
  size("-b,--minbytes", options.min_bytes, "smallest size (4)");
  size("-e,--maxbytes", options.max_bytes, "largest size (64M)");
  app.add_option("-f,--stepfactor", options.factor, "factor from one size to the next (4)")->check(CLI::Range(1.01, 1e9));
  app.add_option("--np", options.processes, "start that many ranks with mpirun, bound to cores")->check(CLI::Range(2, 1024));
  app.add_option("--max-seconds", options.max_seconds, "end after that long whatever has been seen (120)")->check(CLI::PositiveNumber);
  app.add_option("--min-seconds", options.min_seconds, "measure at least that long, for both regimes to appear (10)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--blocks", options.blocks, "clean blocks wanted per size and regime (5)")->check(CLI::Range(1, 100000));
  app.add_option("--block-ms", options.block_milliseconds, "milliseconds of each side in a block (2)")->check(CLI::PositiveNumber);
  app.add_option("--split-us", options.split_microseconds,
                 "64 KiB exchange that parts near from far unless the probes show two groups (12)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--huge-pages", options.huge_pages, "ask for huge pages under the buffers");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, app.exit(error)};
  }
  if (options.min_bytes < sizeof(float) || options.sizes().empty()) {
    std::fputs("toric-compare: no size to measure: -b must be at least 4 and not above -e\n", stderr);
    return {std::nullopt, 2};
  }
  return {options, 0};
}

std::vector<std::string> launch_line(int argc, const char* const* argv, const std::string& program, int processes, bool spare_cores,
                                     bool as_root) {
  std::vector<std::string> line = {"mpirun", "-np", std::to_string(processes)};
  if (spare_cores) {
    line.insert(line.end(), {"--bind-to", "core"});
  } else {
    line.insert(line.end(), {"--bind-to", "none", "--oversubscribe"});
  }
  if (as_root) line.push_back("--allow-run-as-root");
  line.push_back(program);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--np")
      ++i;
    else if (!argument.starts_with("--np="))
      line.emplace_back(argument);
  }
  return line;
}

}  // namespace toric::compare
