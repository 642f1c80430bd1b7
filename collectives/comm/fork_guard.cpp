#include "toric/comm/fork_guard.hpp"

#include <pthread.h>

namespace toric {

void start_fork_guard() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
}

}  // namespace toric
