// A rank's side of the rendezvous: finds the root at one of several addresses, says hello, joins its host's leader, and
// comes back with the table of all ranks.
#pragma once

#include "toric/comm/bootstrap.hpp"
#include "toric/comm/bootstrap_host.hpp"
#include "toric/comm/control_directory.hpp"

#include <string>
#include <vector>

namespace toric {

struct MeetingPoint {
  std::vector<SocketAddress> addresses;  // tried in this order, again and again
  Nonce nonce{};
  bool by_id = false;  // then somebody must be listening already
};

struct Met {
  Directory directory;
  HostGroup host;
  Descriptor tree_listener;  // a leader's, when there are several hosts
  int sockets = 0;
};

Result<Met> meet_at_point(const MeetingPoint& point, const MeetingOptions& options, Deadline deadline);

}  // namespace toric
