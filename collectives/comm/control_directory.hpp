// Who the ranks of a communicator are, for texts and for finding the way to them. Never changes.
#pragma once

#include "toric/comm/bootstrap.hpp"
#include "toric/comm/rendezvous_messages.hpp"

#include <optional>
#include <string>
#include <vector>

namespace toric {

struct Directory {
  Rank rank = 0;  // ours
  Nonce nonce{};
  std::string name;  // the communicator's; may be empty
  std::vector<HostEntry> hosts;
  std::vector<MemberInfo> members;  // by rank
  std::vector<std::uint64_t> pid_spaces;
  std::vector<Rank> local;  // the ranks of this host, ascending: the first one leads

  [[nodiscard]] const MemberInfo& of(Rank peer) const { return members[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const MemberInfo& self() const { return of(rank); }
  [[nodiscard]] std::uint32_t host() const { return self().host_index; }
  [[nodiscard]] Rank leader() const { return local.front(); }
  [[nodiscard]] bool leads() const { return leader() == rank; }
  [[nodiscard]] std::string who(Rank peer) const;  // "rank 1 (hostB, pid 123)"
  /// What everyone is told of a death; the same wherever it is noticed. `last`: the call it published last, if any.
  [[nodiscard]] Status death_of(Rank peer, const std::optional<CallRecord>& last) const;
};

[[nodiscard]] Directory make_directory(Rank rank, const Nonce& nonce, std::string name, Start table);

}  // namespace toric
