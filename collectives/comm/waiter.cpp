#include "toric/comm/waiter.hpp"

#include "toric/comm/call_log.hpp"
#include "toric/comm/log.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace toric {
namespace {

constexpr const char* own_name = "toric";

/// Threads of this process that are not the library's own; 2 when that cannot be read.
int foreign_threads() {
  int count = 0;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name != own_name) ++count;
  }
  return error ? 2 : count;
}

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void name_own_thread() noexcept { pthread_setname_np(pthread_self(), own_name); }

WaitPolicy policy_for(int ranks_here, int cpus_here) { return ranks_here <= cpus_here ? WaitPolicy{2000, 100} : WaitPolicy{0, 100}; }

Siblings::Siblings(Rank ranks) : creator(this_thread()), last_user(static_cast<std::size_t>(ranks)) {
  for (auto& user : last_user) user = UINT64_MAX;
}

std::uint64_t Siblings::this_thread() noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit std::uint64_t number = 0;
  if (number == 0) number = ticks() | 1;  // two threads cannot both begin in the same cycle and matter
  return number;
}

bool Backoff::stay_awake() noexcept {
  if (idle_ >= policy_.spins + policy_.yields) return false;
  if (++idle_ <= policy_.spins)
    pause_cpu();
  else
    sched_yield();
  return true;
}

std::string Watch::rank_name(Rank rank) const { return fmt::format("rank {} ({})", rank, parts_.control.host_of(rank)); }

std::string Watch::call_name(const CallRecord& record) const {
  return fmt::format("{} #{} on {}{}{}", name_of(record.collective), record.sequence, rank_name(parts_.rank),
                     parts_.name.empty() ? "" : " of communicator ", parts_.name);
}

Status Watch::raise(const Status& status) {
  parts_.control.raise(status);
  const Status in_force = parts_.control.error();
  return in_force.ok() ? status : in_force;
}

Status Watch::look(const CallRecord& record) {
  if (parts_.stopped.load(std::memory_order_relaxed)) {
    const Status error = parts_.control.error();
    return error.ok() ? Status(Code::remote_error, call_name(record) + ": the communicator was aborted by another thread of this process")
                      : error;
  }
  if (parts_.control.failed()) return parts_.control.error();
  const Status transport = parts_.transport.failed();
  if (!transport.ok()) return raise(explain_transport(record, transport));
  const Clock::time_point now = Clock::now();
  if (!waiting_) {
    waiting_ = true;
    began_ = examined_ = now;
    next_late_ = now + late_after;
    return {};
  }
  if (now - examined_ < longest_sleep) return {};
  examined_ = now;
  return examine(record, now - began_);
}

Status Watch::examine(const CallRecord& record, Clock::duration waited) {
  TORIC_TRY(parts_.control.examine(waited));
  if (const Status itself = waits_for_itself(record, waited); !itself.ok()) return raise(itself);
  if (parts_.timeout_seconds > 0 && seconds(waited) >= parts_.timeout_seconds) {
    return raise({Code::timeout, fmt::format("{}: nothing moved for {:.3g} s: {}; find out what keeps it, or raise TORIC_TIMEOUT ({} s)",
                                             call_name(record), seconds(waited), late_ranks(), parts_.timeout_seconds)});
  }
  if (examined_ >= next_late_) {
    log(LogLevel::warn, fmt::format("{}: nothing moved for {:.0f} s: {}", call_name(record), seconds(waited), late_ranks()));
    next_late_ = examined_ + late_again_after;
  }
  return {};
}

// A clause of its own: "rank 2 is not here yet; ...".
std::string Watch::late_ranks() const {
  std::string late = parts_.control.describe_late();
  const Executor::Waiting waiting = parts_.executor.waiting();
  if (waiting.any && waiting.peer >= 0) late += fmt::format("{}this rank waits for {}", late.empty() ? "" : "; ", rank_name(waiting.peer));
  return late;
}

std::optional<CallRecord> Watch::record_with(Rank rank, std::uint64_t signature) const {
  const std::uint64_t last = parts_.control.last_sequence(rank);
  for (std::uint64_t sequence = last > 16 ? last - 15 : 1; sequence <= last; ++sequence) {
    const auto theirs = parts_.control.record_of(rank, sequence);
    if (theirs && theirs->signature() == signature) return theirs;
  }
  return std::nullopt;
}

// A rank whose call of the same number differs is the mistake; what came over the wire may be a later call of a rank that
// did not have to wait.
std::string Watch::differing_call(const CallRecord& record, const Transport::Mismatch& mismatch) const {
  // What came may be a moment ahead of the word about it.
  for (int tries = 0; tries < 50 && !record_with(mismatch.peer, mismatch.theirs); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (Rank step = 0; step < parts_.ranks; ++step) {
    const Rank other = (mismatch.peer + step) % parts_.ranks;  // the peer first
    const auto theirs = parts_.control.record_of(other, record.sequence);
    if (theirs && !theirs->same_call(record))
      return fmt::format("{} calls {} as its call #{}", rank_name(other), theirs->describe(), record.sequence);
  }
  if (const auto theirs = record_with(mismatch.peer, mismatch.theirs))
    return fmt::format("{} calls {} as its call #{}", rank_name(mismatch.peer), theirs->describe(), theirs->sequence);
  return rank_name(mismatch.peer) + " makes another call";
}

Status Watch::explain_transport(const CallRecord& record, const Status& failure) const {
  const auto mismatch = parts_.transport.mismatch();
  if (!mismatch) return {failure.code(), call_name(record) + ": " + std::string(failure.text())};
  return {Code::invalid_usage,
          fmt::format("{}: this rank calls {}, but {}; all ranks must make the same calls in the same order with the same "
                      "count, type, operator and root",
                      call_name(record), record.describe(), differing_call(record, *mismatch))};
}

// Another rank of this communicator that the waiting thread itself would have to drive cannot come. It is certain when
// the process has no other thread; otherwise the rank may still be handed to one, so it gets as long as a late peer.
Status Watch::waits_for_itself(const CallRecord& record, Clock::duration waited) const {
  if (!parts_.siblings) return {};
  const std::uint64_t me = Siblings::this_thread();
  for (Rank other = 0; other < parts_.ranks; ++other) {
    if (other == parts_.rank || parts_.control.last_sequence(other) >= record.sequence) continue;
    const std::uint64_t user = parts_.siblings->last_user[static_cast<std::size_t>(other)].load(std::memory_order_relaxed);
    if (user != me && !(user == 0 && parts_.siblings->creator == me)) continue;
    if (waited < late_after && foreign_threads() > 1) return {};
    return {Code::invalid_usage,
            fmt::format("{}: waits for {}, which the same thread owns and which is idle; put the calls of all ranks of one thread between "
                        "toricGroupStart and toricGroupEnd",
                        call_name(record), rank_name(other))};
  }
  return {};
}

}  // namespace toric
