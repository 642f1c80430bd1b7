// The hosts' leaders in a binary tree over TCP, by host index: at most three neighbours each, two connections to each.
#pragma once

#include "toric/comm/bootstrap_host.hpp"
#include "toric/comm/control_directory.hpp"
#include "toric/comm/socket.hpp"

#include <optional>
#include <vector>

namespace toric {

struct TreeLink {
  std::uint32_t host = 0;  // at the other end
  SocketPair sockets;
};

struct Tree {
  std::optional<TreeLink> up;
  std::vector<TreeLink> down;
};

/// For a leader, when there are several hosts. Strangers at the listener are ignored.
Result<Tree> join_tree(const Directory& directory, const Descriptor& listener, Deadline deadline);

}  // namespace toric
