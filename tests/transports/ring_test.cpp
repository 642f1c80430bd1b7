// The ring layer by itself: the choice of stores, the layout of a ring, what one end tells the other, the doorbell.
#include "toric/ring/ring.hpp"

#include "cores.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace toric::ring {
namespace {

struct Costs2 {
  float writer[2], reader[2];  // by Store
};

/// Runs segments on a chooser whose both ends see `costs`; returns how many used the kind that is dearer in sum.
int run_segments(StoreChooser& chooser, CostFilter (&reader)[2], const Costs2& costs, int segments) {
  const bool streamed_wins = costs.writer[1] + costs.reader[1] < costs.writer[0] + costs.reader[0];
  int wrong = 0;
  for (int i = 0; i < segments; ++i) {
    const Store how = chooser.choose();
    const auto kind = static_cast<std::size_t>(how);
    wrong += (how == Store::streamed) != streamed_wins ? 1 : 0;
    chooser.writer_cost(how, costs.writer[kind]);
    chooser.advance();
    reader[kind].add(costs.reader[kind]);
    chooser.reader_costs(reader[0].estimate(), reader[1].estimate());
  }
  return wrong;
}

constexpr Costs2 near{{0.10F, 0.21F}, {0.10F, 0.12F}};
constexpr Costs2 far{{0.50F, 0.22F}, {0.30F, 0.14F}};

TEST(StoreChooser, WithoutObservationsIsCachedAlways) {
  StoreChooser chooser;
  for (int i = 0; i < 100; ++i, chooser.advance()) ASSERT_EQ(chooser.choose(), Store::cached);
}

TEST(StoreChooser, AsksTheSameUntilAdvanced) {
  StoreChooser chooser;
  chooser.writer_cost(Store::cached, 1);
  chooser.advance();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chooser.choose(), Store::streamed) << "the trial";
  chooser.advance();
  EXPECT_EQ(chooser.choose(), Store::cached);
}

TEST(StoreChooser, TriesTheOtherKindOnceInSixteen) {
  for (const Costs2& costs : {near, far}) {
    StoreChooser chooser;
    CostFilter reader[2];
    run_segments(chooser, reader, costs, 64);
    EXPECT_EQ(run_segments(chooser, reader, costs, 1600), 100);
  }
}

TEST(StoreChooser, FollowsTheRegimeWithinAHundredSegments) {
  StoreChooser chooser;
  CostFilter reader[2];
  run_segments(chooser, reader, near, 500);
  EXPECT_EQ(chooser.preferred(), Store::cached);
  for (int flip = 0; flip < 20; ++flip) {
    const bool is_far = flip % 2 == 0;
    run_segments(chooser, reader, is_far ? far : near, 100 + flip);
    EXPECT_EQ(chooser.preferred(), is_far ? Store::streamed : Store::cached) << "flip " << flip;
    run_segments(chooser, reader, is_far ? far : near, 300);
  }
}

TEST(StoreChooser, CountsBothEnds) {
  StoreChooser chooser;
  CostFilter reader[2];
  // The writer alone would choose cached; reading what was streamed is so much cheaper that the sum says otherwise.
  const Costs2 costs{{0.2F, 0.3F}, {0.6F, 0.1F}};
  run_segments(chooser, reader, costs, 100);
  EXPECT_EQ(chooser.preferred(), Store::streamed);
  StoreChooser alone;
  for (int i = 0; i < 100; ++i, alone.advance()) alone.writer_cost(alone.choose(), costs.writer[static_cast<std::size_t>(alone.choose())]);
  EXPECT_EQ(alone.preferred(), Store::cached);
}

TEST(StoreChooser, SingleSlowSegmentsDoNotCount) {
  StoreChooser chooser;
  CostFilter reader[2];
  run_segments(chooser, reader, near, 100);
  for (int i = 0; i < 50; ++i) {
    chooser.writer_cost(Store::cached, 1000);  // interrupted
    EXPECT_EQ(chooser.preferred(), Store::cached);
    run_segments(chooser, reader, near, 20);
  }
}

