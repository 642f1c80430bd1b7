// What every transport promises, on every transport the machine has.
#include "conformance.hpp"
#include "cores.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace toric::testing {
namespace {

using namespace std::chrono_literals;

class Conformance : public ::testing::TestWithParam<Variant> {
 protected:
  [[nodiscard]] std::vector<std::size_t> sizes(std::size_t segment) const {
    std::vector<std::size_t> all;
    for (std::size_t i = 1; i <= 49; ++i) all.push_back(i);
    for (const std::size_t i : {63, 64, 65, 4095, 4096, 4097, 8192, 65535, 65536}) all.push_back(i);
    if (segment > 64) all.push_back(segment - 1);
    all.push_back(segment);
    std::erase_if(all, [&](std::size_t size) { return size > segment; });
    return all;
  }
};

struct Path {
  Port out, in;
};

Path path(Ranks& ranks, Rank from, Rank to, std::uint16_t channel) {
  const auto out = ranks[from].out(to, channel);
  const auto in = ranks[to].in(from, channel);
  EXPECT_TRUE(out.ok()) << out.status().text();
  EXPECT_TRUE(in.ok()) << in.status().text();
  return {out ? *out : 0, in ? *in : 0};
}

TEST_P(Conformance, EverySizeArrives) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  std::uint64_t number = 0;
  for (const Store how : {Store::cached, Store::streamed})
    for (const std::size_t bytes : sizes(ranks[0].segment_bytes())) {
      ASSERT_TRUE(try_send(ranks[0], way.out, bytes, 1, number, how)) << bytes;
      ASSERT_TRUE(try_receive(ranks[1], way.in, bytes, 1, number)) << bytes << ": " << ranks[1].failed().text();
      ++number;
    }
}

TEST_P(Conformance, RoomsAndLongViewsAreAligned) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  for (const std::size_t bytes : sizes(ranks[0].segment_bytes())) {
    const std::byte* room = ranks[0].reserve(way.out, bytes);
    ASSERT_NE(room, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % (bytes > 48 ? 64 : 8), 0U) << bytes;
    ASSERT_TRUE(try_send(ranks[0], way.out, bytes, 1, 0));
    const std::byte* view = ranks[1].peek(way.in, bytes);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view) % (bytes > 48 ? 64 : 8), 0U) << bytes;
    ranks[1].release(way.in, bytes);
  }
}

TEST_P(Conformance, ReserveAgainGivesTheSameRoom) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  for (const std::size_t bytes : sizes(ranks[0].segment_bytes())) {
    std::byte* room = ranks[0].reserve(way.out, bytes);
    ASSERT_NE(room, nullptr);
    EXPECT_EQ(ranks[0].reserve(way.out, bytes), room);
    ASSERT_TRUE(try_send(ranks[0], way.out, bytes, 1, 0));
    ASSERT_TRUE(try_receive(ranks[1], way.in, bytes, 1, 0));
  }
}

TEST_P(Conformance, PeekGivesNothingUntilCommit) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  std::byte* room = ranks[0].reserve(way.out, 8);
  ASSERT_NE(room, nullptr);
  for (std::size_t i = 0; i < 8; ++i) room[i] = pattern(1, 0, i);
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  ranks[0].commit(way.out, 8, Store::cached, 0);
  const std::byte* view = ranks[1].peek(way.in, 8);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(ranks[1].peek(way.in, 8), view);
  EXPECT_TRUE(try_receive(ranks[1], way.in, 8, 1, 0));
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  EXPECT_TRUE(ranks[1].failed().ok());
}

TEST_P(Conformance, FullRingGivesNothingThenSucceeds) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, ranks[0].segment_bytes()}) {
    std::uint64_t sent = 0;
    while (sent < 1000 && try_send(ranks[0], way.out, bytes, 1, sent)) ++sent;
    ASSERT_GE(sent, 1U);
    ASSERT_LT(sent, 1000U);
    EXPECT_EQ(ranks[0].reserve(way.out, bytes), nullptr);
    EXPECT_TRUE(ranks[0].failed().ok());
    ASSERT_TRUE(try_receive(ranks[1], way.in, bytes, 1, 0));
    EXPECT_TRUE(try_send(ranks[0], way.out, bytes, 1, sent));
    EXPECT_EQ(ranks[0].reserve(way.out, bytes), nullptr);
    for (std::uint64_t number = 1; number <= sent; ++number) ASSERT_TRUE(try_receive(ranks[1], way.in, bytes, 1, number));
  }
}

