// Which network addresses to publish: a pure choice from a list of interfaces, so that it can be tried on any list.
#pragma once

#include "toric/comm/socket.hpp"

#include <string>
#include <vector>

namespace toric {

struct InterfaceAddress {
  std::string name;  // eth0
  bool up = true;    // up and with a carrier
  SocketAddress address;
};

struct AddressChoice {
  std::vector<SocketAddress> addresses;  // best first; loopback only when nothing else was left or it was asked for
  std::string reason;                    // which were taken and why others were not, for the log
};

/// `wish`: empty, or names separated by commas, each a prefix or `=exact`; a leading ^ turns the whole list into what to leave out.
/// Without a wish: interfaces that are down, link-local addresses and loopback are left out, and those of containers,
/// bridges and tunnels when there is any other. An error names what there is to choose from.
Result<AddressChoice> choose_addresses(const std::vector<InterfaceAddress>& available, const std::string& wish);

/// This machine's.
Result<std::vector<InterfaceAddress>> list_interfaces();

}  // namespace toric
