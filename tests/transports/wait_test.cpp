// Sleeping and waking, on every transport the machine has.
#include "conformance.hpp"

#include <atomic>
#include <thread>

namespace toric::testing {
namespace {

using namespace std::chrono_literals;

class Waiting : public ::testing::TestWithParam<Variant> {
 protected:
  Waiting() : ranks_(2, GetParam()) {
    there_ = {*ranks_[0].out(1, 0), *ranks_[1].in(0, 0)};
    back_ = {*ranks_[1].out(0, 0), *ranks_[0].in(1, 0)};
  }
  struct Path {
    Port out, in;
  };

  /// How long rank 1 waits, armed, when `event` happens on another thread 30 ms later.
  Clock::duration waits_for(const std::function<void()>& event) {
    ranks_[1].arm();
    const auto begin = Clock::now();
    std::jthread other([&] {
      std::this_thread::sleep_for(30ms);
      event();
    });
    ranks_[1].wait(begin + 20s);
    return Clock::now() - begin;
  }

  Ranks ranks_;
  Path there_{}, back_{};
};

TEST_P(Waiting, EndsAtTheDeadline) {
  const auto begin = Clock::now();
  ranks_[1].arm();
  ranks_[1].wait(begin + 50ms);
  const auto waited = Clock::now() - begin;
  EXPECT_GE(waited, 49ms);
  EXPECT_LT(waited, 10s);
  ranks_[1].arm();
  ranks_[1].wait(begin);  // in the past
  ranks_[1].arm();
  ranks_[1].wait(Deadline{});
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_P(Waiting, UnarmedReturnsAtOnce) {
  const auto begin = Clock::now();
  ranks_[1].wait(begin + 20s);
  ranks_[1].arm();
  ranks_[1].disarm();
  ranks_[1].wait(begin + 20s);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_P(Waiting, ACommitEndsIt) {
  const auto waited = waits_for([&] { ASSERT_TRUE(try_send(ranks_[0], there_.out, 8, 1, 0)); });
  EXPECT_GE(waited, 29ms);
  EXPECT_LT(waited, 10s);
  EXPECT_TRUE(try_receive(ranks_[1], there_.in, 8, 1, 0));
}

TEST_P(Waiting, AReleaseEndsIt) {
  std::uint64_t sent = 0;
  while (try_send(ranks_[1], back_.out, 8, 1, sent)) ++sent;
  const auto waited = waits_for([&] { ASSERT_TRUE(try_receive(ranks_[0], back_.in, 8, 1, 0)); });
  EXPECT_GE(waited, 29ms);
  EXPECT_LT(waited, 10s);
  EXPECT_TRUE(try_send(ranks_[1], back_.out, 8, 1, sent));
}

TEST_P(Waiting, AWakeOfAPeerOrOfItselfEndsIt) {
  for (const Rank waker : {0, 1}) {
    const auto waited = waits_for([&] { ranks_[waker].wake(1); });
    EXPECT_GE(waited, 29ms) << waker;
    EXPECT_LT(waited, 10s) << waker;
  }
}

TEST_P(Waiting, WhatHappensBetweenArmAndWaitEndsIt) {
  const auto begin = Clock::now();
  ranks_[1].arm();
  ASSERT_TRUE(try_send(ranks_[0], there_.out, 8, 1, 0));
  ranks_[1].wait(begin + 20s);
  ranks_[1].arm();
  ranks_[0].wake(1);
  ranks_[1].wait(begin + 20s);
  EXPECT_LT(Clock::now() - begin, 10s);
}

TEST_P(Waiting, AnotherRanksEventsDoNotEndIt) {
  const auto waited = [&] {
    ranks_[1].arm();
    const auto begin = Clock::now();
    std::jthread other([&] { ranks_[0].wake(0); });
    ranks_[1].wait(begin + 60ms);
    return Clock::now() - begin;
  }();
  EXPECT_GE(waited, 59ms);
}

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t rounds = 10'000;
#else
constexpr std::uint64_t rounds = 100'000;
#endif

/// Sleeps whenever nothing is there, as often as it can, and counts the sleeps that reached their deadline.
bool sleep_until(Transport& mine, const std::function<bool()>& done, std::uint64_t& timeouts) {
  while (!done()) {
    mine.arm();
    if (done()) {
      mine.disarm();
      return true;
    }
    const auto deadline = Clock::now() + 5s;
    mine.wait(deadline);
    if (Clock::now() >= deadline && ++timeouts > 3) return false;
  }
  return true;
}

TEST_P(Waiting, PingPongLosesNoWakeUp) {
  std::uint64_t timeouts[2] = {0, 0};
  on_threads(2, [&](Rank rank) {
    Transport& mine = ranks_[rank];
    const Path& send = rank == 0 ? there_ : back_;
    const Path& receive = rank == 0 ? back_ : there_;
    for (std::uint64_t number = 0; number < rounds; ++number) {
      if (rank == 0 && !sleep_until(
                           mine, [&] { return try_send(mine, send.out, 8, 0, number); }, timeouts[rank]))
        break;
      if (!sleep_until(
              mine, [&] { return try_receive(mine, receive.in, 8, rank == 0 ? 1 : 0, number); }, timeouts[rank]))
        break;
      if (rank == 1 && !sleep_until(
                           mine, [&] { return try_send(mine, send.out, 8, 1, number); }, timeouts[rank]))
        break;
    }
  });
  EXPECT_EQ(timeouts[0] + timeouts[1], 0U);
}

// One way, faster than the receiver at times and slower at others: sleeps for room as well as for messages.
TEST_P(Waiting, AStreamLosesNoWakeUpOnEitherSide) {
  std::uint64_t timeouts[2] = {0, 0};
  on_threads(2, [&](Rank rank) {
    Transport& mine = ranks_[rank];
    for (std::uint64_t number = 0; number < rounds; ++number) {
      const bool went = sleep_until(
          mine, [&] { return rank == 0 ? try_send(mine, there_.out, 16, 0, number) : try_receive(mine, there_.in, 16, 0, number); },
          timeouts[rank]);
      if (!went) break;
    }
  });
  EXPECT_EQ(timeouts[0] + timeouts[1], 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Waiting, ::testing::ValuesIn(variants()), [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace toric::testing
