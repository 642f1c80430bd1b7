#include "probe.hpp"

#include "regimes.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <new>

namespace toric::compare {

namespace {

constexpr std::size_t exchange_bytes = 64 * 1024;
constexpr int exchanges = 9;

}  // namespace

struct Probe::Shared {
  struct alignas(64) Flag {
    std::atomic<unsigned> round{0};
  };
  struct alignas(64) Slot {
    std::byte bytes[exchange_bytes];
  };
  Flag written[2], read[2];
  Slot slot[2];
};

bool Probe::open(int rank) {
  rank_ = rank;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host_);
  int ranks_here = 0, lowest = rank;
  MPI_Comm_size(host_, &ranks_here);
  MPI_Bcast(&lowest, 1, MPI_INT, 0, host_);
  int usable = rank > 1 || (lowest == 0 && ranks_here > 1) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &usable, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (usable == 0) return false;
  void* base = nullptr;
  const MPI_Aint size = rank == lowest ? static_cast<MPI_Aint>(sizeof(Shared) + alignof(Shared)) : 0;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, host_, &base, &window_);
  MPI_Aint whole = 0;
  int unit = 0;
  MPI_Win_shared_query(window_, 0, &whole, &unit, &base);
  // The mapping is page aligned, but what is allocated in it need not be: the same distance from it on both ranks.
  shared_ = reinterpret_cast<Shared*>((reinterpret_cast<std::uintptr_t>(base) + 63) / 64 * 64);
  if (rank == lowest) new (shared_) Shared;
  mine_.assign(exchange_bytes, std::byte{1});
  theirs_.assign(exchange_bytes, std::byte{2});
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) measure();
  return true;
}

Probe::~Probe() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  if (host_ != MPI_COMM_NULL) MPI_Comm_free(&host_);
}

double Probe::exchange() {
  const auto me = static_cast<std::size_t>(rank_), other = 1 - me;
  const unsigned round = ++round_;
  const auto await = [](const std::atomic<unsigned>& flag, unsigned wanted) {
    for (int spin = 0; flag.load(std::memory_order_acquire) != wanted; ++spin)
      if (spin > 20000) sched_yield();  // the other may need this core
  };
  const auto begin = std::chrono::steady_clock::now();
  std::memcpy(shared_->slot[me].bytes, mine_.data(), exchange_bytes);
  shared_->written[me].round.store(round, std::memory_order_release);
  await(shared_->written[other].round, round);
  std::memcpy(theirs_.data(), shared_->slot[other].bytes, exchange_bytes);
  shared_->read[me].round.store(round, std::memory_order_release);
  await(shared_->read[other].round, round);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

double Probe::measure() {
  if (rank_ > 1) return 0;
  exchange();  // brings both ranks together
  std::vector<double> times;
  for (int i = 0; i < exchanges; ++i) times.push_back(exchange());
  return quantile(times, 0.5);
}

}  // namespace toric::compare
