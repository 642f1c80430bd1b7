// The last 1,024 calls of a communicator, written to the log when something goes wrong. An entry costs a few nanoseconds.
#pragma once

#include "toric/comm/control.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace toric {

/// A clock that is cheap enough for every call: the processor's cycle counter where there is one.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

class CallLog {
 public:
  static constexpr std::size_t room = 1024;
  enum class State : std::uint8_t { running, done, failed };

  CallLog();

  /// Opens the entry of a call. Calls end in the order they began. `algorithm`: empty, or a registry name, which lives as
  /// long as the program.
  void begin(const CallRecord& record, std::string_view algorithm) noexcept {
    Entry& entry = at(record.sequence);
    entry.record = record;
    entry.algorithm = algorithm;
    entry.state = State::running;
    entry.begun = ticks();
    newest_ = record.sequence;
  }
  void end(State state) noexcept {
    at(newest_).state = state;
    at(newest_).ended = ticks();
  }

  /// One line a call, the oldest first: number, call, algorithm, state, when and how long. At most `most` lines.
  [[nodiscard]] std::string describe(std::size_t most = room) const;

 private:
  struct Entry {
    CallRecord record;
    std::string_view algorithm;
    std::uint64_t begun = 0, ended = 0;
    State state = State::done;
  };
  [[nodiscard]] Entry& at(std::uint64_t sequence) const noexcept { return (*entries_)[sequence % room]; }

  std::unique_ptr<std::array<Entry, room>> entries_;
  std::uint64_t newest_ = 0;  // sequence number; 0: no call yet
  std::uint64_t first_ticks_ = 0;
  std::chrono::steady_clock::time_point first_time_;
};

}  // namespace toric
