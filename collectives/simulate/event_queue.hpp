// What happens next: at most one time for each of many numbered activities, the earliest first.
#pragma once

#include <cstdint>
#include <vector>

namespace toric {

class EventQueue {
 public:
  /// Sets the activity's time, or moves it to another.
  void set(std::uint32_t activity, double time);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// Of the earliest; not when empty.
  [[nodiscard]] double time() const { return heap_.front().time; }
  /// Removes the earliest and says which it was; not when empty.
  std::uint32_t pop();

 private:
  struct Entry {
    double time;
    std::uint32_t activity;
  };

  void put(std::uint32_t at, const Entry& entry);
  void rise(std::uint32_t at, const Entry& entry);
  void sink(std::uint32_t at, const Entry& entry);

  std::vector<Entry> heap_;            // each entry is not later than its four children: shallower than with two
  std::vector<std::uint32_t> places_;  // by activity: where in the heap, plus one; 0: not there
};

}  // namespace toric