TEST_P(Conformance, ChannelsAreIndependentAndEachKeepsItsOrder) {
  Ranks ranks(2, GetParam());
  constexpr std::size_t channels = 3;
  std::array<Path, channels> ways{};
  for (std::size_t c = 0; c < channels; ++c) ways[c] = path(ranks, 0, 1, static_cast<std::uint16_t>(c * 1000));
  while (try_send(ranks[0], ways[0].out, 8, 0, 0)) {
  }
  // Channel 0 is full and nobody reads it; the others go on, received in the opposite order of channels.
  for (std::uint64_t number = 0; number < 100; ++number) {
    for (std::size_t c = 1; c < channels; ++c) ASSERT_TRUE(try_send(ranks[0], ways[c].out, 8 + c, c, number));
    for (std::size_t c = channels - 1; c >= 1; --c) ASSERT_TRUE(try_receive(ranks[1], ways[c].in, 8 + c, c, number));
  }
  EXPECT_TRUE(try_receive(ranks[1], ways[0].in, 8, 0, 0));
}

TEST_P(Conformance, PortsAreGivenOnceAndRefuseStrangers) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 7);
  EXPECT_EQ(*ranks[0].out(1, 7), way.out);
  EXPECT_EQ(*ranks[1].in(0, 7), way.in);
  for (const Rank stranger : {-1, 2}) {
    const auto out = ranks[0].out(stranger, 0);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.status().code(), Code::invalid_argument);
    EXPECT_NE(out.status().text().find("no rank " + std::to_string(stranger)), std::string::npos) << out.status().text();
    EXPECT_FALSE(ranks[0].in(stranger, 0).ok());
  }
}

TEST_P(Conformance, ARankMaySendToItself) {
  Ranks ranks(1, GetParam());
  const Path way = path(ranks, 0, 0, 0);
  for (std::uint64_t number = 0; number < 50; ++number) {
    ASSERT_TRUE(try_send(ranks[0], way.out, 60, 1, number));
    ASSERT_TRUE(try_receive(ranks[0], way.in, 60, 1, number));
  }
}

// Both directions, every size in turn, many laps around each ring, each rank a thread.
TEST_P(Conformance, WrapsManyTimesInBothDirectionsAtOnce) {
  Ranks ranks(2, GetParam());
  const Path there = path(ranks, 0, 1, 0);
  const Path back = path(ranks, 1, 0, 0);
  const auto all = sizes(ranks[0].segment_bytes());
  const std::uint64_t messages = 600;
  on_threads(2, [&](Rank rank) {
    Transport& mine = ranks[rank];
    const Port out = rank == 0 ? there.out : back.out, in = rank == 0 ? back.in : there.in;
    const std::uint64_t my_path = static_cast<std::uint64_t>(rank), their_path = 1 - my_path;
    std::uint64_t sent = 0, received = 0;
    EXPECT_TRUE(until([&] {
      if (sent < messages && try_send(mine, out, all[sent % all.size()], my_path, sent, Store{sent % 2 == 1})) ++sent;
      if (received < messages && try_receive(mine, in, all[received % all.size()], their_path, received)) ++received;
      return (sent == messages && received == messages) || !mine.failed().ok();
    }));
    EXPECT_TRUE(mine.failed().ok()) << mine.failed().text();
    EXPECT_EQ(sent + received, 2 * messages);
  });
}

