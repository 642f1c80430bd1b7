// all_reduce_perf and its siblings: places this process among the ranks, makes communicators, sweeps, prints on rank 0.
#include "launch.hpp"
#include "measure.hpp"
#include "table.hpp"
#include "toric/algorithms/registry.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace toric::perf {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Ends the process when a test takes longer than -T allows.
class Watchdog {
 public:
  explicit Watchdog(double seconds) : seconds_(seconds) {
    if (seconds_ > 0) thread_ = std::thread([this] { watch(); });
  }
  ~Watchdog() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::duration<double>(seconds_), [this] { return over_; })) return;
    fmt::print(stderr, "a test took longer than the {} s of -T\n", seconds_);
    std::fflush(nullptr);
    std::_Exit(3);
  }
  double seconds_;
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

class RankRun {
 public:
  RankRun(const Options& options, const ProcessPlace& place, int thread)
      : options_(options), place_(place), rank_(place.index * options.threads + thread), ranks_(place.count * options.threads) {}

  // The number of wrong elements over all ranks.
  std::uint64_t run() {
    try {
      return run_all();
    } catch (...) {  // the peers learn of it at once instead of waiting for this rank
      for (const Seat& seat : seats_) toricCommAbort(seat.comm);
      throw;
    }
  }

 private:
  std::uint64_t run_all() {
    const auto begin = std::chrono::steady_clock::now();
    make_communicators();
    start_up_seconds_ = seconds_since(begin);
    if (options_.root >= ranks_) throw std::runtime_error(fmt::format("-r {} with {} ranks", options_.root, ranks_));
    print_head();
    Buffers buffers(options_, ranks_);
    for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle) sweep(buffers);
    print(footer(options_, totals_));
    for (Seat& seat : seats_) toricCommDestroy(seat.comm);
    return totals_.wrong;
  }

  void print(const std::string& text) const {
    if (rank_ != 0) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  std::vector<std::string> algorithm_names() const {
    if (options_.algorithm != "all") return {options_.algorithm};
    std::vector<std::string> names;
    Request request;
    request.collective = options_.what;
    request.ranks = ranks_;
    request.root = is_rooted(options_.what) ? options_.root : -1;
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.offers(options_.what) && algorithm.fits(request)) names.emplace_back(algorithm.name);
    return names;
  }

  void make_communicators() {
    for (const std::string& name : algorithm_names()) {
      Seat seat{nullptr, rank_, ranks_, name};
      toricConfig_t config = TORIC_CONFIG_INITIALIZER;
      const std::string wish = name.empty() ? "" : fmt::format("{}={}", name_of(options_.what), name);
      if (!name.empty()) config.algorithm = wish.c_str();
      if (seats_.empty() && !place_.id) {
        require(toricCommInitEnvironment(&seat.comm, &config), seat);
        toricCommUserRank(seat.comm, &rank_);
        toricCommCount(seat.comm, &ranks_);
        seat.rank = rank_;
        seat.ranks = ranks_;
      } else {
        const toricUniqueId id = seats_.empty() ? *place_.id : next_id();
        require(toricCommInitRankConfig(&seat.comm, ranks_, id, rank_, &config), seat);
      }
      seats_.push_back(seat);
    }
  }

  // Rank 0's id, passed on over the first communicator.
  toricUniqueId next_id() const {
    toricUniqueId id{};
    if (rank_ == 0) require(toricGetUniqueId(&id), seats_[0]);
    require(toricBcast(&id, sizeof id, toricUint8, 0, seats_[0].comm, nullptr), seats_[0]);
    return id;
  }

  void print_head() {
    print(parameter_lines(options_));
    print("# Using devices\n");
    struct Line {
      char host[64];
      int pid, cpu;
    } mine{};
    gethostname(mine.host, sizeof mine.host - 1);
    mine.pid = getpid();
    mine.cpu = sched_getcpu();
    std::vector<Line> all(static_cast<std::size_t>(ranks_));
    require(toricAllGather(&mine, all.data(), sizeof mine, toricUint8, seats_[0].comm, nullptr), seats_[0]);
    for (Rank r = 0; r < ranks_; ++r) {
      const Line& line = all[static_cast<std::size_t>(r)];
      print(device_line({r, line.pid, line.cpu, line.host}));
    }
    if (options_.what == Collective::barrier) {
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      print(fmt::format("# Start-up {:.3f} s, peak memory of rank 0's process {:.1f} MiB\n", start_up_seconds_,
                        static_cast<double>(usage.ru_maxrss) / 1024));
    }
    print(header(options_));
  }

  void sweep(Buffers& buffers) {
    for (std::uint64_t bytes = options_.min_bytes; bytes <= options_.max_bytes; bytes = std::max(bytes * 2, bytes + 1))
      for (const Seat& seat : seats_) {
        warm_up(options_, seat, buffers, bytes);
        if (options_.what == Collective::barrier) break;
      }
    const bool reduces = is_reduction(options_.what) && options_.what != Collective::barrier;
    const auto ops = reduces ? options_.ops : std::vector<RedOp>{RedOp::sum};
    const auto types = options_.what == Collective::barrier ? std::vector<DataType>{DataType::uint8} : options_.types;
    for (const std::uint64_t bytes : sizes_of(options_))
      for (const DataType type : types)
        for (const RedOp op : ops)
          for (const Rank root : roots()) measure_rows(buffers, type, op, root, bytes);
  }

  std::vector<Rank> roots() const {
    if (!is_rooted(options_.what)) return {-1};
    if (!options_.all_roots) return {options_.root};
    std::vector<Rank> all;
    for (Rank r = 0; r < ranks_; ++r) all.push_back(r);
    return all;
  }

  void measure_rows(Buffers& buffers, DataType type, RedOp op, Rank root, std::uint64_t bytes) {
    std::vector<Row> rows;
    for (const Seat& seat : seats_) {
      const Watchdog watchdog(options_.timeout_seconds);
      rows.push_back(measure(options_, seat, buffers, type, op, root, bytes));
      totals_.add(rows.back());
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (rows[i].halves[0].time_us < rows[best].halves[0].time_us) best = i;
    for (std::size_t i = 0; i < rows.size(); ++i) print(row_line(options_, rows[i], rows.size() > 1 && i == best));
  }

  const Options& options_;
  const ProcessPlace& place_;
  Rank rank_, ranks_;
  double start_up_seconds_ = 0;
  std::vector<Seat> seats_;
  Totals totals_;
};

