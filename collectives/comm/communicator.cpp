#include "toric/comm/communicator.hpp"

#include <fmt/format.h>

#include <cstring>
#include <thread>

namespace toric {
namespace {

constexpr Clock::duration abort_patience = std::chrono::seconds(5);

PlanCache::Settings plan_settings(const Membership& members, const Transport& transport, const Agreement& agreed, Wish wish) {
  PlanCache::Settings settings;
  settings.rank = members.rank();
  settings.ranks = members.ranks();
  settings.wish = std::move(wish);
  settings.segment_bytes = std::min(agreed.transport.segment_bytes, transport.segment_bytes());
  settings.slots = agreed.transport.slots;
  settings.window_setting = agreed.window_setting;
  return settings;
}

/// Bytes of the full vector: what thresholds are about.
std::uint64_t vector_bytes(const CollectiveCall& call, Rank ranks) {
  const std::uint64_t block = call.count * size_of(call.type);
  return has_blocks(call.what) ? block * static_cast<std::uint64_t>(ranks) : block;
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::make(std::unique_ptr<Membership> members, Config config, Status problem,
                                                         const Options& options) {
  start_fork_guard();
  if (!options.algorithm.empty()) config.algorithm = options.algorithm;
  if (options.timeout_seconds >= 0) config.timeout_seconds = options.timeout_seconds;
  const Result<Agreement> agreed = agree(*members, config, problem);
  if (!agreed.ok()) return agreed.status();
  Result<Wish> wish = parse_wish(agreed->algorithm);
  if (!wish.ok()) return wish.status();
  Result<std::unique_ptr<Transport>> transport = make_transport(*members, agreed->transport);
  if (!transport.ok()) return transport.status();
  log(LogLevel::info, fmt::format("communicator {}: rank {} of {} on {}, transport {}, {} ranks here on {} CPUs, met in {:.1f} ms",
                                  options.name.empty() ? "without a name" : options.name, members->rank(), members->ranks(),
                                  members->control().host_of(members->rank()), (*transport)->name(), agreed->ranks_here, agreed->cpus_here,
                                  1e3 * (members->report().rendezvous_seconds + members->report().tree_seconds)));
  return std::unique_ptr<Communicator>(
      new Communicator(std::move(members), *std::move(transport), *agreed, *std::move(wish), config, options));
}

Communicator::Communicator(std::unique_ptr<Membership> members, std::unique_ptr<Transport> transport, const Agreement& agreed, Wish wish,
                           const Config& config, const Options& options)
    : members_(std::move(members)),
      control_(members_->control()),
      transport_(std::move(transport)),
      rank_(members_->rank()),
      ranks_(members_->ranks()),
      fork_generation_(fork_generation()),
      policy_(policy_for(agreed.ranks_here, agreed.cpus_here)),
      executor_(*transport_),
      plans_(plan_settings(*members_, *transport_, agreed, std::move(wish)), *transport_),
      watch_({*transport_, control_, executor_, stopped_, rank_, ranks_, config.timeout_seconds, options.name, options.siblings}),
      siblings_(options.siblings) {}

// Local and bounded: what was committed stays readable for the peers, and nobody is asked.
Communicator::~Communicator() { control_.leave(stopped_.load() ? Presence::aborted : Presence::finished); }

Status Communicator::why_not_claimed() const {
  if (is_from_before_fork())
    return {Code::invalid_usage,
            "this communicator was made before fork() and cannot be used in the child: make communicators after forking"};
  return {Code::invalid_usage,
          fmt::format("rank {}: another thread is inside a call on this communicator; one thread at a time may use it", rank_)};
}

Status Communicator::why_unusable() {
  Status why(Code::invalid_usage, "this communicator was finalized: it only takes toricCommDestroy");
  if (stopped_.load(std::memory_order_relaxed)) why = {Code::invalid_usage, "this communicator was aborted"};
  if (control_.failed()) why = control_.error();
  note(why);
  return why;
}

void Communicator::note(const Status& error) {
  const std::scoped_lock lock(last_error_mutex_);
  last_error_ = error.text();
}

std::string Communicator::last_error() const {
  const std::scoped_lock lock(last_error_mutex_);
  return last_error_;
}

Status Communicator::run(const CollectiveCall& call) {
  TORIC_TRY(claim());
  Status status = begin(call);
  if (running_ && !finishes_soon()) status = wait();
  unclaim();
  return status;
}

Status Communicator::begin(const CollectiveCall& call) {
  if (control_.failed() || finalized_ || stopped_.load(std::memory_order_relaxed)) return why_unusable();
  if (siblings_) siblings_->last_user[static_cast<std::size_t>(rank_)].store(Siblings::this_thread(), std::memory_order_relaxed);
  record_.sequence = ++sequence_;
  record_.count = call.count;
  record_.collective = call.what;
  record_.type = call.type;
  record_.op = is_reduction(call.what) ? static_cast<std::uint8_t>(call.op) : std::uint8_t{0};
  record_.root = call.root;
  watch_.moved();
  Status status;
  std::string_view algorithm;
  Progress progress = Progress::done;
  if (call.count != 0 || call.what == Collective::barrier) {
    try {
      status = start(call, algorithm);
      if (status.ok()) progress = executor_.poll();
    } catch (const std::exception& error) {  // no memory for a plan or for scratch: the peers must learn of it
      status = {Code::system_error, watch_.call_name(record_) + ": this rank has no memory left for it (" + error.what() + ")"};
    }
  }
  // While the first messages are under way: peers ask only when they have waited, or when something is wrong.
  control_.publish(record_);
  calls_.begin(record_, algorithm);
  if (!status.ok()) return fail(status);
  running_ = progress != Progress::done;
  if (!running_) calls_.end(CallLog::State::done);
  return {};
}

// Whatever goes wrong from here is everybody's: the peers have begun this call too.
Status Communicator::start(const CollectiveCall& call, std::string_view& algorithm) {
  transport_->stamp(record_.signature());
  Status error;
  const PlanCache::Entry* entry = plans_.find(call.what, call.root, vector_bytes(call, ranks_), error);
  if (entry == nullptr) return {error.code(), watch_.call_name(record_) + ": " + std::string(error.text())};
  algorithm = entry->choice.algorithm->name;
  Call start;
  start.input = call.send;
  start.output = call.receive;
  start.count = call.count;
  start.type = call.type;
  start.op = call.op;
  if (call.op == RedOp::pre_mul_sum) {
    start.factor = call.factor;
    if (call.late_factor != nullptr) std::memcpy(start.factor.bytes, call.late_factor, size_of(call.type));
  }
  if (call.what == Collective::barrier) {
    start.input = barrier_input_.data();
    start.output = barrier_output_.data();
    start.count = 1;
  }
  const Status begun = executor_.start(*entry->plan, start);
  if (!begun.ok()) return {begun.code(), watch_.call_name(record_) + ": " + std::string(begun.text())};
  return {};
}

Progress Communicator::poll() noexcept {
  const Progress progress = step();
  if (progress == Progress::idle) transport_->flush();
  return progress;
}

Progress Communicator::step() noexcept {
  const Progress progress = executor_.poll();
  if (progress == Progress::done) {
    running_ = false;
    calls_.end(CallLog::State::done);
  }
  return progress;
}

// The wait of a call whose peers are there: no clock, no system call, and no fence as long as it is short.
bool Communicator::finishes_soon() noexcept {
  constexpr int short_wait = 16;
  for (int idle = 0; idle <= policy_.spins; ++idle) {
    const Progress progress = idle < short_wait ? step() : poll();
    if (progress == Progress::done) return true;
    if (progress == Progress::moved)
      idle = 0;
    else if (policy_.spins > 0)
      pause_cpu();
  }
  return false;
}

Status Communicator::wait() {
  Backoff backoff({0, policy_.yields});
  for (;;) {
    Progress progress = poll();
    if (progress == Progress::idle) {
      if (backoff.stay_awake()) continue;
      TORIC_TRY(look());
      progress = sleep(Clock::now() + longest_sleep);
    }
    if (progress == Progress::done) return {};
    if (progress == Progress::idle) continue;
    watch_.moved();
    backoff.moved();
    if (policy_.spins > 0 && finishes_soon()) return {};
  }
}

Status Communicator::look() {
  const Status status = watch_.look(record_);
  return status.ok() ? status : fail(status);
}

Progress Communicator::sleep(Deadline until) {
  transport_->arm();
  const Progress progress = poll();
  if (progress != Progress::idle || stopped_.load()) {
    transport_->disarm();
    return progress;
  }
  transport_->wait(until);
  transport_->disarm();
  return Progress::idle;
}

Status Communicator::fail(const Status& status) {
  executor_.cancel();
  running_ = false;
  calls_.end(CallLog::State::failed);
  const Status in_force = watch_.raise(status);
  note(in_force);
  if (!dumped_.exchange(true)) dump_calls(LogLevel::info);  // the error itself is logged by whoever noticed it first
  return in_force;
}

void Communicator::dump_calls(LogLevel level) const {
  if (log_enabled(level)) log(level, fmt::format("rank {}: the last calls, the oldest first:\n{}", rank_, calls_.describe()));
}

Status Communicator::finalize() {
  TORIC_TRY(claim());
  finalized_ = true;
  unclaim();
  return {};
}

Status Communicator::abort() {
  stopped_.store(true);
  control_.raise(
      {Code::remote_error, fmt::format("{} aborted the communicator (toricCommAbort): look there for the reason, then start anew without "
                                       "or with it",
                                       watch_.rank_name(rank_))});
  control_.leave(Presence::aborted);
  transport_->wake(rank_);
  const Clock::time_point patience = Clock::now() + abort_patience;
  while (busy_.exchange(true, std::memory_order_acquire)) {
    if (Clock::now() > patience)
      return {Code::system_error, fmt::format("rank {}: a call did not come back within 5 s of the abort; its memory is kept", rank_)};
    transport_->wake(rank_);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (!dumped_.exchange(true)) dump_calls(LogLevel::info);
  return {};
}

}  // namespace toric
