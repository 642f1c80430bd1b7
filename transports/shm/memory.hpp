// How much memory there really is. Shared pages that cannot be had kill the process that touches them, so we ask first.
#pragma once

#include <cstddef>
#include <string>

namespace toric::shm {

struct Available {
  std::size_t bytes;
  std::string source;  // what limits it, for error texts: "MemAvailable of the host" or the control group's file
};

/// The least of what the host and the control groups of this process leave. Unreadable sources are left out.
/// The roots are those of /proc and of the control groups' file system, to be replaced in tests.
[[nodiscard]] Available available_memory(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

}  // namespace toric::shm