TEST(CostFilter, IgnoresWhatIsNoCost) {
  CostFilter filter;
  for (const float nonsense : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    filter.add(nonsense);
  EXPECT_EQ(filter.estimate(), 0);
  filter.add(2);
  EXPECT_EQ(filter.estimate(), 2);
}

TEST(SizeClass, OneAPowerOfTwo) {
  EXPECT_EQ(size_class(4096), 0U);
  EXPECT_EQ(size_class(4097), 1U);
  EXPECT_EQ(size_class(8192), 1U);
  EXPECT_EQ(size_class(8193), 2U);
  EXPECT_EQ(size_class(65536), 4U);
  EXPECT_EQ(size_class(std::size_t{1} << 29), size_classes - 1);
}

/// A ring in ordinary memory with both ends.
class RingPair {
 public:
  explicit RingPair(const TransportConfig& config = {})
      : shape(*ring_config(config)), lines(shape.bytes / line_bytes), out(memory(), shape, bell), in(memory(), shape, bell) {}
  std::byte* memory() { return reinterpret_cast<std::byte*>(lines.data()); }

  struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
  };
  Shape shape;
  std::vector<Line> lines;
  Doorbell bell{};
  OutRing out;
  InRing in;
};

TEST(Shape, StandsInTheMemoryItSays) {
  const Shape shape(*ring_config({}));
  EXPECT_EQ(shape.bytes, 4 * 64 + 16 * (128 + 4096) + 4 * (128 + 65536));
  EXPECT_EQ(shape.kind_of(4096), 0U);
  EXPECT_EQ(shape.kind_of(4097), 1U);
}

TEST(Shape, SmallSlotsCoverAllWhenSegmentsAreSmall) {
  TransportConfig config;
  config.segment_bytes = 1024;
  const Shape shape(*ring_config(config));
  EXPECT_EQ(shape.slots[0], 16U);
  EXPECT_EQ(shape.slots[1], 0U);
  RingPair pair(config);
  for (int i = 0; i < 100; ++i) {
    ASSERT_NE(pair.out.reserve(1024), nullptr);
    pair.out.commit(1024, Store::cached, 0);
    ASSERT_NE(pair.in.peek(1024, 0), nullptr);
    pair.in.release(1024);
  }
}

TEST(RingConfig, RefusesWhatNoRingCanBe) {
  const auto text_of = [](auto change) {
    TransportConfig config;
    change(config);
    const auto checked = ring_config(config);
    return checked ? std::string() : std::string(checked.status().text());
  };
  EXPECT_NE(text_of([](auto& c) { c.segment_bytes = 100; }).find("segment_bytes is 100"), std::string::npos);
  EXPECT_NE(text_of([](auto& c) { c.segment_bytes = 0; }).find("segment_bytes"), std::string::npos);
  EXPECT_NE(text_of([](auto& c) { c.segment_bytes = std::size_t{1} << 40; }).find("segment_bytes"), std::string::npos);
  EXPECT_NE(text_of([](auto& c) { c.slots = 0; }).find("slots is 0"), std::string::npos);
  EXPECT_NE(text_of([](auto& c) { c.small_slots = 0; }).find("small_slots is 0"), std::string::npos);
  EXPECT_NE(text_of([](auto& c) { c.memory = MemoryKind::cuda; }).find("host memory"), std::string::npos);
  EXPECT_EQ(text_of([](auto& c) { c.small_bytes = c.small_slots = 0; }), "");
}

TEST(Ring, UpTo48BytesTravelInOneLine) {
  RingPair pair;
  std::byte* room = pair.out.reserve(48);
  EXPECT_EQ(room - pair.memory(), static_cast<std::ptrdiff_t>(pair.shape.first_slot[0] + 16));
  room = pair.out.reserve(49);
  EXPECT_EQ(room - pair.memory(), static_cast<std::ptrdiff_t>(pair.shape.first_slot[0] + 64));
}

