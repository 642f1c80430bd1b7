#include "harness.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "toric/comm/socket.hpp"

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> part_of(Rank rank, int turn) {
  // Lengths differ, and some are empty.
  return std::vector<std::byte>(static_cast<std::size_t>((rank * 7 + turn) % 5 * 100), static_cast<std::byte>(rank + turn));
}

class Meet : public ::testing::TestWithParam<Rank> {};

TEST_P(Meet, ThreadsMeetAndGather) {
  const Rank ranks = GetParam();
  auto all = met(meet_in_threads(new_id(), ranks));
  in_threads(ranks, [&](Rank rank) {
    Membership& mine = *all[static_cast<std::size_t>(rank)];
    EXPECT_EQ(mine.rank(), rank);
    EXPECT_EQ(mine.ranks(), ranks);
    EXPECT_TRUE(mine.one_host());
    EXPECT_TRUE(mine.one_process());
    for (int turn = 0; turn < 3; ++turn) {
      auto everyone = mine.all_gather(part_of(rank, turn));
      ASSERT_TRUE(everyone.ok()) << everyone.status().text();
      for (Rank peer = 0; peer < ranks; ++peer) EXPECT_EQ((*everyone)[static_cast<std::size_t>(peer)], part_of(peer, turn));
    }
  });
}

TEST_P(Meet, EveryRankSharesADescriptorWithAll) {
  const Rank ranks = GetParam();
  auto all = met(meet_in_threads(new_id(), ranks));
  in_threads(ranks, [&](Rank rank) {
    for (Rank owner = 0; owner < std::min<Rank>(ranks, 5); ++owner) {
      Descriptor mine(owner == rank ? ::memfd_create("test", MFD_CLOEXEC) : -1);
      const std::string text = "of rank " + std::to_string(owner);
      if (owner == rank) {
        ASSERT_EQ(::pwrite(mine.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
      }
      auto shared = all[static_cast<std::size_t>(rank)]->share_descriptor(mine.get(), owner);
      ASSERT_TRUE(shared.ok()) << shared.status().text();
      const Descriptor got(*shared);
      EXPECT_NE(got.get(), mine.get());
      EXPECT_NE(::fcntl(got.get(), F_GETFD) & FD_CLOEXEC, 0);
      char read[64] = {};
      EXPECT_EQ(::pread(got.get(), read, sizeof read, 0), static_cast<ssize_t>(text.size()));
      EXPECT_EQ(read, text);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Meet, ::testing::Values(1, 2, 3, 17, 64));

TEST(Meeting, ADescriptorThatIsNotOpenIsEveryonesError) {
  auto all = met(meet_in_threads(new_id(), 3));
  in_threads(3, [&](Rank rank) {
    for (const Rank owner : {0, 2}) {
      auto shared = all[static_cast<std::size_t>(rank)]->share_descriptor(-1, owner);
      EXPECT_EQ(shared.status().code(), Code::invalid_argument);
      EXPECT_THAT(std::string(shared.status().text()), HasSubstr("rank " + std::to_string(owner)));
    }
    EXPECT_TRUE(all[static_cast<std::size_t>(rank)]->all_gather({}).ok());
  });
}

TEST(Meeting, ProcessesMeetThroughAMakerThatIsNoRank) {
  constexpr Rank ranks = 5;
  std::vector<Process> processes;
  for (Rank rank = 0; rank < ranks; ++rank)
    processes.emplace_back([rank](const UniqueIdBytes& id, const Process::Out& out) {
      auto mine = meet(id, options_of(rank, ranks));
      if (!mine.ok()) return out.say(std::string(mine.status().text()));
      const std::byte number{static_cast<unsigned char>(rank)};
      auto everyone = (*mine)->all_gather({&number, 1});
      if (!everyone.ok()) return out.say(std::string(everyone.status().text()));
      for (Rank peer = 0; peer < ranks; ++peer)
        if ((*everyone)[static_cast<std::size_t>(peer)][0] != std::byte{static_cast<unsigned char>(peer)}) return out.say("wrong bytes");
      if ((*mine)->one_process() || !(*mine)->one_host()) return out.say("wrong scope");
      Descriptor memory(rank == 3 ? ::memfd_create("test", MFD_CLOEXEC) : -1);
      if (rank == 3 && ::ftruncate(memory.get(), 4096) != 0) return out.say("no memory");
      auto shared = (*mine)->share_descriptor(memory.get(), 3);
      if (!shared.ok()) return out.say(std::string(shared.status().text()));
      struct stat about {};
      ::fstat(*shared, &about);
      out.say(about.st_size == 4096 ? "ok" : "wrong descriptor");
      (*mine)->control().leave(Presence::finished);
    });
  const UniqueIdBytes id = new_id();
  for (Process& process : processes) process.tell(id);
  for (Process& process : processes) EXPECT_EQ(process.line(), "ok");
}

TEST(Meeting, TwoIdsAtOnceDoNotMix) {
  const UniqueIdBytes first = new_id(), second = new_id();
  in_threads(2, [&](Rank which) {
    auto all = met(meet_in_threads(which == 0 ? first : second, 3 + which));
    in_threads(3 + which, [&](Rank rank) {
      auto everyone = all[static_cast<std::size_t>(rank)]->all_gather({});
      ASSERT_TRUE(everyone.ok()) << everyone.status().text();
      EXPECT_EQ(everyone->size(), static_cast<std::size_t>(3 + which));
    });
  });
}

TEST(Meeting, ManyInSequenceLeaveNothing) {
  met(meet_in_threads(new_id(), 2));
  ASSERT_TRUE(eventually([] { return running_threads() == entries_of("/proc/self/task"); }));
  std::this_thread::sleep_for(200ms);
  const std::size_t descriptors = open_descriptors(), threads = running_threads();
  for (int turn = 0; turn < 30; ++turn)
    met(meet_in_threads(new_id(), 3, 60s, [&](MeetingOptions& options) {
      if (turn % 2 == 1) options.host_id = "host " + std::to_string(options.rank % 2);
    }));
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; })) << open_descriptors() << " after " << descriptors;
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; })) << running_threads() << " after " << threads;
}

