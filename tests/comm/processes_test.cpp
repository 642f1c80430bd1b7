// Ranks as processes: starts by id and by environment, data, sudden deaths, and what fork() leaves behind.
#include "cases.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Child processes that run body(rank): what it returns is wrong with that rank; empty is well.
class Family {
 public:
  using Body = std::function<std::string(int rank)>;
  Family(int ranks, const Body& body) {
    for (int rank = 0; rank < ranks; ++rank) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
      const pid_t child = ::fork();
      if (child == 0) {
        const std::string wrong = body(rank);
        [[maybe_unused]] const auto written = ::write(ends[1], wrong.data(), wrong.size());
        ::_exit(wrong.empty() ? 0 : 1);
      }
      ::close(ends[1]);
      children_.push_back({child, ends[0]});
    }
  }
  ~Family() {
    for (const Child& child : children_) ::close(child.answer);
  }

  void kill(int rank) const { ::kill(children_[static_cast<std::size_t>(rank)].process, SIGKILL); }

  /// What each rank returned, or "died".
  std::vector<std::string> join() {
    std::vector<std::string> answers;
    for (const Child& child : children_) {
      std::string answer;
      std::array<char, 512> part{};
      for (ssize_t got; (got = ::read(child.answer, part.data(), part.size())) > 0;)
        answer.append(part.data(), static_cast<std::size_t>(got));
      int status = 0;
      ::waitpid(child.process, &status, 0);
      answers.push_back(WIFSIGNALED(status) ? "died" : answer);
    }
    return answers;
  }

 private:
  struct Child {
    pid_t process;
    int answer;
  };
  std::vector<Child> children_;
};

std::string every_case_of_every_size(int rank, int ranks, toricComm_t comm) {
  int salt = 0;
  const auto p = static_cast<std::size_t>(ranks);
  for (const std::size_t count : std::set<std::size_t>{0, 1, p - 1, p, p + 1, 1009, 50'021, 400'003}) {
    const std::string wrong = every_case(rank, ranks, comm, {count, salt % 2 == 1, static_cast<std::size_t>(salt % 3), salt});
    if (!wrong.empty()) return wrong;
    ++salt;
  }
  return "";
}

TEST(Processes, MeetByAnIdOfTheirParent) {
  for (const int ranks : {1, 2, 3, 5}) {
    toricUniqueId id;
    ASSERT_TRUE(ok(toricGetUniqueId(&id)));
    Family family(ranks, [&](int rank) -> std::string {
      toricComm_t comm = nullptr;
      if (toricCommInitRank(&comm, ranks, id, rank) != toricSuccess) return toricGetLastError(nullptr);
      const std::string wrong = every_case_of_every_size(rank, ranks, comm);
      return !wrong.empty() ? wrong : toricCommDestroy(comm) == toricSuccess ? "" : toricGetLastError(nullptr);
    });
    for (const std::string& answer : family.join()) EXPECT_EQ(answer, "");
  }
}

TEST(Processes, MeetByTheEnvironment) {
  constexpr int ranks = 3;
  const std::string port = std::to_string(20'000 + ::getpid() % 20'000);
  Family family(ranks, [&](int rank) -> std::string {
    ::setenv("WORLD_SIZE", "3", 1);
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("MASTER_ADDR", "localhost", 1);
    ::setenv("TORIC_PORT", port.c_str(), 1);
    toricComm_t comm = nullptr;
    if (toricCommInitEnvironment(&comm, nullptr) != toricSuccess) return toricGetLastError(nullptr);
    const std::string wrong = every_case_of_every_size(rank, ranks, comm);
    return !wrong.empty() ? wrong : toricCommDestroy(comm) == toricSuccess ? "" : toricGetLastError(nullptr);
  });
  for (const std::string& answer : family.join()) EXPECT_EQ(answer, "");
}

