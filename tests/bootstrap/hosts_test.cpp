// Several hosts, by name, on one machine: everything between them goes over TCP.
#include "harness.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::unique_ptr<Membership>> on_hosts(Rank ranks, Rank hosts, Clock::duration timeout = 60s) {
  return met(meet_in_threads(new_id(), ranks, timeout, [hosts](MeetingOptions& options) {
    options.host_id = "host" + std::to_string(options.rank % hosts);
    options.name = "test";
  }));
}

TEST(Hosts, MembersAreEqualOnAllRanks) {
  auto all = on_hosts(5, 2);
  for (const auto& mine : all) {
    EXPECT_FALSE(mine->one_host());
    EXPECT_TRUE(mine->one_process());
    for (Rank rank = 0; rank < 5; ++rank) {
      const MemberInfo& member = mine->members()[static_cast<std::size_t>(rank)];
      EXPECT_EQ(member.rank, rank);
      EXPECT_EQ(member.host_index, static_cast<std::uint32_t>(rank % 2));
      EXPECT_THAT(member.host, HasSubstr("host" + std::to_string(rank % 2)));
      EXPECT_EQ(member.process, ::getpid());
    }
  }
}

TEST(Hosts, GatherAcrossTreesOfAnyShape) {
  for (const Rank hosts : {2, 3, 4, 7, 12}) {
    constexpr Rank ranks = 13;
    auto all = on_hosts(ranks, hosts);
    in_threads(ranks, [&](Rank rank) {
      Membership& mine = *all[static_cast<std::size_t>(rank)];
      for (int turn = 0; turn < 3; ++turn) {
        const std::vector<std::byte> part(static_cast<std::size_t>(rank * 1000 * turn), static_cast<std::byte>(rank + turn));
        auto everyone = mine.all_gather(part);
        ASSERT_TRUE(everyone.ok()) << everyone.status().text();
        for (Rank peer = 0; peer < ranks; ++peer)
          EXPECT_EQ((*everyone)[static_cast<std::size_t>(peer)],
                    std::vector<std::byte>(static_cast<std::size_t>(peer * 1000 * turn), static_cast<std::byte>(peer + turn)));
      }
      EXPECT_LE(mine.report().sockets, 20);
    });
  }
}

TEST(Hosts, DescriptorsStayOnTheirHost) {
  auto all = on_hosts(4, 2);
  in_threads(4, [&](Rank rank) {
    const int mine = rank == 1 ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    auto shared = all[static_cast<std::size_t>(rank)]->share_descriptor(mine, 1);
    EXPECT_EQ(shared.ok(), rank % 2 == 1) << shared.status().text();
    if (shared.ok()) ::close(*shared);
    if (mine >= 0) ::close(mine);
    EXPECT_TRUE(all[static_cast<std::size_t>(rank)]->all_gather({}).ok());
  });
}

TEST(Hosts, AnErrorCrosses) {
  for (const Rank raiser : {0, 6, 3}) {
    auto all = on_hosts(8, 5);
    all[static_cast<std::size_t>(raiser)]->control().raise({Code::timeout, "the text of rank " + std::to_string(raiser)});
    for (const auto& mine : all) {
      EXPECT_TRUE(eventually([&] { return mine->control().failed(); }, 2s));
      EXPECT_EQ(mine->control().error().code(), Code::timeout);
      EXPECT_EQ(mine->control().error().text(), "the text of rank " + std::to_string(raiser));
    }
  }
}

TEST(Hosts, ErrorsRaisedEverywhereAtOnceEndAsOne) {
  for (int turn = 0; turn < 5; ++turn) {
    auto all = on_hosts(7, 7);
    in_threads(7, [&](Rank rank) {
      all[static_cast<std::size_t>(rank)]->control().raise({Code::timeout, "raised by rank " + std::to_string(rank)});
      EXPECT_TRUE(all[static_cast<std::size_t>(rank)]->control().failed());
    });
    for (const auto& mine : all) EXPECT_EQ(mine->control().error().text(), all[0]->control().error().text());
  }
}

TEST(Hosts, ADifferentCallIsFoundAcross) {
  auto all = on_hosts(6, 3);
  for (Rank rank = 0; rank < 6; ++rank)
    for (std::uint64_t i = 1; i <= 9; ++i) all[static_cast<std::size_t>(rank)]->control().publish(call(i, i == 9 && rank == 5 ? 0 : 100));
  std::vector<Status> found(6);
  in_threads(6, [&](Rank rank) { found[static_cast<std::size_t>(rank)] = wait_for_error(all[static_cast<std::size_t>(rank)]->control()); });
  const Status status = found[0];
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(std::string(status.text()), HasSubstr("communicator 'test': all_reduce #9 on rank "));
  EXPECT_THAT(std::string(status.text()), HasSubstr("rank 5 ("));
  EXPECT_THAT(std::string(status.text()), HasSubstr("count 0"));
  for (const Status& other : found) EXPECT_EQ(other.text(), status.text());
}

TEST(Hosts, ALateRankElsewhereIsNamed) {
  auto all = on_hosts(4, 2);
  for (Rank rank = 0; rank < 4; ++rank)
    for (std::uint64_t i = 1; i <= (rank == 3 ? 2U : 3U); ++i) all[static_cast<std::size_t>(rank)]->control().publish(call(i));
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(all[0]->control().examine(200ms).ok());
    return all[0]->control().last_sequence(1) == 3 && all[0]->control().last_sequence(3) == 2;
  }));
  EXPECT_THAT(all[0]->control().describe_late(), HasSubstr("rank 3 is not here yet"));
}

TEST(Hosts, OneThatFinishedElsewhereIsNoErrorAndOneThatAbortedIs) {
  auto all = on_hosts(6, 3);
  for (const auto& mine : all) mine->control().publish(call(1));
  all[4]->control().leave(Presence::finished);
  all[4].reset();
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(all[2]->control().examine(200ms).ok()) << all[2]->control().error().text();
    return all[2]->control().presence(4) == Presence::finished;
  }));
  all[5]->control().leave(Presence::aborted);
  const Status status = wait_for_error(all[0]->control());
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(std::string(status.text()), HasSubstr("rank 5 ("));
}

TEST(Hosts, DestructionIsQuickInAnyOrder) {
  for (int turn = 0; turn < 2; ++turn) {
    auto all = on_hosts(7, 7);
    for (Rank i = 0; i < 7; ++i) {
      const auto rank = static_cast<std::size_t>(turn == 0 ? i : 6 - i);
      all[rank]->control().leave(Presence::finished);
      const Deadline began = Clock::now();
      all[rank].reset();
      EXPECT_LT(Clock::now() - began, 1s);
    }
  }
}

TEST(Hosts, AreFewSocketsEach) {
  auto all = on_hosts(12, 12);
  for (const auto& mine : all) EXPECT_LE(mine->report().sockets, 2 + 2 + 1 + 6);
}

}  // namespace
}  // namespace toric::testing
