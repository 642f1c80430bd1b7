#include "toric/simulate/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace toric {
namespace {

TEST(EventQueue, GivesTheEarliestFirst) {
  EventQueue queue;
  EXPECT_TRUE(queue.empty());
  queue.set(0, 3);
  queue.set(7, 1);
  queue.set(2, 2);
  EXPECT_EQ(queue.time(), 1);
  EXPECT_EQ(queue.pop(), 7U);
  EXPECT_EQ(queue.pop(), 2U);
  EXPECT_EQ(queue.pop(), 0U);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, MovesATimeBothWays) {
  EventQueue queue;
  queue.set(0, 3);
  queue.set(1, 4);
  queue.set(1, 2);
  EXPECT_EQ(queue.time(), 2);
  queue.set(1, 5);
  EXPECT_EQ(queue.pop(), 0U);
  EXPECT_EQ(queue.time(), 5);
  EXPECT_EQ(queue.pop(), 1U);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, AgreesWithASortedMapWhateverIsDone) {
  std::mt19937 random(1);
  EventQueue queue;
  std::map<std::uint32_t, double> times;
  for (int i = 0; i < 20000; ++i) {
    if (times.empty() || random() % 3 != 0) {
      const auto activity = static_cast<std::uint32_t>(random() % 300);
      times[activity] = static_cast<double>(random() % 1000);
      queue.set(activity, times[activity]);
    } else {
      double earliest = 1e9;
      for (const auto& [activity, time] : times) earliest = std::min(earliest, time);
      ASSERT_EQ(queue.time(), earliest);
      const std::uint32_t activity = queue.pop();
      ASSERT_EQ(times.at(activity), earliest);
      times.erase(activity);
    }
    ASSERT_EQ(queue.empty(), times.empty());
  }
}

}  // namespace
}  // namespace toric