TEST_P(Conformance, ManyPeersAtOnce) {
  static constexpr Rank count = 5;
  constexpr std::uint64_t messages = 60;
  Ranks ranks(count, GetParam());
  on_threads(count, [&](Rank rank) {
    Transport& mine = ranks[rank];
    std::array<Port, count> out{}, in{};
    for (Rank peer = 0; peer < count; ++peer) {  // made here: both ends may ask for a ring at the same moment
      const auto i = static_cast<std::size_t>(peer);
      const auto one = mine.out(peer, 3);
      const auto other = mine.in(peer, 3);
      ASSERT_TRUE(one.ok() && other.ok());
      out[i] = *one;
      in[i] = *other;
    }
    std::array<std::uint64_t, count> sent{}, received{};
    const auto name = [](Rank from, Rank to) { return static_cast<std::uint64_t>(from * count + to); };
    EXPECT_TRUE(until([&] {
      bool complete = true;
      for (Rank peer = 0; peer < count; ++peer) {
        const auto i = static_cast<std::size_t>(peer);
        if (sent[i] < messages && try_send(mine, out[i], 1 + sent[i], name(rank, peer), sent[i])) ++sent[i];
        if (received[i] < messages && try_receive(mine, in[i], 1 + received[i], name(peer, rank), received[i])) ++received[i];
        complete = complete && sent[i] == messages && received[i] == messages;
      }
      return complete || !mine.failed().ok();
    }));
    EXPECT_TRUE(mine.failed().ok()) << mine.failed().text();
  });
}

TEST_P(Conformance, AnotherSignatureIsNotDelivered) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 2);
  for (Rank rank = 0; rank < 2; ++rank) ranks[rank].stamp(0x1111);
  ASSERT_TRUE(try_send(ranks[0], way.out, 8, 1, 0));
  ranks[0].stamp(0x2222);
  ASSERT_TRUE(try_send(ranks[0], way.out, 8, 1, 1));
  ASSERT_TRUE(try_receive(ranks[1], way.in, 8, 1, 0)) << "the first carries the signature of its time";
  EXPECT_FALSE(ranks[1].mismatch().has_value());
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  const Status failure = ranks[1].failed();
  EXPECT_EQ(failure.code(), Code::invalid_usage);
  for (const char* part : {"rank 1", "rank 0", "channel 2", "0x1111", "0x2222"})
    EXPECT_NE(failure.text().find(part), std::string::npos) << part << " is not in: " << failure.text();
  ASSERT_TRUE(ranks[1].mismatch().has_value());
  EXPECT_EQ(ranks[1].mismatch()->peer, 0);
  EXPECT_EQ(ranks[1].mismatch()->mine, 0x1111U);
  EXPECT_EQ(ranks[1].mismatch()->theirs, 0x2222U);
  // Sticky: stamping alike afterwards does not heal it.
  ranks[1].stamp(0x2222);
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  const Path back = path(ranks, 1, 0, 2);
  EXPECT_EQ(ranks[1].reserve(back.out, 8), nullptr);
  EXPECT_EQ(ranks[1].failed().text(), failure.text());
}

/// Whether `transport` fails by looking for a segment that does not come; a message of another size may take some looks.
bool fails_by_looking(Transport& transport, Port in, std::size_t bytes) {
  for (int look = 0; look < 100 && transport.failed().ok(); ++look) EXPECT_EQ(transport.peek(in, bytes), nullptr);
  return !transport.failed().ok();
}

TEST_P(Conformance, AMismatchIsSeenWhateverTheSizes) {
  Ranks probe(2, GetParam());
  const auto all = sizes(probe[0].segment_bytes());
  for (const std::size_t sent : {all.front(), all.back()})
    for (const std::size_t expected : {all.front(), all.back()}) {
      Ranks ranks(2, GetParam());
      const Path way = path(ranks, 0, 1, 0);
      ranks[0].stamp(5);
      ranks[1].stamp(6);
      ASSERT_TRUE(try_send(ranks[0], way.out, sent, 1, 0));
      ASSERT_TRUE(fails_by_looking(ranks[1], way.in, expected));
      ASSERT_TRUE(ranks[1].mismatch().has_value()) << sent << " sent, " << expected << " expected";
      EXPECT_EQ(ranks[1].mismatch()->theirs, 5U);
    }
}

