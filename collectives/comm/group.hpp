// Groups: between start and end, calls are collected; the end of the outermost group issues them, each communicator's in
// order, and polls all communicators together until every call has ended. State is the calling thread's own.
#pragma once

#include "toric/comm/start.hpp"

#include <functional>
#include <span>
#include <vector>

namespace toric {

[[nodiscard]] bool in_group() noexcept;
void group_start() noexcept;
/// The first error wins. Not ok without a group_start() before it.
Status group_end();

/// A rank to be started by the end of a group, in a thread of its own, together with all others of the group.
struct PendingStart {
  UniqueIdBytes id{};
  Rank ranks = 1, rank = 0;
  Communicator::Options options;
  std::function<void(std::unique_ptr<Communicator>)> deliver;  // called once, on success
};

/// Inside a group: for its end.
void group_add(Communicator& communicator, const CollectiveCall& call);
void group_add_start(PendingStart start);
/// An error inside the group: its end then runs nothing and returns the first one.
void group_note(const Status& error);

/// One communicator's calls, driven together with others by one thread.
struct GroupQueue {
  Communicator* communicator = nullptr;
  std::vector<CollectiveCall> calls;
  std::size_t next = 0;
  bool open = true;  // something is left to do
};
Status drive(std::span<GroupQueue> queues);

}  // namespace toric
