#include "toric/comm/rendezvous_messages.hpp"

#include <fmt/format.h>

#include <bit>

namespace toric {
namespace {

void put_nonce(ByteWriter& writer, const Nonce& nonce) {
  writer.put(nonce[0]);
  writer.put(nonce[1]);
}

Nonce get_nonce(ByteReader& reader) {
  Nonce nonce{};
  nonce[0] = reader.get<std::uint64_t>();
  nonce[1] = reader.get<std::uint64_t>();
  return nonce;
}

void put_addresses(ByteWriter& writer, const std::vector<SocketAddress>& addresses) {
  writer.put(static_cast<std::uint32_t>(addresses.size()));
  for (const SocketAddress& address : addresses) writer.put_address(address);
}

std::vector<SocketAddress> get_addresses(ByteReader& reader) {
  std::vector<SocketAddress> addresses(reader.get_count(7));
  for (SocketAddress& address : addresses) address = reader.get_address();
  return addresses;
}

template <typename Message>
std::optional<Message> checked(Message message, const ByteReader& reader) {
  return reader.complete() ? std::optional(std::move(message)) : std::nullopt;
}

}  // namespace

std::uint8_t own_endianness() { return std::endian::native == std::endian::little ? 1 : 2; }

std::string own_build() { return "Toric 0.1.0"; }

std::string Hello::who() const { return fmt::format("rank {} ({}, pid {})", rank, host, process); }

std::vector<std::byte> encode(const Hello& hello) {
  ByteWriter writer;
  writer.put(hello.rank);
  writer.put(hello.ranks);
  writer.put_text(hello.host);
  writer.put_text(hello.build);
  writer.put(hello.process);
  writer.put(hello.endianness);
  writer.put(hello.capabilities);
  put_nonce(writer, hello.nonce);
  for (const std::uint64_t value : {hello.member_token, hello.process_token, hello.machine, hello.pid_space}) writer.put(value);
  writer.put_text(hello.host_key);
  writer.put_text(hello.local_name);
  writer.put(hello.remaining_milliseconds);
  return writer.bytes();
}

std::optional<Hello> decode_hello(const Frame& frame) {
  ByteReader reader(frame.payload);
  Hello hello;
  hello.rank = reader.get<Rank>();
  hello.ranks = reader.get<Rank>();
  hello.host = reader.get_text();
  hello.build = reader.get_text();
  hello.process = reader.get<std::int64_t>();
  if (frame.protocol != protocol_version) return reader.ok() ? std::optional(hello) : std::nullopt;
  hello.endianness = reader.get<std::uint8_t>();
  hello.capabilities = reader.get<std::uint64_t>();
  hello.nonce = get_nonce(reader);
  hello.member_token = reader.get<std::uint64_t>();
  hello.process_token = reader.get<std::uint64_t>();
  hello.machine = reader.get<std::uint64_t>();
  hello.pid_space = reader.get<std::uint64_t>();
  hello.host_key = reader.get_text();
  hello.local_name = reader.get_text();
  hello.remaining_milliseconds = reader.get<std::int64_t>();
  return checked(std::move(hello), reader);
}

std::vector<std::byte> encode(const Assign& assign) {
  ByteWriter writer;
  writer.put(assign.round);
  put_nonce(writer, assign.nonce);
  writer.put(assign.hosts);
  writer.put_text(assign.leader_name);
  writer.put(static_cast<std::uint32_t>(assign.local_ranks.size()));
  for (const Rank rank : assign.local_ranks) writer.put(rank);
  return writer.bytes();
}

std::optional<Assign> decode_assign(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  Assign assign;
  assign.round = reader.get<std::uint32_t>();
  assign.nonce = get_nonce(reader);
  assign.hosts = reader.get<std::uint32_t>();
  assign.leader_name = reader.get_text();
  assign.local_ranks.resize(reader.get_count(sizeof(Rank)));
  for (Rank& rank : assign.local_ranks) rank = reader.get<Rank>();
  if (assign.local_ranks.empty()) return std::nullopt;
  return checked(std::move(assign), reader);
}

std::vector<std::byte> encode(const Joined& joined) {
  ByteWriter writer;
  writer.put(joined.round);
  writer.put_text(joined.why_not);
  writer.put(joined.port);
  put_addresses(writer, joined.addresses);
  return writer.bytes();
}

std::optional<Joined> decode_joined(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  Joined joined;
  joined.round = reader.get<std::uint32_t>();
  joined.why_not = reader.get_text();
  joined.port = reader.get<std::uint16_t>();
  joined.addresses = get_addresses(reader);
  return checked(std::move(joined), reader);
}

std::vector<std::byte> encode(const Start& start) {
  ByteWriter writer;
  writer.put(start.capabilities);
  writer.put(static_cast<std::uint32_t>(start.hosts.size()));
  for (const HostEntry& host : start.hosts) {
    writer.put_text(host.name);
    writer.put(host.leader);
    writer.put(host.machine);
    writer.put(host.port);
    put_addresses(writer, host.addresses);
  }
  writer.put(static_cast<std::uint32_t>(start.members.size()));
  for (const MemberEntry& member : start.members) {
    writer.put(member.host);
    writer.put(member.process);
    writer.put(member.process_token);
    writer.put(member.pid_space);
  }
  return writer.bytes();
}

std::optional<Start> decode_start(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  Start start;
  start.capabilities = reader.get<std::uint64_t>();
  start.hosts.resize(reader.get_count(20));
  for (HostEntry& host : start.hosts) {
    host.name = reader.get_text();
    host.leader = reader.get<Rank>();
    host.machine = reader.get<std::uint64_t>();
    host.port = reader.get<std::uint16_t>();
    host.addresses = get_addresses(reader);
  }
  start.members.resize(reader.get_count(28));
  for (MemberEntry& member : start.members) {
    member.host = reader.get<std::uint32_t>();
    member.process = reader.get<std::int64_t>();
    member.process_token = reader.get<std::uint64_t>();
    member.pid_space = reader.get<std::uint64_t>();
    if (member.host >= start.hosts.size()) return std::nullopt;
  }
  return checked(std::move(start), reader);
}

std::vector<std::byte> encode(const Status& failure) {
  ByteWriter writer;
  writer.put(static_cast<std::int32_t>(failure.code()));
  writer.put_text(failure.text());
  return writer.bytes();
}

Status decode_failure(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  const auto code = reader.get<std::int32_t>();
  std::string text = reader.get_text();
  if (!reader.ok() || code <= 0 || code > static_cast<std::int32_t>(Code::timeout))
    return {Code::remote_error, "a peer reported an error that cannot be read"};
  return {static_cast<Code>(code), std::move(text)};
}

std::vector<std::byte> encode(const JoinPeer& join) {
  ByteWriter writer;
  put_nonce(writer, join.nonce);
  writer.put(join.who);
  writer.put(static_cast<std::uint8_t>(join.purpose));
  return writer.bytes();
}

std::optional<JoinPeer> decode_join(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  JoinPeer join;
  join.nonce = get_nonce(reader);
  join.who = reader.get<std::uint32_t>();
  const auto purpose = reader.get<std::uint8_t>();
  if (purpose > 1) return std::nullopt;
  join.purpose = static_cast<Purpose>(purpose);
  return checked(join, reader);
}

std::string describe_ranks(std::span<const Rank> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? std::to_string(ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace toric
