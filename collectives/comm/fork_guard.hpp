// A forked child has the parent's memory but none of its threads and shares its sockets: a communicator made before
// fork() must not be used there. This counts forks, so that each use can compare.
#pragma once

#include <atomic>
#include <cstdint>

namespace toric {

/// How many fork() calls lie between this process and the first one that used Toric. One load.
[[nodiscard]] std::uint32_t fork_generation() noexcept;
/// Starts counting; every communicator calls it when it is made.
void start_fork_guard();

}  // namespace toric
