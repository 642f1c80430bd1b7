// Ranks as threads of the test's process, through the C API alone, and what the collectives must give, by plain loops.
#pragma once

#include "toric/toric.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace toric::testing {

/// For EXPECT_TRUE(ok(...)): a failure shows the library's text.
inline ::testing::AssertionResult ok(toricResult_t result) {
  if (result == toricSuccess) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << toricGetErrorString(result) << ": " << toricGetLastError(nullptr);
}

/// All ranks of one communicator in this process.
class World {
 public:
  explicit World(int ranks) : comms_(static_cast<std::size_t>(ranks)) { EXPECT_TRUE(ok(toricCommInitAll(comms_.data(), ranks, nullptr))); }
  World(int ranks, const toricConfig_t& config) : comms_(static_cast<std::size_t>(ranks)) {
    toricUniqueId id;
    EXPECT_TRUE(ok(toricGetUniqueId(&id)));
    on_each([&](int rank, toricComm_t) {
      toricConfig_t mine = config;
      EXPECT_TRUE(ok(toricCommInitRankConfig(&comms_[static_cast<std::size_t>(rank)], ranks, id, rank, &mine)));
    });
  }
  ~World() {
    for (toricComm_t comm : comms_) EXPECT_TRUE(ok(toricCommDestroy(comm)));
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] int ranks() const { return static_cast<int>(comms_.size()); }
  [[nodiscard]] toricComm_t& comm(int rank) { return comms_[static_cast<std::size_t>(rank)]; }

  /// body(rank, communicator) on one thread a rank.
  void on_each(const std::function<void(int, toricComm_t)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks(); ++rank) threads.emplace_back([&, rank] { body(rank, comm(rank)); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<toricComm_t> comms_;
};

/// What rank `rank` contributes at element i of call `salt`; small enough that sums stay exact.
inline std::int32_t value_of(int rank, std::size_t i, int salt) {
  return static_cast<std::int32_t>(
      (static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(rank) * 40503u + static_cast<std::uint32_t>(salt) * 977u) >>
      12);
}

inline std::int32_t sum_of(int ranks, std::size_t i, int salt) {
  std::uint32_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += static_cast<std::uint32_t>(value_of(rank, i, salt));
  return static_cast<std::int32_t>(sum);
}

/// int32 elements at any byte offset, with guard bytes on both sides.
class Buffer {
 public:
  Buffer(std::size_t elements, std::size_t misalignment)
      : elements_(elements), offset_(64 + misalignment), bytes_(offset_ + elements * 4 + 64, guard) {}
  [[nodiscard]] void* data(std::size_t element = 0) { return bytes_.data() + offset_ + element * 4; }
  [[nodiscard]] std::int32_t get(std::size_t i) const {
    std::int32_t value;
    std::memcpy(&value, bytes_.data() + offset_ + i * 4, 4);
    return value;
  }
  void set(std::size_t i, std::int32_t value) { std::memcpy(bytes_.data() + offset_ + i * 4, &value, 4); }
  [[nodiscard]] bool guards_hold() const {
    for (std::size_t b = 0; b < bytes_.size(); ++b)
      if ((b < offset_ || b >= offset_ + elements_ * 4) && bytes_[b] != guard) return false;
    return true;
  }

 private:
  static constexpr unsigned char guard = 0xa5;
  std::size_t elements_, offset_;
  std::vector<unsigned char> bytes_;
};

/// The first difference between `buffer` and expected(i), as text; empty when there is none.
inline std::string difference(const Buffer& buffer, std::size_t elements, const std::function<std::int32_t(std::size_t)>& expected) {
  for (std::size_t i = 0; i < elements; ++i)
    if (buffer.get(i) != expected(i))
      return "element " + std::to_string(i) + " is " + std::to_string(buffer.get(i)) + ", not " + std::to_string(expected(i));
  return buffer.guards_hold() ? "" : "bytes outside the buffer were written";
}

}  // namespace toric::testing
