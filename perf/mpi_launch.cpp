#include "launch.hpp"

#ifdef TORIC_WITH_MPI
#include <mpi.h>
#endif

#include <cstdlib>

namespace toric::perf {

#ifdef TORIC_WITH_MPI

namespace {

bool started_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

std::optional<ProcessPlace> place_under_mpi() {
  if (!started_by_mpirun()) return std::nullopt;
  ProcessPlace place;
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) return std::nullopt;
  MPI_Comm_rank(MPI_COMM_WORLD, &place.index);
  MPI_Comm_size(MPI_COMM_WORLD, &place.count);
  toricUniqueId id{};
  int made = place.index != 0 || toricGetUniqueId(&id) == toricSuccess ? 1 : 0;
  MPI_Bcast(&made, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (made != 0) place.id = id;
  return place;
}

void finish_mpi() { MPI_Finalize(); }

#else

std::optional<ProcessPlace> place_under_mpi() { return std::nullopt; }
void finish_mpi() {}

#endif

}  // namespace toric::perf
