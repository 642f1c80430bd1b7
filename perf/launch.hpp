// How ranks come to be: N local processes of this program, or this process as mpirun or the environment started it.
#pragma once

#include "options.hpp"
#include "toric/toric.h"

#include <optional>
#include <string>
#include <vector>

namespace toric::perf {

/// This process's place among the processes of the run.
struct ProcessPlace {
  int index = 0, count = 1;
  std::optional<toricUniqueId> id;  // of the first communicator; none: meet through the environment
};

/// Starts `argv` again `count` times as children, pinned one to a CPU when enough CPUs are allowed, and waits for all.
/// The first child that fails ends the others after a grace, in which they may say what they saw. Returns the exit code:
/// 0, or the first failure's.
int run_children(int count, const std::vector<std::string>& argv);

/// What run_children told this process, if it is such a child.
std::optional<ProcessPlace> place_as_child();

/// What mpirun told this process; nullopt when not started by it, or built without MPI. Collective over the processes.
std::optional<ProcessPlace> place_under_mpi();
/// Before exit, after place_under_mpi gave a place.
void finish_mpi();

}  // namespace toric::perf
