// The root of a meeting: a thread that collects one hello of every rank, checks them against one another, lets the ranks
// of a host find out whether they really share memory, and gives everyone the same table. It trusts no connection: strangers,
// silence and half-sent messages cost a slot for a few seconds and nothing else.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/rendezvous_messages.hpp"
#include "toric/comm/socket.hpp"

namespace toric {

struct RendezvousOptions {
  Nonce nonce{};            // given to those who are welcome
  bool nonce_known = true;  // ranks must show it (they hold the id); otherwise they know the address only
  Deadline deadline{};      // the end, whoever has come by then
};

/// Serves `listener` from a thread of its own, which ends when all have met, or at the deadline.
Status start_rendezvous(Descriptor listener, const RendezvousOptions& options);

/// The same in the calling thread.
void run_rendezvous_root(Descriptor listener, const RendezvousOptions& options);

}  // namespace toric
