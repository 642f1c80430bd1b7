// Which core a test's thread runs on.
#pragma once

#include <sched.h>

namespace toric::testing {

/// Keeps the calling thread on one of the cores it may use; numbers beyond those begin again.
inline void stay_on_core(int number) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int core = -1;
  for (int left = number % CPU_COUNT(&allowed); left >= 0; --left) do
      ++core;
    while (!CPU_ISSET(core, &allowed));
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace toric::testing
