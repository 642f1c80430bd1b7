// The ranks of one host around their leader: two local sockets each, and shared memory passed over one of them. That the
// passing worked, and that both sides see what the other wrote, is the proof that these ranks share memory.
#pragma once

#include "toric/comm/control_segment.hpp"
#include "toric/comm/rendezvous_messages.hpp"
#include "toric/comm/socket.hpp"
#include "toric/comm/socket_frame.hpp"

#include <poll.h>

#include <memory>
#include <vector>

namespace toric {

/// Two connections between the same two ends: the caller's thread uses one, the control service the other.
struct SocketPair {
  Descriptor exchange, control;
};

struct HostGroup {
  std::vector<Rank> local;  // ascending: the first one leads
  std::unique_ptr<ControlSegment> segment;
  SocketPair leader;                // a member's
  std::vector<SocketPair> members;  // a leader's, by position in `local`; the first is empty
};

/// The leader's side: serves whoever connects, without ever waiting.
class HostLeader {
 public:
  static Result<std::unique_ptr<HostLeader>> create(const Assign& assign, Rank ranks);
  void add_to(std::vector<pollfd>& polled) const;
  Status serve(const Descriptor& listener);
  /// The others could not join: they are of another host after all.
  void keep_only(const std::vector<Rank>& local);
  /// Everyone has both sockets, and wrote into the shared memory.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] HostGroup take() { return std::move(group_); }

 private:
  struct Guest {
    Descriptor socket;
    FrameReader reader{256};
    Deadline came = Clock::now();
  };
  Status seat(Guest& guest, const JoinPeer& join);
  Nonce nonce_{};
  Descriptor memory_;
  HostGroup group_;
  std::vector<Guest> guests_;
};

/// The member's side, blocking until the leader has answered.
Result<HostGroup> join_leader(const Assign& assign, Rank rank, Rank ranks, Deadline deadline);

}  // namespace toric
