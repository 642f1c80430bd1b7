// Groups, aborts, ends and starts of communicators, and the calls that may be made at the same time.
#include "cases.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>

namespace toric::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// --- groups ---------------------------------------------------------------------------------------------------------

TEST(Group, LetsOneThreadDriveAllRanks) {
  constexpr int ranks = 4;
  World world(ranks);
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
    std::vector<std::vector<std::int32_t>> data;
    for (int rank = 0; rank < ranks; ++rank) {
      data.emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) data.back()[i] = value_of(rank, i, 5);
    }
    ASSERT_TRUE(ok(toricGroupStart()));
    for (int rank = 0; rank < ranks; ++rank) {
      void* buffer = data[static_cast<std::size_t>(rank)].data();
      ASSERT_TRUE(ok(toricAllReduce(buffer, buffer, count, toricInt32, toricSum, world.comm(rank), nullptr)));
    }
    ASSERT_TRUE(ok(toricGroupEnd()));
    for (const auto& result : data)
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(result[i], sum_of(ranks, i, 5)) << i;
  }
}

TEST(Group, RunsSeveralCallsOfOneCommunicatorInOrder) {
  World world(2);
  world.on_each([](int rank, toricComm_t comm) {
    for (int round = 0; round < 200; ++round) {
      std::int32_t value = rank + 1, gathered[2] = {};
      ASSERT_TRUE(ok(toricGroupStart()));
      ASSERT_TRUE(ok(toricGroupStart()));  // nested: only the outermost end runs anything
      ASSERT_TRUE(ok(toricAllReduce(&value, &value, 1, toricInt32, toricSum, comm, nullptr)));
      ASSERT_TRUE(ok(toricGroupEnd()));
      ASSERT_EQ(value, rank + 1);
      ASSERT_TRUE(ok(toricAllReduce(&value, &value, 1, toricInt32, toricSum, comm, nullptr)));
      ASSERT_TRUE(ok(toricAllReduce(&value, &value, 0, toricInt32, toricSum, comm, nullptr)));
      ASSERT_TRUE(ok(toricAllGather(&value, gathered, 1, toricInt32, comm, nullptr)));
      ASSERT_TRUE(ok(toricGroupEnd()));
      ASSERT_EQ(value, 6);
      ASSERT_EQ(gathered[0], 6);
      ASSERT_EQ(gathered[1], 6);
    }
  });
}

