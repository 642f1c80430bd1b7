#include "toric/simulate/event_queue.hpp"

#include <algorithm>
#include <cstddef>

namespace toric {

namespace {

constexpr std::uint32_t children = 4;

}  // namespace

void EventQueue::put(std::uint32_t at, const Entry& entry) {
  heap_[at] = entry;
  places_[entry.activity] = at + 1;
}

void EventQueue::rise(std::uint32_t at, const Entry& entry) {
  while (at > 0) {
    const std::uint32_t parent = (at - 1) / children;
    if (heap_[parent].time <= entry.time) break;
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, entry);
}

void EventQueue::sink(std::uint32_t at, const Entry& entry) {
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (;;) {
    const std::uint32_t first = at * children + 1;
    if (first >= size) break;
    std::uint32_t least = first;
    for (std::uint32_t child = first + 1; child < std::min(first + children, size); ++child)
      if (heap_[child].time < heap_[least].time) least = child;
    if (heap_[least].time >= entry.time) break;
    put(at, heap_[least]);
    at = least;
  }
  put(at, entry);
}

void EventQueue::set(std::uint32_t activity, double time) {
  if (activity >= places_.size()) places_.resize(activity + std::size_t{1});
  const Entry entry{time, activity};
  if (places_[activity] == 0) {
    heap_.push_back(entry);
    rise(static_cast<std::uint32_t>(heap_.size()) - 1, entry);
    return;
  }
  const std::uint32_t at = places_[activity] - 1;
  if (time < heap_[at].time)
    rise(at, entry);
  else
    sink(at, entry);
}

std::uint32_t EventQueue::pop() {
  const std::uint32_t activity = heap_.front().activity;
  places_[activity] = 0;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sink(0, last);
  return activity;
}

}  // namespace toric
