#include "toric/comm/bootstrap_id.hpp"
#include "toric/comm/host_identity.hpp"
#include "toric/comm/rendezvous_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

namespace toric {
namespace {

using ::testing::HasSubstr;

Hello sample_hello() {
  Hello hello;
  hello.rank = 3;
  hello.ranks = 8;
  hello.host = "hostA";
  hello.build = own_build();
  hello.process = 4242;
  hello.nonce = {1, 2};
  hello.member_token = 99;
  hello.host_key = "machine 77";
  hello.local_name = "toric/x";
  hello.remaining_milliseconds = 1500;
  return hello;
}

TEST(Messages, HelloSurvivesTheTrip) {
  const Hello hello = sample_hello();
  const auto back = decode_hello({FrameType::hello, protocol_version, encode(hello)});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->rank, hello.rank);
  EXPECT_EQ(back->ranks, hello.ranks);
  EXPECT_EQ(back->who(), "rank 3 (hostA, pid 4242)");
  EXPECT_EQ(back->nonce, hello.nonce);
  EXPECT_EQ(back->host_key, hello.host_key);
  EXPECT_EQ(back->remaining_milliseconds, hello.remaining_milliseconds);
}

TEST(Messages, EveryShortOrLongPayloadIsRefused) {
  const auto whole = encode(sample_hello());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decode_hello({FrameType::hello, protocol_version, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}}))
        << length;
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_hello({FrameType::hello, protocol_version, longer}));
}

TEST(Messages, AnotherProtocolsHelloStillNamesItsSender) {
  auto payload = encode(sample_hello());
  payload.push_back(std::byte{7});  // its later fields are unknown here
  const auto hello = decode_hello({FrameType::hello, protocol_version + 1, payload});
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->who(), "rank 3 (hostA, pid 4242)");
}

TEST(Messages, TableSurvivesTheTripAndRefusesHostsThatDoNotExist) {
  Start start;
  start.hosts.push_back({"hostA", 0, 7, 4000, {SocketAddress::ipv4({10, 0, 0, 1}, 0), SocketAddress::ipv6({0xfd}, 0)}});
  start.members.resize(3);
  const auto back = decode_start(encode(start));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->hosts[0].addresses, start.hosts[0].addresses);
  start.members[1].host = 1;
  EXPECT_FALSE(decode_start(encode(start)));
}

TEST(Messages, NoiseIsNeverBelieved) {
  std::mt19937 random(17);
  for (int turn = 0; turn < 20000; ++turn) {
    std::vector<std::byte> noise(random() % 200);
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : 0);
    static_cast<void>(decode_hello({FrameType::hello, protocol_version, noise}));
    static_cast<void>(decode_assign(noise));
    static_cast<void>(decode_joined(noise));
    static_cast<void>(decode_start(noise));
    static_cast<void>(decode_join(noise));
    EXPECT_FALSE(decode_failure(noise).ok());
  }
}

TEST(Messages, RanksAreListedInRuns) {
  EXPECT_EQ(describe_ranks(std::vector<Rank>{}), "none");
  EXPECT_EQ(describe_ranks(std::vector<Rank>{3}), "3");
  EXPECT_EQ(describe_ranks(std::vector<Rank>{0, 1, 3, 5, 6, 7}), "0-1, 3, 5-7");
}

IdContents sample_id() {
  IdContents contents;
  contents.nonce = {11, 22};
  contents.machine = 33;
  contents.port = 4444;
  contents.addresses = {SocketAddress::ipv4({10, 0, 0, 5}, 0), SocketAddress::ipv6({0xfd, 1}, 0), SocketAddress::ipv6({0xfd, 2}, 0),
                        SocketAddress::ipv6({0xfd, 3}, 0), SocketAddress::ipv6({0xfd, 4}, 0)};
  return contents;
}

TEST(UniqueId, HoldsTheFirstAddresses) {
  auto back = decode_id(encode_id(sample_id()));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->nonce, sample_id().nonce);
  EXPECT_EQ(back->port, 4444);
  ASSERT_EQ(back->addresses.size(), most_id_addresses);
  EXPECT_EQ(back->addresses[1], sample_id().addresses[1]);
}

TEST(UniqueId, LoopbackIsForTheMakersMachineOnly) {
  EXPECT_EQ(ways_to_root(sample_id(), 33).front().text(), "127.0.0.1:4444");
  const auto others = ways_to_root(sample_id(), 34);
  EXPECT_EQ(others.front().text(), "10.0.0.5:4444");
  for (const SocketAddress& address : others) EXPECT_FALSE(address.is_loopback());
}

TEST(UniqueId, EveryDamagedByteIsNoticed) {
  const UniqueIdBytes id = encode_id(sample_id());
  for (std::size_t i = 0; i < id.size(); ++i) {
    UniqueIdBytes damaged = id;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(decode_id(damaged).ok()) << "byte " << i;
  }
}

TEST(UniqueId, SaysWhatIsWrong) {
  EXPECT_THAT(std::string(decode_id(UniqueIdBytes{}).status().text()), HasSubstr("no unique id"));
  UniqueIdBytes other_version = encode_id(sample_id());
  other_version[4] = 9;
  EXPECT_THAT(std::string(decode_id(other_version).status().text()), HasSubstr("version 9"));
  UniqueIdBytes cut = encode_id(sample_id());
  std::fill(cut.begin() + 20, cut.end(), '\0');  // what a copy as text does
  EXPECT_THAT(std::string(decode_id(cut).status().text()), HasSubstr("damaged"));
}

TEST(HostIdentity, TheOverrideDecides) {
  EXPECT_EQ(host_identity("").key, host_identity("").key);
  EXPECT_NE(host_identity("a").key, host_identity("b").key);
  EXPECT_NE(host_identity("a").key, host_identity("").key);
  EXPECT_EQ(host_identity("a").machine, host_identity("").machine);
}

TEST(HostIdentity, AForkedChildIsAnotherProcess) {
  const std::uint64_t mine = process_token();
  EXPECT_EQ(process_token(), mine);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(process_token() == mine ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace toric
