// Meetings that must fail, and peers that must not disturb one.
#include "harness.hpp"

#include <gmock/gmock.h>

#include "toric/comm/bootstrap_id.hpp"
#include "toric/comm/host_identity.hpp"
#include "toric/comm/socket_frame.hpp"

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

/// A raw connection to the root of an id.
Descriptor connect_to(const UniqueIdBytes& id) {
  auto contents = decode_id(id);
  EXPECT_TRUE(contents.ok());
  auto socket = connect_tcp(SocketAddress::ipv4({127, 0, 0, 1}, contents->port), Clock::now() + 5s);
  EXPECT_TRUE(socket.ok()) << socket.status().text();
  return socket.ok() ? std::move(*socket) : Descriptor();
}

Hello crafted(const UniqueIdBytes& id, Rank rank, Rank ranks) {
  Hello hello;
  hello.rank = rank;
  hello.ranks = ranks;
  hello.host = "elsewhere";
  hello.build = "Toric 9.9";
  hello.process = 777;
  hello.nonce = decode_id(id)->nonce;
  hello.member_token = 5;
  hello.host_key = "elsewhere";
  hello.remaining_milliseconds = 60000;
  return hello;
}

void send_hello(const Descriptor& socket, const Hello& hello, std::uint16_t protocol = protocol_version) {
  EXPECT_TRUE(send_all(socket.get(), encode_frame(FrameType::hello, encode(hello), protocol), Clock::now() + 5s).ok());
}

TEST(Refusal, MissingRanksAreListedToThoseWhoCame) {
  const UniqueIdBytes id = new_id();
  in_threads(3, [&](Rank which) {
    const Rank rank = which == 2 ? 4 : which;
    auto mine = meet(id, options_of(rank, 8, 1500ms));
    ASSERT_FALSE(mine.ok());
    EXPECT_EQ(mine.status().code(), Code::timeout) << mine.status().text();
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("missing: ranks 2-3, 5-7"));
  });
}

TEST(Refusal, TwoRanksOfOneNumberAreNamedToAllIncludingThoseWhoComeLater) {
  const UniqueIdBytes id = new_id();
  in_threads(4, [&](Rank which) {
    if (which == 3) std::this_thread::sleep_for(700ms);
    auto mine = meet(id, options_of(which == 2 ? 1 : which == 3 ? 2 : which, 4, 20s));
    ASSERT_FALSE(mine.ok());
    EXPECT_EQ(mine.status().code(), Code::invalid_usage) << mine.status().text();
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("two came as rank 1"));
  });
}

TEST(Refusal, DifferentRankCountsAreNamedToAll) {
  const UniqueIdBytes id = new_id();
  in_threads(2, [&](Rank rank) {
    auto mine = meet(id, options_of(rank, 3 + rank, 20s));
    ASSERT_FALSE(mine.ok());
    EXPECT_EQ(mine.status().code(), Code::invalid_usage);
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("4"));
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("rank 1 ("));
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("rank 0 ("));
  });
}

TEST(Refusal, AnotherProtocolVersionIsNamedToBothSides) {
  const UniqueIdBytes id = new_id();
  const Descriptor stranger = connect_to(id);
  std::thread rank([&] {
    auto mine = meet(id, options_of(0, 2, 20s));
    ASSERT_FALSE(mine.ok());
    EXPECT_EQ(mine.status().code(), Code::invalid_usage);
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("rank 1 (elsewhere, pid 777) speaks protocol 8 (Toric 9.9)"));
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("rank 0 ("));
  });
  std::this_thread::sleep_for(300ms);
  send_hello(stranger, crafted(id, 1, 2), 8);
  auto answer = receive_frame(stranger.get(), 4096, Clock::now() + 10s);
  ASSERT_TRUE(answer.ok()) << answer.status().text();
  EXPECT_EQ(answer->type, FrameType::failure);
  EXPECT_THAT(std::string(decode_failure(answer->payload).text()), HasSubstr("speaks protocol 8"));
  rank.join();
}

TEST(Refusal, ARankThatDiesAfterItsHelloIsNamed) {
  const UniqueIdBytes id = new_id();
  std::thread rank([&] {
    auto mine = meet(id, options_of(0, 2, 20s));
    ASSERT_FALSE(mine.ok());
    EXPECT_EQ(mine.status().code(), Code::remote_error);
    EXPECT_THAT(std::string(mine.status().text()), HasSubstr("rank 1 (elsewhere, pid 777) ended"));
  });
  std::this_thread::sleep_for(300ms);
  Descriptor peer = connect_to(id);
  send_hello(peer, crafted(id, 1, 2));
  auto welcome = receive_frame(peer.get(), 4096, Clock::now() + 10s);
  ASSERT_TRUE(welcome.ok());
  auto assign = receive_frame(peer.get(), 4096, Clock::now() + 10s);
  ASSERT_TRUE(assign.ok());
  EXPECT_EQ(assign->type, FrameType::assign);
  peer.reset();
  rank.join();
}

Frame next_frame(const Descriptor& socket, FrameType type) {
  auto frame = receive_frame(socket.get(), 1 << 16, Clock::now() + 20s);
  EXPECT_TRUE(frame.ok()) << frame.status().text();
  if (!frame.ok()) return {};
  EXPECT_EQ(frame->type, type);
  return std::move(*frame);
}