// All ranks of this process. Non-zero when one of them failed or found wrong elements.
int run_threads(const Options& options, const ProcessPlace& place) {
  std::atomic<int> code = 0;
  auto body = [&](int thread) {
    try {
      if (RankRun(options, place, thread).run() != 0) code = 1;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      code = 1;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < options.threads; ++t) threads.emplace_back(body, t);
  body(0);
  for (std::thread& thread : threads) thread.join();
  return code;
}

// A process that nobody placed: one process, --threads ranks, unless the environment names ranks.
ProcessPlace place_alone(const Options& options) {
  ProcessPlace place;
  if (std::getenv("RANK") != nullptr && std::getenv("WORLD_SIZE") != nullptr) {
    if (options.threads != 1) throw std::runtime_error("--threads does not go with RANK and WORLD_SIZE; use --np or mpirun");
    place.index = std::atoi(std::getenv("RANK"));
    place.count = std::atoi(std::getenv("WORLD_SIZE"));
    return place;
  }
  toricUniqueId id;
  if (toricGetUniqueId(&id) != toricSuccess) throw std::runtime_error(toricGetLastError(nullptr));
  place.id = id;
  return place;
}

int run(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  if (const auto child = place_as_child()) return run_threads(options, *child);
  if (const auto mpi = place_under_mpi()) {
    if (options.processes != 0) fmt::print(stderr, "--np is for starting without mpirun; it is ignored\n");
    const int code = run_threads(options, *mpi);
    finish_mpi();
    return code;
  }
  if (options.processes > 0) return run_children(options.processes, {argv, argv + argc});
  return run_threads(options, place_alone(options));
}

}  // namespace
}  // namespace toric::perf

int main(int argc, char** argv) {
  try {
    return toric::perf::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
