#include "options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace toric::perf {

namespace {

struct Refused {
  const char* flag;
  const char* why;
};

// Flags of nccl-tests that mean nothing here (yet): refused by name, so that a script's wish is never silently dropped.
constexpr Refused refused[] = {
    {"-p,--parallel_init", "ranks always start in parallel"},
    {"-y,--stream_null", "calls on host memory have no stream"},
    {"-G,--cudagraph", "there is no device graph on host memory"},
    {"-C,--report_cputime", "calls block, so the time is the host's time already"},
    {"-S,--report_timestamps", "time stamps are not printed yet"},
    {"-J,--output_file", "the JSON report is not written yet"},
    {"-a,--average", "times are always the average over ranks"},
    {"-R,--local_register", "buffer registration does not exist yet"},
    {"-x,--cta_policy", "there are no device kernels"},
    {"-D,--device_implementation", "there are no device kernels"},
    {"-V,--device_cta_count", "there are no device kernels"},
    {"-M,--memory", "the memory report is not printed yet; barrier_perf prints the process's peak"},
    {"-K,--per_iter_skip", "samples are not skipped; use -w for warm-up"},
};

const CLI::Validator size_text([](std::string& text) { return parse_size(text) ? std::string() : "not a size: " + text; }, "SIZE", "size");

template <typename T>
std::vector<T> named(const std::string& text, int count, const char* what) {
  std::vector<T> found;
  for (int i = 0; i < count; ++i)
    if (text == "all" || text == name_of(static_cast<T>(i))) found.push_back(static_cast<T>(i));
  if (found.empty()) throw CLI::ValidationError(what, fmt::format("unknown: {}", text));
  return found;
}

std::optional<Collective> collective_of_program(std::string_view path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (const auto at = name.rfind("_perf"); at != std::string::npos) name.resize(at);
  const auto what = collective_from(name);
  const bool measured = what == Collective::all_reduce || what == Collective::all_gather || what == Collective::reduce_scatter ||
                        what == Collective::broadcast || what == Collective::barrier;
  return measured ? what : std::nullopt;
}

// Raw texts that need a second look after parsing.
struct Texts {
  std::string min = "32M", max = "32M", step = "1M", type = "float", op = "sum", root = "0", collective;
  int gpus = 1;
};

void add_options(CLI::App& app, Options& o, Texts& t) {
  app.add_option("-b,--minbytes", t.min, "first size, suffix K, M or G")->check(size_text);
  app.add_option("-e,--maxbytes", t.max, "last size")->check(size_text);
  app.add_option("-i,--stepbytes", t.step, "additive step")->check(size_text);
  app.add_option("-f,--stepfactor", o.step_factor, "multiplicative step")->check(CLI::Range(1.0001, 1e9));
  app.add_option("-n,--iters", o.iterations, "timed iterations")->check(CLI::PositiveNumber);
  app.add_option("-w,--warmup_iters", o.warmup, "untimed iterations first")->check(CLI::NonNegativeNumber);
  app.add_option("-m,--agg_iters", o.aggregate, "calls in one group per iteration")->check(CLI::PositiveNumber);
  app.add_option("-N,--run_cycles", o.cycles, "repeat the sweep; 0: for ever")->check(CLI::NonNegativeNumber);
  app.add_option("-c,--check", o.checks, "checked iterations; 0: print N/A")->check(CLI::NonNegativeNumber);
  app.add_option("-o,--op", t.op, "sum, prod, min, max, avg, mulsum, all");
  app.add_option("-d,--datatype", t.type, "int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2, all");
  app.add_option("-r,--root", t.root, "root rank, or all");
  app.add_option("-z,--blocking", o.blocking, "1: barrier after each call; 3: after each iteration, not timed; 0, 2: none")
      ->check(CLI::Range(0, 3));
  app.add_option("-u,--unalign", o.unalign, "shift both buffers by that many elements");
  app.add_option("-T,--timeout", o.timeout_seconds, "seconds a test may take")->check(CLI::PositiveNumber);
  app.add_flag("-I,--per_iter_timing", o.per_iteration, "also time each iteration (the slowest rank's): min, max, p50, p99, cv");
  app.add_option("-t,--nthreads,--threads", o.threads, "ranks as threads of each process")->check(CLI::Range(1, 4096));
  app.add_option("-g,--ngpus", t.gpus, "1: a rank drives one buffer set")->check(CLI::Range(1, 1));
  app.add_option("--np", o.processes, "start that many processes here, pinned where cores allow")->check(CLI::Range(1, 4096));
  app.add_option("--algorithm", o.algorithm, "force an algorithm; all: each that fits, side by side");
  app.add_option("--collective", t.collective, "measure this one, whatever the program's name");
  for (const Refused& r : refused) {
    const std::string text = fmt::format("{} is not offered: {}", r.flag, r.why);
    app.add_option_function<std::string>(
           r.flag, [text](const std::string&) { throw CLI::ValidationError(text); }, "")
        ->expected(0, 1)
        ->group("");
  }
}

void settle(Options& o, const Texts& t, const char* program) {
  const auto what = t.collective.empty() ? collective_of_program(program) : collective_of_program(t.collective);
  if (!what)
    throw CLI::ValidationError(
        "start it as all_reduce_perf, all_gather_perf, reduce_scatter_perf, broadcast_perf or barrier_perf, or name one with --collective");
  o.what = *what;
  o.program = fmt::format("{}_perf", name_of(o.what));
  o.min_bytes = *parse_size(t.min);
  o.max_bytes = *parse_size(t.max);
  o.step_bytes = *parse_size(t.step);
  if (o.min_bytes > o.max_bytes) throw CLI::ValidationError("-b is larger than -e");
  if (o.step_bytes == 0 && o.step_factor == 0) throw CLI::ValidationError("-i must not be 0");
  o.types = named<DataType>(t.type, data_type_count, "--datatype");
  o.ops = named<RedOp>(t.op, red_op_count, "--op");
  if (t.root == "all") {
    o.all_roots = true;
  } else {
    const auto [end, error] = std::from_chars(t.root.data(), t.root.data() + t.root.size(), o.root);
    if (error != std::errc() || end != t.root.data() + t.root.size() || o.root < 0)
      throw CLI::ValidationError("--root", "not a rank: " + t.root);
  }
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  const std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return value;
  constexpr std::string_view letters = "KMGT";
  const auto power = letters.find(static_cast<char>(suffix[0] & ~0x20));
  if (suffix.size() > 1 || power == std::string_view::npos) return std::nullopt;
  const int shift = 10 * (static_cast<int>(power) + 1);
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

std::vector<std::uint64_t> sizes_of(const Options& o) {
  if (o.what == Collective::barrier) return {0};
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = o.min_bytes; size <= o.max_bytes;) {
    sizes.push_back(size);
    const auto next = o.step_factor > 0 ? static_cast<std::uint64_t>(static_cast<double>(size) * o.step_factor) : size + o.step_bytes;
    size = std::max(next, size + 1);
  }
  return sizes;
}

Parsed parse(int argc, const char* const* argv) {
  Options options;
  Texts texts;
  CLI::App app(
      "Measures a collective between ranks on this machine (--np, --threads) or as started by mpirun or by\n"
      "RANK, WORLD_SIZE, MASTER_ADDR and TORIC_PORT. Flags and table are those of nccl-tests.");
  add_options(app, options, texts);
  try {
    app.parse(argc, argv);
    settle(options, texts, argv[0]);
    return {options, 0};
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return {std::nullopt, code == 0 ? 0 : 2};
  }
}

}  // namespace toric::perf
