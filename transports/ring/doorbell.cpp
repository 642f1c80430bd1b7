#include "toric/ring/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace toric::ring {

namespace {

int futex_operation(int operation, bool across_processes) { return across_processes ? operation : operation | FUTEX_PRIVATE_FLAG; }

timespec absolute_time(Deadline deadline) {
  using namespace std::chrono;
  const auto since = std::max(deadline.time_since_epoch(), Clock::duration::zero());
  const auto whole = duration_cast<seconds>(since);
  timespec time{};
  time.tv_sec = static_cast<time_t>(whole.count());
  time.tv_nsec = static_cast<long>(duration_cast<nanoseconds>(since - whole).count());
  return time;
}

}  // namespace

// Taking `waiting` first and changing the word after it: a rank that arms again in between has read the old word and
// is woken once too often, never once too few.
void Doorbell::wake(bool across_processes) {
  if (waiting.exchange(0, std::memory_order_seq_cst) == 0) return;  // somebody else is doing it
  word.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &word, futex_operation(FUTEX_WAKE, across_processes), INT_MAX, nullptr, nullptr, 0);
}

void Sleeper::arm() {
  seen_ = bell_.word.load(std::memory_order_seq_cst);
  bell_.waiting.store(1, std::memory_order_seq_cst);
  full_fence(bell_.waiting);
  armed_ = true;
}

void Sleeper::disarm() {
  if (!armed_) return;
  armed_ = false;
  bell_.waiting.store(0, std::memory_order_relaxed);
}

void Sleeper::wait(Deadline deadline) {
  static_assert(Clock::is_steady, "the futex counts on the monotonic clock");
  if (!armed_) return;
  const timespec until = absolute_time(deadline);
  if (bell_.word.load(std::memory_order_seq_cst) == seen_)
    syscall(SYS_futex, &bell_.word, futex_operation(FUTEX_WAIT_BITSET, across_processes_), seen_, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
  disarm();
}

}  // namespace toric::ring
