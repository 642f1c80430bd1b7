#include "options.hpp"
#include "probe.hpp"
#include "regimes.hpp"
#include "report.hpp"
#include "sides.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace {

using namespace toric::compare;

int launch(int argc, char** argv, int processes) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  char program[4096] = {};
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  const auto line = launch_line(argc, argv, length > 0 ? program : argv[0], processes, CPU_COUNT(&cpus) >= processes, geteuid() == 0);
  std::vector<char*> arguments;
  for (const std::string& argument : line) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  std::perror("toric-compare: cannot start mpirun; install an MPI library or start the ranks yourself");
  return 2;
}

/// Says on every rank whether any rank has a complaint, and prints the complaints.
bool anyone_failed(const std::string& complaint) {
  if (!complaint.empty()) fmt::print(stderr, "toric-compare: {}\n", complaint);
  int failed = complaint.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed != 0;
}

struct Turn {
  int size_index;  // -1: the end
  int peer_first;
};

class Comparison {
 public:
  Comparison(const Options& options, int rank, Probe& probe, Sides& sides)
      : options_(options), sizes_(options.sizes()), loops_(sizes_.size(), 1), rank_(rank), probe_(probe), sides_(sides) {}

  /// Checks each size once and finds how many calls fill a turn.
  bool prepare() {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (anyone_failed(sides_.check(sizes_[i]))) return false;
      const double slower = std::max(sides_.time_ours(sizes_[i], 3), sides_.time_peer(sizes_[i], 3));
      loops_[i] = static_cast<int>(std::clamp(options_.block_milliseconds * 1000 / slower, 1.0, 20000.0));
      if (anyone_failed(sides_.failure())) return false;
    }
    return true;
  }

  bool measure() {
    const auto begin = std::chrono::steady_clock::now();
    double before = probe_.measure();
    if (rank_ == 0) probes_.push_back(before);
    for (;;) {
      Turn turn{};
      if (rank_ == 0) turn = choose(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), before);
      MPI_Bcast(&turn, sizeof turn, MPI_BYTE, 0, MPI_COMM_WORLD);
      if (turn.size_index < 0) break;
      const double after = run(turn, before);
      before = after;
      if (!sides_.failure().empty()) break;
    }
    return !anyone_failed(sides_.failure());
  }

  void report(int ranks, const std::string& peer) const {
    std::size_t dropped = 0;
    for (const Block& block : blocks_) dropped += regime_of(block, split_) ? 0 : 1;
    fmt::print("# {} blocks, {} dropped for their probes; near below {:.1f} us for a 64 KiB exchange, far above\n", blocks_.size(), dropped,
               split_);
    fmt::print("# probes: 5th percentile {:.1f} us, median {:.1f}, 95th {:.1f}\n", quantile(probes_, 0.05), quantile(probes_, 0.5),
               quantile(probes_, 0.95));
    if (dropped * 2 > blocks_.size())
      std::puts("# most blocks were dropped: other programs use these cores; measure on an idle machine, or set --split-us for this one");
    std::string last;
    for (const Regime regime : all_regimes) {
      const RegimeResult result = summarise(regime, sizes_, blocks_, split_);
      if (result.seen()) std::fputs(table(result).c_str(), stdout);
      last += last_line(result, ranks, options_.blocks, peer) + "\n";
    }
    std::fputs(last.c_str(), stdout);
  }

 private:
  Turn choose(double seconds, double probe) {
    split_ = find_split(probes_, options_.split_microseconds);
    if (seconds >= options_.max_seconds) return {-1, 0};
    if (seconds >= options_.min_seconds && complete(sizes_, blocks_, split_, options_.blocks)) return {-1, 0};
    last_ = next_size(regime_of(probe, split_).value_or(Regime::near), sizes_.size(), last_, blocks_, split_);
    return {static_cast<int>(last_), static_cast<int>(blocks_.size() % 2)};
  }

  double run(const Turn& turn, double before) {
    const auto index = static_cast<std::size_t>(turn.size_index);
    const std::uint64_t bytes = sizes_[index];
    double ours = 0, peer = 0;
    if (turn.peer_first != 0) peer = sides_.time_peer(bytes, loops_[index]);
    ours = sides_.time_ours(bytes, loops_[index]);
    if (turn.peer_first == 0) peer = sides_.time_peer(bytes, loops_[index]);
    const double after = probe_.measure();
    if (rank_ == 0) {
      blocks_.push_back({index, ours, peer, before, after});
      probes_.push_back(after);
    }
    return after;
  }

  const Options& options_;
  std::vector<std::uint64_t> sizes_;
  std::vector<int> loops_;  // calls in a turn, by size
  int rank_;
  Probe& probe_;
  Sides& sides_;
  std::vector<Block> blocks_;   // on rank 0
  std::vector<double> probes_;  // on rank 0
  double split_ = 0;
  std::size_t last_ = 0;
};

int compare(const Options& options) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::fputs("toric-compare: one rank has nobody to compare with; start it under mpirun -np 2, or add --np 2\n", stderr);
    return 2;
  }
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);

  Probe probe;
  if (!probe.open(rank)) {
    if (rank == 0) std::fputs("toric-compare: ranks 0 and 1 are on different hosts, so no regime can be told; place them on one\n", stderr);
    return 2;
  }
  Sides sides;
  if (anyone_failed(sides.open(rank, ranks, options.max_bytes, options.huge_pages))) return 1;
  Comparison comparison(options, rank, probe, sides);
  if (!comparison.prepare() || !comparison.measure()) return 1;
  if (rank == 0) comparison.report(ranks, short_version(version));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  if (parsed.options->processes > 0) return launch(argc, argv, parsed.options->processes);
  MPI_Init(&argc, &argv);
  const int code = compare(*parsed.options);
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);  // peers may wait in a call that will not end
  MPI_Finalize();
  return code;
}