TEST(Meeting, FailedOnesLeaveNothingEither) {
  met(meet_in_threads(new_id(), 1));
  std::this_thread::sleep_for(200ms);
  const std::size_t descriptors = open_descriptors(), threads = running_threads();
  for (int turn = 0; turn < 5; ++turn) EXPECT_FALSE(meet(new_id(1s), options_of(0, 2, 300ms)).ok());
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors; })) << open_descriptors() << " after " << descriptors;
  EXPECT_TRUE(eventually([&] { return running_threads() <= threads; })) << running_threads() << " after " << threads;
}

TEST(Meeting, AtAnAddressOfEitherFamilyAgainAndAgain) {
  for (const char* address : {"127.0.0.1", "::1", "localhost"}) {
    for (int turn = 0; turn < 3; ++turn) {
      std::uint16_t port = 0;
      {
        auto probe = listen_tcp(0, 0);
        ASSERT_TRUE(probe.ok());
        port = port_of(*probe);
      }
      for (int again = 0; again < 3; ++again)  // a rank that is quick comes to the next meeting while the last one still ends
        in_threads(3, [&](Rank rank) {
          auto mine = meet_at(address, port, options_of(rank, 3));
          ASSERT_TRUE(mine.ok()) << address << ": " << mine.status().text();
          EXPECT_TRUE((*mine)->all_gather({}).ok());
        });
    }
  }
}

TEST(Meeting, RanksMayComeLongBeforeRankZeroListens) {
  std::uint16_t port = 0;
  {
    auto probe = listen_tcp(0, 0);
    port = port_of(*probe);
  }
  in_threads(2, [&](Rank rank) {
    if (rank == 0) std::this_thread::sleep_for(500ms);
    auto mine = meet_at("127.0.0.1", port, options_of(rank, 2));
    EXPECT_TRUE(mine.ok()) << mine.status().text();
  });
}

TEST(Meeting, PortsAreTakenFromTheRangeGiven) {
  std::uint16_t port = 0;
  {
    auto probe = listen_tcp(0, 0);
    port = port_of(*probe);
  }
  auto first = listen_tcp(port, static_cast<std::uint16_t>(port + 20));
  auto second = listen_tcp(port, static_cast<std::uint16_t>(port + 20));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(port_of(*first), port);
  EXPECT_GT(port_of(*second), port);
  EXPECT_LE(port_of(*second), port + 20);
  auto none = listen_tcp(port, port);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(std::string(none.status().text()), HasSubstr(std::to_string(port)));
}

TEST(Meeting, ReportsPhasesAndSockets) {
  auto all = met(meet_in_threads(new_id(), 4));
  EXPECT_EQ(all[0]->report().sockets, 2 + 2 * 3);
  EXPECT_EQ(all[3]->report().sockets, 4);
  EXPECT_GT(all[0]->report().rendezvous_seconds, 0);
}

}  // namespace
}  // namespace toric::testing
