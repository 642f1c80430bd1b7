// What the 128 bytes of a unique id hold. Little-endian everywhere; checked, since ids travel by copy and paste.
#pragma once

#include "toric/comm/bootstrap.hpp"
#include "toric/comm/rendezvous_messages.hpp"
#include "toric/comm/socket.hpp"

#include <cstdint>
#include <vector>

namespace toric {

inline constexpr std::size_t most_id_addresses = 4;

struct IdContents {
  Nonce nonce{};
  std::uint64_t machine = 0;  // the maker's: ranks there reach it over loopback
  std::uint16_t port = 0;
  std::vector<SocketAddress> addresses;  // without port, best first
};

[[nodiscard]] UniqueIdBytes encode_id(const IdContents& contents);
Result<IdContents> decode_id(const UniqueIdBytes& id);
/// Where to look, in this order, for a rank on `machine`.
[[nodiscard]] std::vector<SocketAddress> ways_to_root(const IdContents& contents, std::uint64_t machine);

}  // namespace toric