void send_joined(const Descriptor& socket, std::uint32_t round, const std::string& why_not) {
  Joined joined;
  joined.round = round;
  joined.why_not = why_not;
  EXPECT_TRUE(send_frame(socket.get(), FrameType::joined, encode(joined), Clock::now() + 5s).ok());
}

/// `crafted_rank` claims this host's identity without being able to share memory: the other rank is real.
void expect_two_hosts(Rank crafted_rank) {
  const UniqueIdBytes id = new_id();
  std::thread real([&] { EXPECT_FALSE(meet(id, options_of(1 - crafted_rank, 2, 4s)).ok()); });
  const Descriptor peer = connect_to(id);
  Hello hello = crafted(id, crafted_rank, 2);
  hello.host_key = host_identity("").key;
  hello.local_name = "toric/nobody listens here";
  send_hello(peer, hello);
  next_frame(peer, FrameType::welcome);
  const auto first = decode_assign(next_frame(peer, FrameType::assign).payload);
  if (first) {
    EXPECT_EQ(first->local_ranks, (std::vector<Rank>{0, 1}));
  }
  send_joined(peer, 0, crafted_rank == 0 ? "" : "its leader cannot be reached");
  const auto second = decode_assign(next_frame(peer, FrameType::assign).payload);
  if (second) {
    EXPECT_EQ(second->local_ranks, std::vector<Rank>{crafted_rank});
  }
  if (second) {
    EXPECT_EQ(second->hosts, 2U);
  }
  send_joined(peer, 1, "");
  const auto table = decode_start(next_frame(peer, FrameType::start).payload);
  if (table) {
    EXPECT_EQ(table->hosts.size(), 2U);
  }
  real.join();
}

TEST(SharedMemory, IsTriedNotBelievedByAMember) { expect_two_hosts(0); }

TEST(SharedMemory, ALeaderGoesOnWithoutTheRanksThatCannotShareIt) { expect_two_hosts(1); }

TEST(Refusal, GarbageAndSilenceAndHalfMessagesDoNotDisturb) {
  const UniqueIdBytes id = new_id();
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 40; ++i) strangers.push_back(connect_to(id));
  const std::string web = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto hello = encode_frame(FrameType::hello, encode(crafted(id, 1, 2)));
  for (std::size_t i = 0; i < strangers.size(); ++i) {
    const int socket = strangers[i].get();
    if (i % 4 == 0) {
      EXPECT_TRUE(send_all(socket, std::as_bytes(std::span(web)), Clock::now() + 5s).ok());
    }
    if (i % 4 == 1) {
      EXPECT_TRUE(send_all(socket, std::span(hello).first(hello.size() - 3), Clock::now() + 5s).ok());
    }
    if (i % 4 == 2) {  // a length that nobody has
      ByteWriter header;
      header.put(frame_magic);
      header.put(protocol_version);
      header.put(static_cast<std::uint16_t>(FrameType::hello));
      header.put(std::uint32_t{0xfffffff0});
      EXPECT_TRUE(send_all(socket, header.bytes(), Clock::now() + 5s).ok());
    }
  }
  Hello other_meeting = crafted(id, 1, 2);
  other_meeting.nonce[0] ^= 1;
  strangers.push_back(connect_to(id));
  send_hello(strangers.back(), other_meeting);
  auto all = met(meet_in_threads(id, 2, 20s));
  in_threads(2, [&](Rank rank) { EXPECT_TRUE(all[static_cast<std::size_t>(rank)]->all_gather({}).ok()); });
  auto answer = receive_frame(strangers.back().get(), 4096, Clock::now() + 5s);
  EXPECT_FALSE(answer.ok());  // closed without a word
}

TEST(Refusal, AnIdWithoutAMakerSaysSoAfterAWhile) {
  UniqueIdBytes id{};
  {
    auto listener = listen_tcp(0, 0);
    ASSERT_TRUE(listener.ok());
    IdContents contents;
    contents.nonce = {1, 2};
    contents.port = port_of(*listener);
    contents.addresses = {SocketAddress::ipv4({127, 0, 0, 1}, 0)};
    id = encode_id(contents);
  }
  const Deadline began = Clock::now();
  auto mine = meet(id, options_of(1, 2, 700ms));
  ASSERT_FALSE(mine.ok());
  EXPECT_LT(Clock::now() - began, 5s);
  EXPECT_THAT(std::string(mine.status().text()), HasSubstr("127.0.0.1"));
  EXPECT_THAT(std::string(mine.status().text()), HasSubstr("made the id"));
}

TEST(Refusal, MistakesInTheArgumentsAreSaidAtOnce) {
  const UniqueIdBytes id = new_id(1s);
  EXPECT_EQ(meet(id, options_of(2, 2)).status().code(), Code::invalid_argument);
  EXPECT_EQ(meet(id, options_of(-1, 2)).status().code(), Code::invalid_argument);
  EXPECT_EQ(meet(id, options_of(0, 0)).status().code(), Code::invalid_argument);
  EXPECT_EQ(meet(UniqueIdBytes{}, options_of(0, 2)).status().code(), Code::invalid_argument);
  EXPECT_EQ(meet_at("no such host.invalid", 4000, options_of(1, 2)).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_unique_id("nosuchinterface", 1s).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace toric::testing
