#include "sides.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace toric::compare {

void Sides::Free::operator()(float* memory) const { std::free(memory); }

Sides::Buffer Sides::make(std::size_t bytes, bool huge_pages) {
  const std::size_t page = huge_pages ? std::size_t{2} << 20 : 4096;
  const std::size_t size = (bytes + page - 1) / page * page;
  auto* memory = static_cast<float*>(std::aligned_alloc(page, size));
  if (memory == nullptr) return Buffer();
  madvise(memory, size, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(static_cast<void*>(memory), 0, size);
  return Buffer(memory);
}

Sides::~Sides() {
  if (comm_ != nullptr) toricCommDestroy(comm_);
}

std::string Sides::open(int rank, int ranks, std::size_t max_bytes, bool huge_pages) {
  rank_ = rank;
  send_ = make(max_bytes, huge_pages);
  receive_ = make(max_bytes, huge_pages);
  if (!send_ || !receive_) return fmt::format("rank {}: no memory for two buffers of {} bytes; give a smaller -e", rank, max_bytes);
  for (std::size_t i = 0; i < max_bytes / sizeof(float); ++i)
    send_.get()[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 1021);
  toricUniqueId id{};
  if (rank == 0 && toricGetUniqueId(&id) != toricSuccess) return fmt::format("toricGetUniqueId: {}", toricGetLastError(nullptr));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (toricCommInitRank(&comm_, ranks, id, rank) != toricSuccess)
    return fmt::format("toricCommInitRank on rank {}: {}", rank, toricGetLastError(nullptr));
  return {};
}

void Sides::ours(std::uint64_t bytes) {
  const toricResult_t result = toricAllReduce(send_.get(), receive_.get(), bytes / sizeof(float), toricFloat, toricSum, comm_, nullptr);
  if (result != toricSuccess && failure_.empty()) failure_ = fmt::format("toricAllReduce on rank {}: {}", rank_, toricGetLastError(comm_));
}

void Sides::peer(std::uint64_t bytes) {
  MPI_Allreduce(send_.get(), receive_.get(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

std::string Sides::check(std::uint64_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  std::memset(static_cast<void*>(receive_.get()), 0xff, bytes);
  ours(bytes);
  if (!failure_.empty()) return failure_;
  const std::vector<float> result(receive_.get(), receive_.get() + count);
  std::memset(static_cast<void*>(receive_.get()), 0xff, bytes);
  peer(bytes);
  for (std::size_t i = 0; i < count; ++i)
    if (std::memcmp(&result[i], receive_.get() + i, sizeof(float)) != 0)
      return fmt::format("rank {}: at {} bytes element {} is {} from Toric and {} from MPI", rank_, bytes, i, result[i], receive_.get()[i]);
  return {};
}

template <class Call>
double Sides::time(int loops, const Call& call) {
  call();  // its code and buffers are warm, as they are for the side that goes second
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < loops; ++i) call();
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  double mean_and_failed[2] = {spent.count() / loops, failure_.empty() ? 0.0 : 1.0};
  MPI_Allreduce(MPI_IN_PLACE, mean_and_failed, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (mean_and_failed[1] > 0 && failure_.empty()) failure_ = fmt::format("rank {} ends because a call failed on another rank", rank_);
  return mean_and_failed[0];
}

double Sides::time_ours(std::uint64_t bytes, int loops) {
  return time(loops, [&] { ours(bytes); });
}

double Sides::time_peer(std::uint64_t bytes, int loops) {
  return time(loops, [&] { peer(bytes); });
}

}  // namespace toric::compare
