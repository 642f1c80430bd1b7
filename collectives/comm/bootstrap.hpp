// Meeting: ranks that know a unique id (or an address) find one another over TCP, learn who shares a host, and end with an
// Exchange for setting up transports and a ControlChannel. Every step has the one deadline given at the start.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/control.hpp"
#include "toric/transport.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace toric {

using UniqueIdBytes = std::array<char, 128>;

struct MeetingOptions {
  Rank rank = 0;
  Rank ranks = 1;
  Clock::duration timeout = std::chrono::minutes(2);  // of the whole meeting
  std::string interface;  // network interface (prefix; =exact, ^exclude) for listening; empty: chosen, and the choice logged
  std::string host_id;    // overrides host identity; different strings are always different hosts
  std::string name;       // the communicator's, for texts
  std::uint16_t first_port = 0, last_port = 0;  // ports to listen on, where firewalls are; 0: any
};

/// Phase times and sockets, for people who start many ranks.
struct MeetingReport {
  double rendezvous_seconds = 0, tree_seconds = 0;
  int sockets = 0;  // most this rank held at once
};

/// Where each rank is; equal on all ranks.
struct MemberInfo {
  Rank rank = 0;
  std::string host;              // name, for texts
  std::uint32_t host_index = 0;  // equal for ranks that share memory
  std::int64_t process = 0;
  std::uint64_t process_token = 0;  // random per process: equal token, one address space
};

/// Its Exchange calls wait for at most the meeting's `timeout` each, and end at once when the communicator has failed.
/// Destruction is local and takes less than a second whatever the peers do; without ControlChannel::leave before it,
/// peers are told that this rank aborted. In a forked child it only closes what it holds.
class Membership : public Exchange {
 public:
  [[nodiscard]] virtual const std::vector<MemberInfo>& members() const = 0;
  [[nodiscard]] virtual bool one_process() const = 0;
  [[nodiscard]] virtual bool one_host() const = 0;
  [[nodiscard]] virtual ControlChannel& control() = 0;
  [[nodiscard]] virtual const MeetingReport& report() const = 0;
};

/// Makes an id and starts answering for it (a thread of this process, gone when the ranks have met or after
/// `timeout`). `interface` as in MeetingOptions.
Result<UniqueIdBytes> make_unique_id(const std::string& interface, Clock::duration timeout, std::uint16_t first_port = 0,
                                     std::uint16_t last_port = 0);

/// Blocks until all have met. Errors list the ranks that did not come, and name what differs (versions, rank counts,
/// a rank that came twice).
Result<std::unique_ptr<Membership>> meet(const UniqueIdBytes& id, const MeetingOptions& options);

/// The same at an address agreed beforehand: rank 0's process listens on it, the others keep trying until the deadline.
Result<std::unique_ptr<Membership>> meet_at(const std::string& address, std::uint16_t port, const MeetingOptions& options);

}  // namespace toric
