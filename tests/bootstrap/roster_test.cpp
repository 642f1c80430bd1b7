#include "toric/comm/rendezvous_roster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace toric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Hello hello_of(Rank rank, Rank ranks, const std::string& key) {
  Hello hello;
  hello.rank = rank;
  hello.ranks = ranks;
  hello.host = "host-" + key;
  hello.process = 100 + rank;
  hello.nonce = {1, 2};
  hello.member_token = static_cast<std::uint64_t>(rank) + 1;
  hello.host_key = key;
  hello.local_name = "socket " + std::to_string(rank);
  return hello;
}

Roster roster_of(const std::vector<std::string>& keys) {
  Roster roster({1, 2}, true);
  const auto ranks = static_cast<Rank>(keys.size());
  for (Rank rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(roster.admit(hello_of(rank, ranks, keys[static_cast<std::size_t>(rank)]), protocol_version).ok());
  return roster;
}

TEST(Roster, GroupsByHostWhereverTheRanksAre) {
  const Roster roster = roster_of({"b", "a", "b", "a", "c"});
  EXPECT_EQ(roster.missing_count(), 0U);
  EXPECT_THAT(roster.assignment_of(3).local_ranks, ElementsAre(1, 3));
  EXPECT_EQ(roster.assignment_of(3).leader_name, "socket 1");
  EXPECT_EQ(roster.assignment_of(4).hosts, 3U);
}

TEST(Roster, RanksThatCannotReachTheirLeaderBecomeAHostOfTheirOwn) {
  Roster roster = roster_of({"clone", "clone", "clone", "clone"});
  for (Rank rank = 0; rank < 4; ++rank) {
    Joined joined;
    if (rank >= 2) joined.why_not = "refused";
    roster.note_joined(rank, joined);
  }
  ASSERT_TRUE(roster.round_complete());
  ASSERT_TRUE(roster.regroup());
  EXPECT_THAT(roster.assignment_of(1).local_ranks, ElementsAre(0, 1));
  EXPECT_THAT(roster.assignment_of(3).local_ranks, ElementsAre(2, 3));
  EXPECT_EQ(roster.assignment_of(0).round, 1U);
  EXPECT_FALSE(roster.round_complete());
  roster.note_joined(0, Joined{});  // an answer to the round before
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(roster.round_complete());
    Joined joined;
    joined.round = 1;
    roster.note_joined(rank, joined);
  }
  ASSERT_TRUE(roster.round_complete());
  EXPECT_FALSE(roster.regroup());
  const Start table = roster.table();
  ASSERT_EQ(table.hosts.size(), 2U);
  EXPECT_EQ(table.hosts[1].leader, 2);
  EXPECT_EQ(table.members[3].host, 1U);
}

TEST(Roster, NamesBothSidesOfEveryDisagreement) {
  const auto text = [](const Hello& second, std::uint16_t protocol) {
    Roster roster({1, 2}, true);
    EXPECT_TRUE(roster.admit(hello_of(0, 4, "a"), protocol_version).ok());
    const Status status = roster.admit(second, protocol);
    EXPECT_EQ(status.code(), Code::invalid_usage);
    return std::string(status.text());
  };
  EXPECT_THAT(text(hello_of(1, 3, "b"), protocol_version), HasSubstr("rank 1 (host-b, pid 101) says that there are 3 ranks"));
  EXPECT_THAT(text(hello_of(1, 3, "b"), protocol_version), HasSubstr("rank 0 (host-a, pid 100) says 4"));
  Hello twin = hello_of(0, 4, "b");
  twin.member_token = 77;
  twin.process = 555;
  EXPECT_THAT(text(twin, protocol_version), HasSubstr("two came as rank 0: rank 0 (host-a, pid 100) and rank 0 (host-b, pid 555)"));
  EXPECT_THAT(text(hello_of(1, 4, "b"), 9), HasSubstr("rank 1 (host-b, pid 101) speaks protocol 9"));
  Hello big_endian = hello_of(1, 4, "b");
  big_endian.endianness = static_cast<std::uint8_t>(3 - own_endianness());
  EXPECT_THAT(text(big_endian, protocol_version), HasSubstr("byte order"));
}

TEST(Roster, ASecondAttemptOfTheSameRankIsNoSecondRank) {
  Roster roster({1, 2}, true);
  EXPECT_TRUE(roster.admit(hello_of(0, 2, "a"), protocol_version).ok());
  EXPECT_TRUE(roster.admit(hello_of(0, 2, "a"), protocol_version).ok());
  EXPECT_EQ(roster.came(), 1U);
}

TEST(Roster, ListsWhoIsMissing) {
  Roster roster({1, 2}, true);
  for (const Rank rank : {0, 1, 2, 4}) EXPECT_TRUE(roster.admit(hello_of(rank, 9, "a"), protocol_version).ok());
  EXPECT_THAT(roster.describe_missing(), HasSubstr("4 of 9 ranks have come, missing: ranks 3, 5-8"));
}

TEST(Roster, StrangersAreNotOurs) {
  const Roster roster({1, 2}, true);
  Hello hello = hello_of(0, 2, "a");
  EXPECT_TRUE(roster.is_ours(hello, protocol_version));
  hello.nonce = {1, 3};
  EXPECT_FALSE(roster.is_ours(hello, protocol_version));
  hello = hello_of(2, 2, "a");
  EXPECT_FALSE(roster.is_ours(hello, protocol_version));
}

}  // namespace
}  // namespace toric
