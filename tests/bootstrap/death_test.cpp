// Processes that are killed while others wait.
#include "harness.hpp"

#include <gmock/gmock.h>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

/// Meets, publishes one call, says "ready", and waits for an error, which it says.
std::vector<Process> waiting_ranks(Rank ranks, const std::function<void(MeetingOptions&)>& adjust = {},
                                   const std::function<void(Membership&)>& before = {}) {
  std::vector<Process> processes;
  for (Rank rank = 0; rank < ranks; ++rank)
    processes.emplace_back([=](const UniqueIdBytes& id, const Process::Out& out) {
      MeetingOptions options = options_of(rank, ranks);
      if (adjust) adjust(options);
      auto mine = meet(id, options);
      if (!mine.ok()) return out.say(std::string(mine.status().text()));
      (*mine)->control().publish(call(1));
      if (before) before(**mine);
      out.say("ready");
      const Status status = wait_for_error((*mine)->control(), 60s);
      out.say(std::string(status.text()));
      std::this_thread::sleep_for(60s);  // killed by the test: neither leaves nor destroys anything
    });
  const UniqueIdBytes id = new_id();
  for (Process& process : processes) process.tell(id);
  for (Process& process : processes) EXPECT_EQ(process.line(), "ready");
  return processes;
}

void expect_death_noticed(std::vector<Process>& processes, Rank victim, Clock::duration within = 2s) {
  const std::string named = "rank " + std::to_string(victim) + " (";
  const std::string pid = "pid " + std::to_string(processes[static_cast<std::size_t>(victim)].pid());
  const Deadline killed = Clock::now();
  processes[static_cast<std::size_t>(victim)].kill_now();
  std::string first;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    if (static_cast<Rank>(rank) == victim) continue;
    const std::string text = processes[rank].line();
    EXPECT_LT(Clock::now() - killed, within);
    EXPECT_THAT(text, HasSubstr(named));
    EXPECT_THAT(text, HasSubstr(pid));
    EXPECT_THAT(text, HasSubstr("has died"));
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << "not the same on every rank";
  }
}

TEST(Death, OfAMemberIsNoticedByAll) {
  auto processes = waiting_ranks(4);
  expect_death_noticed(processes, 2);
}

TEST(Death, OfTheLeaderIsNoticedByAll) {
  auto processes = waiting_ranks(4);
  expect_death_noticed(processes, 0);
}

TEST(Death, OfTheLastButOneIsNoticed) {
  auto processes = waiting_ranks(2);
  expect_death_noticed(processes, 1);
}

TEST(Death, IsNoticedEvenIfAForkedChildHoldsTheSockets) {
  for (const Rank victim : {1, 0}) {
    auto processes = waiting_ranks(3, {}, [victim](Membership& mine) {
      if (mine.rank() == victim && ::fork() == 0) {
        std::this_thread::sleep_for(5s);
        ::_exit(0);
      }
    });
    expect_death_noticed(processes, victim);
  }
}

TEST(Death, AfterTheLeaderHasFinishedIsNoticed) {
  std::vector<Process> processes;
  for (Rank rank = 0; rank < 3; ++rank)
    processes.emplace_back([rank](const UniqueIdBytes& id, const Process::Out& out) {
      auto mine = meet(id, options_of(rank, 3));
      if (!mine.ok()) return out.say(std::string(mine.status().text()));
      (*mine)->control().publish(call(1));
      if (rank == 0) {
        (*mine)->control().leave(Presence::finished);
        mine->reset();
        out.say("ready");
        return;
      }
      eventually([&] { return (*mine)->control().presence(0) == Presence::finished; });
      out.say("ready");
      if (rank == 1) std::this_thread::sleep_for(60s);
      out.say(std::string(wait_for_error((*mine)->control()).text()));
    });
  const UniqueIdBytes id = new_id();
  for (Process& process : processes) process.tell(id);
  for (Process& process : processes) EXPECT_EQ(process.line(), "ready");
  const Deadline killed = Clock::now();
  processes[1].kill_now();
  EXPECT_THAT(processes[2].line(), HasSubstr("rank 1 ("));
  EXPECT_LT(Clock::now() - killed, 2s);
}

TEST(Death, OnAnotherHostCrosses) {
  const auto four_hosts = [](MeetingOptions& options) { options.host_id = std::string(1, static_cast<char>('a' + options.rank % 4)); };
  for (const Rank victim : {5, 7, 1}) {  // members, and the leader of an inner host: those below it are cut off, and notice by themselves
    auto processes = waiting_ranks(8, four_hosts);
    expect_death_noticed(processes, victim);
  }
}

TEST(Death, OfTheTreesRootCrosses) {
  auto processes =
      waiting_ranks(6, [](MeetingOptions& options) { options.host_id = std::string(1, static_cast<char>('a' + options.rank % 3)); });
  expect_death_noticed(processes, 0);
}

TEST(Death, InTheMiddleOfAMeetingIsNamed) {
  std::vector<Process> processes;
  for (Rank rank = 0; rank < 3; ++rank)
    processes.emplace_back([rank](const UniqueIdBytes& id, const Process::Out& out) {
      auto mine = meet(id, options_of(rank, 3));
      if (!mine.ok()) return out.say(std::string(mine.status().text()));
      out.say("ready");
      if (rank == 2) std::this_thread::sleep_for(60s);
      auto everyone = (*mine)->all_gather({});
      out.say(std::string(everyone.status().text()));
    });
  const UniqueIdBytes id = new_id();
  for (Process& process : processes) process.tell(id);
  for (Process& process : processes) EXPECT_EQ(process.line(), "ready");
  const Deadline killed = Clock::now();
  processes[2].kill_now();
  for (const std::size_t rank : {0U, 1U}) EXPECT_THAT(processes[rank].line(), HasSubstr("rank 2 ("));
  EXPECT_LT(Clock::now() - killed, 2s);
}

}  // namespace
}  // namespace toric::testing