TEST_P(Conformance, AnotherSizeIsAFailureThatNamesBoth) {
  Ranks probe(2, GetParam());
  const auto all = sizes(probe[0].segment_bytes());
  for (const auto& [sent, expected] : std::vector<std::pair<std::size_t, std::size_t>>{
           {8, 16}, {16, 8}, {all.front(), all.back()}, {all.back(), all.front()}, {all.back(), all.back() - 1}}) {
    Ranks ranks(2, GetParam());
    const Path way = path(ranks, 0, 1, 9);
    ASSERT_TRUE(try_send(ranks[0], way.out, sent, 1, 0));
    EXPECT_TRUE(fails_by_looking(ranks[1], way.in, expected));
    const Status failure = ranks[1].failed();
    ASSERT_EQ(failure.code(), Code::invalid_usage) << sent << " sent, " << expected << " expected";
    for (const std::string& part :
         {std::string("rank 0"), std::string("channel 9"), "has " + std::to_string(sent) + " bytes", std::to_string(expected)})
      EXPECT_NE(failure.text().find(part), std::string::npos) << part << " is not in: " << failure.text();
    EXPECT_FALSE(ranks[1].mismatch().has_value());
  }
}

// A slot of the other kind must not be taken for a wrong size while the expected one is on its way. Both threads share
// a core, so that the receiver is stopped anywhere within peek while the sender commits a small and a large message.
TEST_P(Conformance, PollingWhileSmallAndLargeAlternateNeverFails) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  const std::array<std::size_t, 2> alternating = {8, ranks[0].segment_bytes()};
  constexpr int pairs = 600;
  const auto send_pair = [&] {
    std::this_thread::sleep_for(20us);
    for (const std::size_t bytes : alternating) {
      while (ranks[0].reserve(way.out, bytes) == nullptr) std::this_thread::yield();
      ranks[0].commit(way.out, bytes, Store::cached, 0);
    }
  };
  const auto receive_pair = [&] {
    for (const std::size_t bytes : alternating) {
      while (ranks[1].peek(way.in, bytes) == nullptr)
        if (!ranks[1].failed().ok()) return;
      ranks[1].release(way.in, bytes);
    }
  };
  on_threads(2, [&](Rank rank) {
    stay_on_core(0);
    for (int pair = 0; pair < pairs && ranks[1].failed().ok(); ++pair) rank == 0 ? send_pair() : receive_pair();
  });
  EXPECT_TRUE(ranks[1].failed().ok()) << ranks[1].failed().text();
}

TEST_P(Conformance, SizesOutsideASegmentFail) {
  for (const std::size_t beyond : {std::size_t{0}, GetParam().config.segment_bytes + 1, std::size_t{1} << 33}) {
    Ranks ranks(2, GetParam());
    const Path way = path(ranks, 0, 1, 0);
    EXPECT_EQ(ranks[0].reserve(way.out, beyond), nullptr);
    EXPECT_EQ(ranks[1].peek(way.in, beyond), nullptr);
    for (Rank rank = 0; rank < 2; ++rank)
      EXPECT_NE(ranks[rank].failed().text().find(std::to_string(GetParam().config.segment_bytes)), std::string::npos)
          << ranks[rank].failed().text();
  }
}

TEST_P(Conformance, CommittedDataOutlivesItsSender) {
  Ranks ranks(2, GetParam());
  const Path way = path(ranks, 0, 1, 0);
  const std::size_t most = ranks[0].segment_bytes();
  ASSERT_TRUE(try_send(ranks[0], way.out, most, 1, 0));
  ASSERT_TRUE(try_send(ranks[0], way.out, 8, 1, 1));
  ranks.destroy(0);
  EXPECT_TRUE(try_receive(ranks[1], way.in, most, 1, 0));
  EXPECT_TRUE(try_receive(ranks[1], way.in, 8, 1, 1));
  EXPECT_EQ(ranks[1].peek(way.in, 8), nullptr);
  ranks[1].wake(0);
  EXPECT_TRUE(ranks[1].out(0, 44).ok());
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::ValuesIn(variants()), [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace toric::testing