TEST(Ring, HasTheSlotsItWasConfiguredWith) {
  RingPair pair;
  for (const auto& [bytes, slots] : {std::pair<std::size_t, int>{8, 16}, {65536, 4}}) {
    int sent = 0;
    for (; pair.out.reserve(bytes) != nullptr; ++sent) pair.out.commit(bytes, Store::cached, 0);
    EXPECT_EQ(sent, slots);
  }
}

// 31 bits of the sequence are in the word: they must stay told apart where they begin again.
TEST(Ring, SequencesBeginAgain) {
  for (const std::uint64_t sequence :
       {std::uint64_t{1}, (std::uint64_t{1} << 31) - 1, std::uint64_t{1} << 31, (std::uint64_t{1} << 31) + 1}) {
    const std::uint64_t word = slot_word(sequence, 65536);
    EXPECT_TRUE(same_sequence(word, sequence));
    EXPECT_TRUE(same_sequence(word | streamed_bit, sequence));
    EXPECT_FALSE(same_sequence(word, sequence + 1));
    EXPECT_FALSE(same_sequence(word, sequence + 4));
    EXPECT_EQ(word_bytes(word | streamed_bit), 65536U);
  }
}

/// Sends and receives `segments` whose reading costs what is given, by Store; how many of them were streamed.
int exchange(RingPair& pair, float cached_read, float streamed_read, int segments) {
  constexpr std::size_t bytes = 16384;
  int streamed = 0;
  for (int i = 0; i < segments; ++i) {
    EXPECT_NE(pair.out.reserve(bytes), nullptr);
    const Store how = pair.out.store_for(bytes);
    pair.out.observe(how, 0.2F);
    pair.out.commit(bytes, how, 0);
    EXPECT_NE(pair.in.peek(bytes, 0), nullptr);
    pair.in.observe(how == Store::cached ? cached_read : streamed_read);
    pair.in.release(bytes);
    streamed += how == Store::streamed ? 1 : 0;
  }
  return streamed;
}

// What reading costs is measured at one end and decides at the other, now and after it has changed.
TEST(Ring, TheReadersCostReachesTheWriter) {
  RingPair pair;
  for (int flip = 0; flip < 6; ++flip) {
    const bool streamed_is_better = flip % 2 == 0;
    exchange(pair, streamed_is_better ? 0.5F : 0.1F, streamed_is_better ? 0.1F : 0.5F, 200);
    EXPECT_EQ(exchange(pair, streamed_is_better ? 0.5F : 0.1F, streamed_is_better ? 0.1F : 0.5F, 160), streamed_is_better ? 150 : 10)
        << "flip " << flip;
  }
}

TEST(Ring, ChoosesForEachSizeByItself) {
  RingPair pair;
  for (int i = 0; i < 200; ++i)
    for (const std::size_t bytes : {std::size_t{8192}, std::size_t{65536}}) {
      pair.out.reserve(bytes);
      const Store how = pair.out.store_for(bytes);
      const bool streamed_is_better = bytes == 65536;
      pair.out.observe(how, (how == Store::streamed) == streamed_is_better ? 0.1F : 0.4F);
      pair.out.commit(bytes, how, 0);
      pair.in.peek(bytes, 0);
      pair.in.release(bytes);
    }
  EXPECT_EQ(pair.out.store_for(8192), Store::cached);
  EXPECT_EQ(pair.out.store_for(65536), Store::streamed);
  EXPECT_EQ(pair.out.store_for(4095), Store::cached) << "small segments are not worth a choice";
}

/// What a side does some time after it has changed a ring.
void tell(Doorbell& bell) {
  full_fence(bell.waiting);
  bell.ring(false);
}

TEST(Doorbell, IsLeftAloneWhileNobodyWaits) {
  RingPair pair;
  for (int i = 0; i < 10; ++i) {
    pair.out.reserve(8);
    pair.out.commit(8, Store::cached, 0);
    tell(pair.out.bell());
    pair.in.peek(8, 0);
    pair.in.release(8);
    tell(pair.in.bell());
  }
  EXPECT_EQ(pair.bell.word.load(), 0U);
  Sleeper sleeper(pair.bell, false);
  sleeper.arm();
  pair.out.reserve(8);
  pair.out.commit(8, Store::cached, 0);
  tell(pair.out.bell());
  EXPECT_EQ(pair.bell.word.load(), 1U);
  EXPECT_EQ(pair.bell.waiting.load(), 0U) << "one wake-up is enough";
  pair.in.peek(8, 0);
  pair.in.release(8);
  tell(pair.in.bell());
  EXPECT_EQ(pair.bell.word.load(), 1U);
}

