#include "toric/comm/call_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace toric {

CallLog::CallLog()
    : entries_(std::make_unique<std::array<Entry, room>>()), first_ticks_(ticks()), first_time_(std::chrono::steady_clock::now()) {}

std::string CallLog::describe(std::size_t most) const {
  const std::uint64_t lines = std::min<std::uint64_t>({newest_, room, most});
  const std::uint64_t now = ticks();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_time_).count();
  const double tick_seconds = now > first_ticks_ ? seconds / static_cast<double>(now - first_ticks_) : 0;
  const auto span = [tick_seconds](std::uint64_t from, std::uint64_t to) {
    return tick_seconds * static_cast<double>(to > from ? to - from : 0);
  };
  constexpr std::string_view states[] = {"running", "done", "failed"};
  std::string text;
  for (std::uint64_t sequence = newest_ - lines + 1; sequence <= newest_; ++sequence) {
    const Entry& entry = at(sequence);
    const std::uint64_t end = entry.state == State::running ? now : entry.ended;
    fmt::format_to(std::back_inserter(text), "#{} {} algorithm {} {} after {:.6f} s, took {:.1f} us\n", entry.record.sequence,
                   entry.record.describe(), entry.algorithm.empty() ? "none" : entry.algorithm,
                   states[static_cast<std::size_t>(entry.state)], span(first_ticks_, entry.begun), 1e6 * span(entry.begun, end));
  }
  return text;
}

}  // namespace toric
