// The messages of the rendezvous, each a plain struct with its coding. Decoders refuse anything short, long or out of range.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/socket_frame.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace toric {

/// 16 unpredictable bytes that only those who hold the id (or were welcomed) know.
using Nonce = std::array<std::uint64_t, 2>;

inline constexpr std::uint64_t capability_shared_memory = 1;
inline constexpr std::uint64_t own_capabilities = capability_shared_memory;
[[nodiscard]] std::uint8_t own_endianness();
[[nodiscard]] std::string own_build();

struct Hello {
  // The first fields are the same in every protocol version, so that a refusal can name both sides.
  Rank rank = 0, ranks = 0;
  std::string host, build;
  std::int64_t process = 0;
  // From here on they may change with the protocol.
  std::uint8_t endianness = own_endianness();
  std::uint64_t capabilities = own_capabilities;
  Nonce nonce{};                   // of the id; zero when an address was agreed instead
  std::uint64_t member_token = 0;  // one per meeting and rank: tells a second attempt from a second rank of that number
  std::uint64_t process_token = 0, machine = 0, pid_space = 0;
  std::string host_key, local_name;
  std::int64_t remaining_milliseconds = 0;

  [[nodiscard]] std::string who() const;  // "rank 1 (hostB, pid 123)"
};
[[nodiscard]] std::vector<std::byte> encode(const Hello& hello);
[[nodiscard]] std::optional<Hello> decode_hello(const Frame& frame);

struct Assign {
  std::uint32_t round = 0;
  Nonce nonce{};
  std::uint32_t hosts = 0;
  std::string leader_name;        // of the leader's local socket
  std::vector<Rank> local_ranks;  // ascending: the first one leads
};
[[nodiscard]] std::vector<std::byte> encode(const Assign& assign);
[[nodiscard]] std::optional<Assign> decode_assign(std::span<const std::byte> payload);

struct Joined {
  std::uint32_t round = 0;
  std::string why_not;     // empty: joined
  std::uint16_t port = 0;  // a leader's, when there is more than one host
  std::vector<SocketAddress> addresses;
};
[[nodiscard]] std::vector<std::byte> encode(const Joined& joined);
[[nodiscard]] std::optional<Joined> decode_joined(std::span<const std::byte> payload);

struct HostEntry {
  std::string name;
  Rank leader = 0;
  std::uint64_t machine = 0;
  std::uint16_t port = 0;
  std::vector<SocketAddress> addresses;
};
struct MemberEntry {
  std::uint32_t host = 0;
  std::int64_t process = 0;
  std::uint64_t process_token = 0, pid_space = 0;
};
struct Start {
  std::uint64_t capabilities = 0;
  std::vector<HostEntry> hosts;      // ascending by leader
  std::vector<MemberEntry> members;  // by rank
};
[[nodiscard]] std::vector<std::byte> encode(const Start& start);
[[nodiscard]] std::optional<Start> decode_start(std::span<const std::byte> payload);

[[nodiscard]] std::vector<std::byte> encode(const Status& failure);
[[nodiscard]] Status decode_failure(std::span<const std::byte> payload);

/// For a leader's local socket and for the tree: who comes, and for which of the two connections of a pair.
enum class Purpose : std::uint8_t { control = 0, exchange = 1 };
struct JoinPeer {
  Nonce nonce{};
  std::uint32_t who = 0;  // rank, or host index in the tree
  Purpose purpose = Purpose::control;
};
[[nodiscard]] std::vector<std::byte> encode(const JoinPeer& join);
[[nodiscard]] std::optional<JoinPeer> decode_join(std::span<const std::byte> payload);

/// "0, 3, 5-7" of ascending numbers.
[[nodiscard]] std::string describe_ranks(std::span<const Rank> ranks);

}  // namespace toric