// One rank issues X before Y, the other Y before X: communicators never wait for one another.
TEST(Group, HoldsSeveralCommunicatorsInAnyOrder) {
  World x(2), y(2);
  x.on_each([&](int rank, toricComm_t) {
    for (int round = 0; round < 100; ++round) {
      std::vector<std::int32_t> a(30'000, rank + 1), b(30'000, 10 * (rank + 1));
      ASSERT_TRUE(ok(toricGroupStart()));
      for (int turn = 0; turn < 2; ++turn) {
        const bool first = (turn == 0) == (rank == 0);
        std::vector<std::int32_t>& data = first ? a : b;
        ASSERT_TRUE(ok(toricAllReduce(data.data(), data.data(), data.size(), toricInt32, toricSum, (first ? x : y).comm(rank), nullptr)));
      }
      ASSERT_TRUE(ok(toricGroupEnd()));
      ASSERT_EQ(a, std::vector<std::int32_t>(30'000, 3));
      ASSERT_EQ(b, std::vector<std::int32_t>(30'000, 30));
    }
  });
}

TEST(Group, StartsSeveralRanksFromOneThread) {
  toricUniqueId id;
  ASSERT_TRUE(ok(toricGetUniqueId(&id)));
  toricComm_t comms[3] = {};
  ASSERT_TRUE(ok(toricGroupStart()));
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(ok(toricCommInitRank(&comms[rank], 3, id, rank)));
  EXPECT_EQ(comms[0], nullptr);
  ASSERT_TRUE(ok(toricGroupEnd()));
  ASSERT_TRUE(ok(toricGroupStart()));
  float values[3] = {1, 2, 4};
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_TRUE(ok(toricAllReduce(&values[rank], &values[rank], 1, toricFloat, toricSum, comms[rank], nullptr)));
  ASSERT_TRUE(ok(toricGroupEnd()));
  for (const float value : values) EXPECT_EQ(value, 7);
  for (toricComm_t comm : comms) EXPECT_TRUE(ok(toricCommDestroy(comm)));
}

TEST(Group, DoesNotMixStartsAndCalls) {
  World world(1);
  toricUniqueId id;
  ASSERT_TRUE(ok(toricGetUniqueId(&id)));
  toricComm_t comm = nullptr;
  ASSERT_TRUE(ok(toricGroupStart()));
  ASSERT_TRUE(ok(toricCommInitRank(&comm, 1, id, 0)));
  ASSERT_TRUE(ok(toricBarrier(world.comm(0), nullptr)));
  EXPECT_EQ(toricGroupEnd(), toricInvalidUsage);
  EXPECT_THAT(toricGetLastError(nullptr), HasSubstr("not both"));
  EXPECT_EQ(comm, nullptr);
}

// --- ends -----------------------------------------------------------------------------------------------------------

TEST(Abort, EndsACallThatAnotherThreadWaitsIn) {
  World world(2);
  std::atomic<toricResult_t> result{toricInProgress};
  std::string text;
  std::thread waiting([&] {
    float value = 1;
    result = toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(0), nullptr);
    text = toricGetLastError(nullptr);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(result, toricInProgress);
  const double begin = now();
  EXPECT_TRUE(ok(toricCommAbort(world.comm(0))));
  waiting.join();
  EXPECT_LT(now() - begin, 2);
  world.comm(0) = nullptr;
  EXPECT_EQ(result, toricRemoteError);
  EXPECT_THAT(text, HasSubstr("abort"));
  float value = 1;  // the peer learns who it was
  EXPECT_EQ(toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(1), nullptr), toricRemoteError);
  EXPECT_THAT(toricGetLastError(world.comm(1)), HasSubstr("rank 0"));
}

TEST(Abort, ReachesPeersThatWait) {
  World world(3);
  const double begin = now();
  world.on_each([&](int rank, toricComm_t comm) {
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      EXPECT_TRUE(ok(toricCommAbort(comm)));
      world.comm(1) = nullptr;
      return;
    }
    float value = 1;
    EXPECT_EQ(toricAllReduce(&value, &value, 1, toricFloat, toricSum, comm, nullptr), toricRemoteError);
    EXPECT_THAT(toricGetLastError(comm), HasSubstr("rank 1"));
  });
  EXPECT_LT(now() - begin, 2);
}

TEST(Abort, WorksOnAGroupThatWaits) {
  World world(3);
  std::thread waiting([&] {
    float values[2] = {1, 1};
    ASSERT_TRUE(ok(toricGroupStart()));
    for (int rank = 0; rank < 2; ++rank)
      ASSERT_TRUE(ok(toricAllReduce(&values[rank], &values[rank], 1, toricFloat, toricSum, world.comm(rank), nullptr)));
    EXPECT_EQ(toricGroupEnd(), toricRemoteError);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_TRUE(ok(toricCommAbort(world.comm(1))));
  world.comm(1) = nullptr;
  waiting.join();
}

TEST(Destroy, IsLocalWhateverThePeersDo) {
  World world(3);
  const double begin = now();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(ok(toricCommDestroy(world.comm(rank))));
    world.comm(rank) = nullptr;
  }
  EXPECT_LT(now() - begin, 3);
}

TEST(Destroy, KeepsWhatWasSentForThePeers) {
  for (int round = 0; round < 20; ++round) {
    World world(2);
    world.on_each([&](int rank, toricComm_t comm) {
      std::vector<std::int32_t> data(50'000, 7 + round);
      if (rank == 0) {
        ASSERT_TRUE(ok(toricBcast(data.data(), data.size(), toricInt32, 0, comm, nullptr)));
        ASSERT_TRUE(ok(toricCommDestroy(comm)));
        world.comm(0) = nullptr;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::vector<std::int32_t> received(data.size());
      ASSERT_TRUE(ok(toricBcast(received.data(), received.size(), toricInt32, 0, comm, nullptr)));
      ASSERT_EQ(received, data);
    });
  }
}

TEST(Finalize, LeavesOnlyDestroy) {
  World world(1);
  EXPECT_TRUE(ok(toricCommFinalize(world.comm(0))));
  EXPECT_EQ(toricBarrier(world.comm(0), nullptr), toricInvalidUsage);
  EXPECT_THAT(toricGetLastError(world.comm(0)), HasSubstr("finalized"));
}

std::size_t entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(Ends, LeaveNoDescriptorAndNoThread) {
  {
    World first(3);  // what the process keeps for good is made here
    first.on_each([](int, toricComm_t comm) { EXPECT_TRUE(ok(toricBarrier(comm, nullptr))); });
  }
  const auto settled = [] {  // a thread that has been joined may be listed for a moment
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::pair(entries("/proc/self/fd"), entries("/proc/self/task"));
  };
  const auto before = settled();
  for (int round = 0; round < 200; ++round) {
    World world(round % 3 + 1);
    world.on_each([](int rank, toricComm_t comm) {
      float value = static_cast<float>(rank);
      EXPECT_TRUE(ok(toricAllReduce(&value, &value, 1, toricFloat, toricSum, comm, nullptr)));
    });
  }
  EXPECT_EQ(settled(), before);
}

// --- what may be called at the same time ----------------------------------------------------------------------------

TEST(Concurrent, QueriesRunBesideCollectives) {
  World world(2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> watchers;
  for (int rank = 0; rank < 2; ++rank)
    watchers.emplace_back([&, rank] {
      while (!stop) {
        toricResult_t state = toricInternalError;
        int number = -1;
        EXPECT_TRUE(ok(toricCommGetAsyncError(world.comm(rank), &state)));
        EXPECT_EQ(state, toricSuccess);
        EXPECT_TRUE(ok(toricCommCount(world.comm(rank), &number)));
        EXPECT_EQ(number, 2);
        EXPECT_TRUE(ok(toricCommUserRank(world.comm(rank), &number)));
        EXPECT_EQ(number, rank);
        EXPECT_NE(toricGetLastError(world.comm(rank)), nullptr);
        std::this_thread::yield();
      }
    });
  world.on_each([](int rank, toricComm_t comm) {
    for (int round = 0; round < 500; ++round)
      ASSERT_EQ(all_reduce_case(rank, 2, comm, {static_cast<std::size_t>(1 + round * 7 % 5000), false, 0, round}), "");
  });
  stop = true;
  for (std::thread& watcher : watchers) watcher.join();
}

TEST(Concurrent, CommunicatorsRunInDifferentThreads) {
  World x(2), y(2);
  std::vector<std::thread> threads;
  for (World* world : {&x, &y})
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([=] {
        for (int round = 0; round < 300; ++round) ASSERT_EQ(all_reduce_case(rank, 2, world->comm(rank), {3000, false, 0, round}), "");
      });
  for (std::thread& thread : threads) thread.join();
}

TEST(Concurrent, AbortMeetsCallsThatRun) {
  for (int round = 0; round < 20; ++round) {
    World world(2);
    std::vector<std::thread> threads;
    std::atomic<int> inside{0};
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        toricComm_t comm = world.comm(rank);
        float value = 1;
        while (rank == 1 && inside < 3) std::this_thread::yield();
        // Rank 0 makes its last call alone and waits in it when the abort comes.
        const int calls = rank == 0 ? 4 : 3;
        if (rank == 0) inside = 3;
        toricResult_t result = toricSuccess;
        for (int call = 0; call < calls; ++call) result = toricAllReduce(&value, &value, 1, toricFloat, toricSum, comm, nullptr);
        EXPECT_EQ(result, rank == 0 ? toricRemoteError : toricSuccess);
      });
    threads[1].join();
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    toricResult_t state = toricSuccess;
    EXPECT_TRUE(ok(toricCommGetAsyncError(world.comm(0), &state)));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(ok(toricCommAbort(world.comm(0))));
    threads[0].join();
    world.comm(0) = nullptr;
  }
}

TEST(Concurrent, SecondThreadOnOneCommunicatorIsRefused) {
  World world(2);
  std::atomic<bool> begun{false};
  std::thread waiting([&] {
    float value = 1;
    begun = true;
    EXPECT_TRUE(ok(toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(0), nullptr)));
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(toricBarrier(world.comm(0), nullptr), toricInvalidUsage);
  EXPECT_THAT(toricGetLastError(nullptr), HasSubstr("another thread"));
  EXPECT_EQ(toricCommDestroy(world.comm(0)), toricInvalidUsage);
  float value = 1;
  EXPECT_TRUE(ok(toricAllReduce(&value, &value, 1, toricFloat, toricSum, world.comm(1), nullptr)));
  waiting.join();
}

}  // namespace
}  // namespace toric::testing
