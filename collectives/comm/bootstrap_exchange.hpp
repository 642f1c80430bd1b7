// The collective set-up calls: up to the host's leader, up the tree of leaders, and down again; O(log hosts) rounds.
#pragma once

#include "toric/comm/bootstrap_tree.hpp"
#include "toric/comm/control_directory.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

class HostExchange {
 public:
  /// `control` outlives this object: its error ends every wait, and every error here becomes its.
  HostExchange(const Directory& directory, ControlChannel& control, Clock::duration timeout)
      : directory_(directory), control_(control), timeout_(timeout) {}

  Descriptor leader;                                           // a member's socket
  std::vector<Descriptor> members;                             // a leader's, by position in Directory::local
  std::vector<std::pair<std::uint32_t, Descriptor>> up, down;  // a leader's neighbours: at most one up, two down

  using Everyone = std::vector<std::vector<std::byte>>;
  Result<Everyone> all_gather(std::span<const std::byte> mine);
  Result<int> share_descriptor(int descriptor, Rank owner);

 private:
  struct Call;
  Result<std::vector<std::byte>> gather_at_leader(std::span<const std::byte> mine, const Call& call);
  Status collect(int socket, Rank from, std::vector<std::vector<std::byte>>& parts, const Call& call);
  Status distribute(std::span<const std::byte> table, const Call& call);
  Result<Descriptor> fetch(int descriptor, Rank owner, const Call& call);
  [[nodiscard]] Call begin(std::string_view what);
  /// Makes it the communicator's error, unless it came from there or the mistake is the caller's alone.
  Status failure(const Status& status, Rank peer, const Call& call);

  const Directory& directory_;
  ControlChannel& control_;
  Clock::duration timeout_;
  std::uint64_t calls_ = 0;
};

}  // namespace toric