TEST(Processes, AreListedWhenTheyDoNotCome) {
  toricUniqueId id;
  ASSERT_TRUE(ok(toricGetUniqueId(&id)));
  Family family(2, [&](int rank) -> std::string {
    ::setenv("TORIC_INIT_TIMEOUT", "1", 1);
    toricComm_t comm = nullptr;
    if (toricCommInitRank(&comm, 4, id, rank) == toricSuccess) return "a start without ranks 2 and 3";
    const std::string text = toricGetLastError(nullptr);
    return text.find("2-3") != std::string::npos || text.find("2, 3") != std::string::npos ? "" : text;
  });
  for (const std::string& answer : family.join()) EXPECT_EQ(answer, "");
}

/// All ranks call all_reduce until one is killed; the others must fail within 2 s of it, naming it.
void survive_the_death_of(int victim, std::size_t count) {
  constexpr int ranks = 3;
  toricUniqueId id;
  ASSERT_TRUE(ok(toricGetUniqueId(&id)));
  const std::size_t shared_memory = static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/dev/shm"), {}));
  Family family(ranks, [&](int rank) -> std::string {
    toricComm_t comm = nullptr;
    if (toricCommInitRank(&comm, ranks, id, rank) != toricSuccess) return toricGetLastError(nullptr);
    std::vector<float> data(count, 0);
    const double begin = now();
    double last_success = begin;
    while (toricAllReduce(data.data(), data.data(), count, toricFloat, toricSum, comm, nullptr) == toricSuccess) {
      last_success = now();
      if (last_success - begin > 30) return "nobody was killed";
    }
    const double waited = now() - last_success;
    const std::string text = toricGetLastError(comm), name = "rank " + std::to_string(victim);
    if (text.find(name) == std::string::npos) return "the text does not name " + name + ": " + text;
    if (waited > 2.5) return "it took " + std::to_string(waited) + " s";
    return toricCommDestroy(comm) == toricSuccess ? "" : "destroy failed";
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  family.kill(victim);
  const std::vector<std::string> answers = family.join();
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(answers[static_cast<std::size_t>(rank)], rank == victim ? "died" : "") << "rank " << rank;
  EXPECT_EQ(static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/dev/shm"), {})), shared_memory);
}

TEST(Processes, NameAMemberThatWasKilled) { survive_the_death_of(1, 16); }
TEST(Processes, NameALeaderThatWasKilled) { survive_the_death_of(0, 16); }
TEST(Processes, NameAMemberThatWasKilledInALargeCall) { survive_the_death_of(2, 1 << 20); }

TEST(Processes, ForkedFromARankCannotUseItsCommunicator) {
  World world(1);
  EXPECT_TRUE(ok(toricBarrier(world.comm(0), nullptr)));
  Family family(1, [&](int) -> std::string {
    const double begin = now();
    toricResult_t state = toricSuccess;
    if (toricBarrier(world.comm(0), nullptr) != toricInvalidUsage) return "a barrier in the child";
    const std::string text = toricGetLastError(nullptr);
    if (text.find("fork") == std::string::npos) return text;
    if (toricCommGetAsyncError(world.comm(0), &state) != toricSuccess || state != toricInvalidUsage)
      return "no asynchronous error in the child";
    if (toricCommDestroy(world.comm(0)) != toricSuccess) return "destroy in the child";
    toricComm_t own = nullptr;  // its own ones work
    if (toricCommInitAll(&own, 1, nullptr) != toricSuccess || toricBarrier(own, nullptr) != toricSuccess) return toricGetLastError(nullptr);
    if (toricCommDestroy(own) != toricSuccess) return toricGetLastError(nullptr);
    return now() - begin < 5 ? "" : "it took too long";
  });
  EXPECT_EQ(family.join().front(), "");
  EXPECT_TRUE(ok(toricBarrier(world.comm(0), nullptr)));  // and the parent's is unharmed
}

}  // namespace
}  // namespace toric::testing
