// What the ranks settle before the first call. Everything that changes messages is rank 0's; what differs locally is
// logged; whatever makes one rank unable to take part is an error on all of them that names the rank.
#pragma once

#include "toric/comm/bootstrap.hpp"
#include "toric/comm/config.hpp"

#include <memory>
#include <string>

namespace toric {

struct Agreement {
  std::string algorithm;  // the wish in force
  TransportConfig transport;
  std::size_t window_setting = 0;
  int ranks_here = 1;  // on this host
  int cpus_here = 1;   // that those ranks may run on, together
};

/// Collective. `problem`: why this rank cannot take part, ok otherwise.
Result<Agreement> agree(Membership& members, const Config& config, const Status& problem);

/// Collective. The first transport in order of preference that can join these ranks and that every rank could make.
Result<std::unique_ptr<Transport>> make_transport(Membership& members, const TransportConfig& config);

}  // namespace toric
