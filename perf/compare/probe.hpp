// What a 64 KiB exchange between the cores of ranks 0 and 1 costs now: the measure of the regime.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace toric::compare {

class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe();

  /// Collective over MPI_COMM_WORLD. False when ranks 0 and 1 share no memory.
  [[nodiscard]] bool open(int rank);
  /// Collective over ranks 0 and 1; the others return at once. Microseconds, the median of a few exchanges, on rank 0.
  double measure();

 private:
  struct Shared;
  double exchange();

  int rank_ = -1;
  MPI_Comm host_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  Shared* shared_ = nullptr;
  unsigned round_ = 0;
  std::vector<std::byte> mine_, theirs_;
};

}  // namespace toric::compare