/// Two threads that go through a test in step, each starting a little later than the other in turn.
class Rounds {
 public:
  void meet(std::uint64_t delay = 0) {
    const std::uint64_t all = (arrived_.fetch_add(1) / 2 + 1) * 2;
    for (int spins = 0; arrived_.load() < all; ++spins)
      if (spins > 2000) std::this_thread::yield();
    for (std::uint64_t i = 0; i < delay; ++i) arrived_.load();
  }

 private:
  std::atomic<std::uint64_t> arrived_ = 0;
};

#if defined(__SANITIZE_THREAD__)
constexpr std::uint64_t rounds = 3'000;
#else
constexpr std::uint64_t rounds = 60'000;
#endif

// Of one that arms and then looks, and one that acts and then looks at the doorbell, at least one sees the other:
// either the message was there or the bell was rung. Each has looked at the other's line shortly before, so that it is at
// hand and the look comes early; the starts move against each other by about the time a line takes to travel.
TEST(Doorbell, ArmingAndACommitNeverMissEachOther) {
  constexpr std::size_t bytes = 1024;
  RingPair pair;
  Rounds together;
  std::jthread producer([&] {
    testing::stay_on_core(0);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::byte* room = pair.out.reserve(bytes);
      pair.bell.ring(false);  // nobody has armed yet
      together.meet(round % 13 * 16);
      std::memset(room, 1, bytes);  // stores that have to wait for their lines, and the commit's behind them
      pair.out.commit(bytes, Store::cached, 0);
      tell(pair.out.bell());
      together.meet();
      together.meet();
    }
  });
  std::uint64_t missed = 0, wrong = 0;
  std::jthread consumer([&] {
    testing::stay_on_core(1);
    Doorbell& mine = pair.bell;
    Sleeper sleeper(mine, false);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      pair.in.peek(bytes, 0);
      together.meet(round % 11 * 16);
      sleeper.arm();
      const bool seen = pair.in.peek(bytes, 0) != nullptr;
      together.meet();
      missed += !seen && mine.waiting.load() != 0 ? 1 : 0;
      sleeper.disarm();
      const std::byte* view = pair.in.peek(bytes, 0);
      ASSERT_NE(view, nullptr);
      for (std::size_t i = 0; i < bytes; i += line_bytes) wrong += view[i] != std::byte{1} ? 1 : 0;
      pair.in.release(bytes);
      together.meet();
    }
  });
  producer.join();
  consumer.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(wrong, 0U);
}

TEST(Doorbell, ArmingAndAReleaseNeverMissEachOther) {
  TransportConfig config;
  config.small_slots = 1;
  RingPair pair(config);
  Rounds together;
  std::jthread consumer([&] {
    testing::stay_on_core(1);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      together.meet();
      pair.in.peek(8, 0);
      pair.bell.ring(false);  // nobody has armed yet
      together.meet(round % 13 * 16);
      pair.in.release(8);
      tell(pair.in.bell());
      together.meet();
    }
  });
  std::uint64_t missed = 0;
  std::jthread producer([&] {
    testing::stay_on_core(0);
    Doorbell& mine = pair.bell;
    Sleeper sleeper(mine, false);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      pair.out.reserve(8);
      pair.out.commit(8, Store::cached, 0);  // fills the ring
      together.meet();
      pair.out.reserve(8);
      together.meet(round % 11 * 16);
      sleeper.arm();
      const bool seen = pair.out.reserve(8) != nullptr;
      together.meet();
      missed += !seen && mine.waiting.load() != 0 ? 1 : 0;
      sleeper.disarm();
    }
  });
  producer.join();
  consumer.join();
  EXPECT_EQ(missed, 0U);
}

}  // namespace
}  // namespace toric::ring
