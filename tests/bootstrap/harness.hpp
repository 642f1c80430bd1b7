// Ranks as threads and as processes, for tests of the meeting and of the control channel.
#pragma once

#include "toric/comm/bootstrap.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace toric::testing {

using namespace std::chrono_literals;
using MeetResult = Result<std::unique_ptr<Membership>>;

inline UniqueIdBytes new_id(Clock::duration timeout = 60s) {
  auto id = make_unique_id("", timeout);
  EXPECT_TRUE(id.ok()) << id.status().text();
  return id.ok() ? *id : UniqueIdBytes{};
}

inline MeetingOptions options_of(Rank rank, Rank ranks, Clock::duration timeout = 60s) {
  MeetingOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.timeout = timeout;
  return options;
}

/// One thread a rank; returns when all have returned.
inline void in_threads(Rank ranks, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

using Adjust = std::function<void(MeetingOptions&)>;

/// All ranks of one id meet in threads of this process; the results by rank.
inline std::vector<MeetResult> meet_in_threads(const UniqueIdBytes& id, Rank ranks, Clock::duration timeout = 60s,
                                               const Adjust& adjust = {}) {
  std::vector<MeetResult> results;
  for (Rank rank = 0; rank < ranks; ++rank) results.emplace_back(Status(Code::internal_error, "has not met"));
  in_threads(ranks, [&](Rank rank) {
    MeetingOptions options = options_of(rank, ranks, timeout);
    if (adjust) adjust(options);
    results[static_cast<std::size_t>(rank)] = meet(id, options);
  });
  return results;
}

/// The memberships of ranks that must have met.
inline std::vector<std::unique_ptr<Membership>> met(std::vector<MeetResult> results) {
  std::vector<std::unique_ptr<Membership>> memberships;
  for (MeetResult& result : results) {
    EXPECT_TRUE(result.ok()) << result.status().text();
    memberships.push_back(result.ok() ? std::move(*result) : nullptr);
  }
  return memberships;
}

inline std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  if (DIR* open = ::opendir(folder)) {
    while (::readdir(open) != nullptr) ++count;
    ::closedir(open);
  }
  return count;
}
inline std::size_t open_descriptors() { return entries_of("/proc/self/fd"); }
inline std::size_t running_threads() { return entries_of("/proc/self/task"); }

/// True as soon as `condition` is.
inline bool eventually(const std::function<bool()>& condition, Clock::duration within = 10s) {
  for (const Deadline end = Clock::now() + within; Clock::now() < end; std::this_thread::sleep_for(5ms))
    if (condition()) return true;
  return condition();
}

/// A forked process. It starts before any thread of its test exists, and is told the id afterwards.
class Process {
 public:
  /// What a rank's process can say to its test before it ends: one line at a time.
  class Out {
   public:
    explicit Out(int descriptor) : descriptor_(descriptor) {}
    void say(std::string line) const {
      line += '\n';
      [[maybe_unused]] const ssize_t written = ::write(descriptor_, line.data(), line.size());
    }

   private:
    int descriptor_;
  };

  explicit Process(const std::function<void(const UniqueIdBytes&, const Out&)>& body) {
    int in[2] = {}, out[2] = {};
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(in[1]);
      ::close(out[0]);
      UniqueIdBytes id{};
      if (::read(in[0], id.data(), id.size()) == static_cast<ssize_t>(id.size())) body(id, Out(out[1]));
      ::_exit(0);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
  }
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), in_(std::exchange(other.in_, -1)), out_(std::exchange(other.out_, -1)), rest_(other.rest_) {}
  Process(const Process&) = delete;
  ~Process() {
    kill_now();
    if (in_ >= 0) ::close(in_);
    if (out_ >= 0) ::close(out_);
  }

  void tell(const UniqueIdBytes& id) const { ASSERT_EQ(::write(in_, id.data(), id.size()), static_cast<ssize_t>(id.size())); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  void kill_now() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  /// The next line it says; "(silence)" after `within`, "(end)" when there is no more.
  std::string line(Clock::duration within = 60s) {
    for (const Deadline end = Clock::now() + within;;) {
      if (const auto at = rest_.find('\n'); at != std::string::npos) {
        std::string found = rest_.substr(0, at);
        rest_.erase(0, at + 1);
        return found;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd polled{out_, POLLIN, 0};
      if (left <= 0 || ::poll(&polled, 1, static_cast<int>(left)) <= 0) return "(silence)";
      char buffer[4096];
      const ssize_t got = ::read(out_, buffer, sizeof buffer);
      if (got <= 0) return "(end)";
      rest_.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
  std::string rest_;
};

/// Examines every 20 ms until there is an error.
inline Status wait_for_error(ControlChannel& control, Clock::duration within = 30s) {
  for (const Deadline begin = Clock::now(); Clock::now() < begin + within; std::this_thread::sleep_for(20ms)) {
    Status status = control.examine(Clock::now() - begin);
    if (!status.ok()) return status;
  }
  return {};
}

inline CallRecord call(std::uint64_t sequence, std::uint64_t count = 100, Collective collective = Collective::all_reduce) {
  CallRecord record;
  record.sequence = sequence;
  record.count = count;
  record.collective = collective;
  record.type = DataType::float32;
  return record;
}

}  // namespace toric::testing
