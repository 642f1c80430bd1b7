#include "toric/comm/group.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace toric {
namespace {

/// With several communicators a sleeping thread hears one doorbell only: it looks at the others this often.
constexpr Clock::duration nap = std::chrono::microseconds(500);

/// Apart from the rest, because every call asks for it.
[[gnu::tls_model("initial-exec")]] thread_local constinit int depth = 0;

struct GroupState {
  std::vector<GroupQueue> queues;
  std::vector<PendingStart> starts;
  Status first_error;
};

GroupState& group() {
  static thread_local GroupState state;
  return state;
}

void keep_first(Status& first, const Status& status) {
  if (first.ok() && !status.ok()) first = status;
}

/// Ranks under one id are siblings: one thread makes them, and may forget later that it owns them all.
void join_siblings(std::vector<PendingStart>& starts) {
  for (PendingStart& start : starts) {
    const auto first = std::find_if(starts.begin(), starts.end(), [&](const PendingStart& other) { return other.id == start.id; });
    if (!first->options.siblings) first->options.siblings = std::make_shared<Siblings>(first->ranks);
    start.options.siblings = first->options.siblings;
    if (start.ranks == first->ranks) start.options.siblings->add(start.rank);
  }
}

Status run_starts(std::vector<PendingStart>& starts) {
  join_siblings(starts);
  std::vector<Status> results(starts.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      threads.emplace_back([&, i] {
        name_own_thread();
        const PendingStart& start = starts[i];
        auto communicator = start_rank(start.id, start.ranks, start.rank, start.options);
        if (communicator.ok())
          start.deliver(*std::move(communicator));
        else
          results[i] = communicator.status();
      });
    }
  }
  for (const Status& status : results) TORIC_TRY(status);
  return {};
}

/// Begins calls until one is running or none is left.
Status begin_next(GroupQueue& queue) {
  while (queue.next < queue.calls.size()) {
    const Status status = queue.communicator->begin(queue.calls[queue.next++]);
    if (!status.ok() || queue.communicator->running()) return status;
  }
  queue.open = false;
  return {};
}

/// One visit to each communicator. A failed one is closed; the others go on.
bool poll_all(std::span<GroupQueue> queues, Status& first) {
  bool moved = false;
  for (GroupQueue& queue : queues) {
    if (!queue.open) continue;
    const Progress progress = queue.communicator->poll();
    if (progress == Progress::idle) continue;
    moved = true;
    queue.communicator->progressed();
    if (progress != Progress::done) continue;
    const Status status = begin_next(queue);
    if (!status.ok()) queue.open = false;
    keep_first(first, status);
  }
  return moved;
}

/// False: nothing is open any more.
bool look_and_sleep(std::span<GroupQueue> queues, Status& first) {
  GroupQueue* sleeper = nullptr;
  int open = 0;
  for (GroupQueue& queue : queues) {
    if (!queue.open) continue;
    const Status status = queue.communicator->look();
    keep_first(first, status);
    queue.open = status.ok();
    if (!queue.open) continue;
    sleeper = &queue;
    ++open;
  }
  if (sleeper == nullptr) return false;
  const Progress progress = sleeper->communicator->sleep(Clock::now() + (open == 1 ? longest_sleep : nap));
  if (progress != Progress::done) return true;
  const Status status = begin_next(*sleeper);
  if (!status.ok()) sleeper->open = false;
  keep_first(first, status);
  return true;
}

Status drive_claimed(std::span<GroupQueue> queues) {
  Status first;
  WaitPolicy policy;
  for (GroupQueue& queue : queues) {
    policy.spins = std::min(policy.spins, queue.communicator->wait_policy().spins);
    const Status status = begin_next(queue);
    if (!status.ok()) queue.open = false;
    keep_first(first, status);
  }
  Backoff backoff(policy);
  while (std::any_of(queues.begin(), queues.end(), [](const GroupQueue& queue) { return queue.open; })) {
    if (poll_all(queues, first))
      backoff.moved();
    else if (!backoff.stay_awake() && !look_and_sleep(queues, first))
      break;
  }
  return first;
}

}  // namespace

Status drive(std::span<GroupQueue> queues) {
  std::size_t claimed = 0;
  Status status;
  while (claimed < queues.size() && (status = queues[claimed].communicator->claim()).ok()) ++claimed;
  if (status.ok()) status = drive_claimed(queues);
  for (std::size_t i = 0; i < claimed; ++i) queues[i].communicator->unclaim();
  return status;
}

bool in_group() noexcept { return depth > 0; }

void group_start() noexcept { ++depth; }

void group_note(const Status& error) { keep_first(group().first_error, error); }

void group_add(Communicator& communicator, const CollectiveCall& call) {
  auto& queues = group().queues;
  auto found = std::find_if(queues.begin(), queues.end(), [&](const GroupQueue& queue) { return queue.communicator == &communicator; });
  if (found == queues.end()) {
    queues.push_back({&communicator, {}});
    found = queues.end() - 1;
  }
  found->calls.push_back(call);
}

void group_add_start(PendingStart start) { group().starts.push_back(std::move(start)); }

Status group_end() {
  if (depth == 0) return {Code::invalid_usage, "toricGroupEnd without toricGroupStart before it on this thread"};
  if (--depth > 0) return {};
  GroupState& state = group();
  GroupState ended = std::move(state);
  state = GroupState();
  TORIC_TRY(ended.first_error);
  if (!ended.starts.empty() && !ended.queues.empty())
    return {Code::invalid_usage, "a group holds either starts of communicators or collective calls, not both: use two groups"};
  if (!ended.starts.empty()) return run_starts(ended.starts);
  return drive(ended.queues);
}

}  // namespace toric
