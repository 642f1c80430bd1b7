// A forked child has the parent's memory but none of its threads and shares its sockets: a communicator made before
// fork() must not be used there. This counts forks, so that each use can compare.
#pragma once

#include <atomic>
#include <cstdint>

namespace toric {

/// The guard: counted up in every child.
inline std::atomic<std::uint32_t> fork_count{0};

/// How many fork() calls lie between this process and the first one that used Toric. One load.
[[nodiscard]] inline std::uint32_t fork_generation() noexcept { return fork_count.load(std::memory_order_relaxed); }
/// Starts counting; every communicator calls it when it is made.
void start_fork_guard();

}  // namespace toric
