#include "toric/comm/bootstrap_id.hpp"

#include "toric/comm/host_identity.hpp"
#include "toric/comm/interfaces.hpp"
#include "toric/comm/log.hpp"
#include "toric/comm/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace toric {
namespace {

constexpr std::uint32_t id_magic = 0x44495254;  // "TRID"
constexpr std::uint16_t id_version = 1;

std::uint32_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0x811c9dc5;
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint32_t>(byte)) * 0x01000193;
  return sum;
}

/// The machine's addresses over loopback, most likely first.
std::vector<SocketAddress> loopback(std::uint16_t port) {
  std::array<std::uint8_t, 16> one{};
  one[15] = 1;
  return {SocketAddress::ipv4({127, 0, 0, 1}, port), SocketAddress::ipv6(one, port)};
}

}  // namespace

// {magic, version, sum of what follows, nonce, machine, port, number of addresses, addresses}, then zeros.
UniqueIdBytes encode_id(const IdContents& contents) {
  ByteWriter body;
  body.put(contents.nonce[0]);
  body.put(contents.nonce[1]);
  body.put(contents.machine);
  body.put(contents.port);
  const std::size_t count = std::min(contents.addresses.size(), most_id_addresses);
  body.put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) body.put_address(contents.addresses[i]);
  ByteWriter head;
  head.put(id_magic);
  head.put(id_version);
  std::vector<std::byte> padded = body.bytes();
  padded.resize(std::tuple_size_v<UniqueIdBytes> - 10);
  head.put(checksum(padded));
  std::vector<std::byte> all = head.bytes();
  all.insert(all.end(), padded.begin(), padded.end());
  UniqueIdBytes id{};
  std::memcpy(id.data(), all.data(), id.size());
  return id;
}

Result<IdContents> decode_id(const UniqueIdBytes& id) {
  const auto bytes = std::as_bytes(std::span(id));
  ByteReader reader(bytes);
  if (reader.get<std::uint32_t>() != id_magic)
    return Status(Code::invalid_argument, "this is no unique id: make one with toricGetUniqueId and give all 128 bytes to every rank");
  const auto version = reader.get<std::uint16_t>();
  if (version != id_version)
    return Status(Code::invalid_argument, fmt::format("this unique id has version {}, and this build ({}) reads version {}; use the same "
                                                      "version of Toric everywhere",
                                                      version, own_build(), id_version));
  if (reader.get<std::uint32_t>() != checksum(bytes.subspan(10)))
    return Status(Code::invalid_argument, "this unique id is damaged: copy all 128 bytes, as bytes and not as text");
  IdContents contents;
  contents.nonce = {reader.get<std::uint64_t>(), reader.get<std::uint64_t>()};
  contents.machine = reader.get<std::uint64_t>();
  contents.port = reader.get<std::uint16_t>();
  contents.addresses.resize(reader.get_count(7));
  for (SocketAddress& address : contents.addresses) address = reader.get_address();
  if (!reader.ok() || contents.port == 0) return Status(Code::invalid_argument, "this unique id holds no usable address");
  return contents;
}

std::vector<SocketAddress> ways_to_root(const IdContents& contents, std::uint64_t machine) {
  std::vector<SocketAddress> ways;
  if (machine == contents.machine) ways = loopback(contents.port);
  for (SocketAddress address : contents.addresses) {
    address.set_port(contents.port);
    if (std::find(ways.begin(), ways.end(), address) == ways.end()) ways.push_back(address);
  }
  return ways;
}

Result<UniqueIdBytes> make_unique_id(const std::string& interface, Clock::duration timeout, std::uint16_t first_port,
                                     std::uint16_t last_port) {
  auto interfaces = list_interfaces();
  if (!interfaces.ok()) return interfaces.status();
  auto choice = choose_addresses(*interfaces, interface);
  if (!choice.ok()) return choice.status();
  make_room_for_descriptors(16);
  auto listener = listen_tcp(first_port, last_port);
  if (!listener.ok()) return listener.status();
  IdContents contents;
  contents.nonce = {random_bits(), random_bits()};
  contents.machine = host_identity({}).machine;
  contents.port = port_of(*listener);
  contents.addresses = choice->addresses;
  log(LogLevel::info, fmt::format("the ranks of a new unique id meet at port {}: {}", contents.port, choice->reason));
  RendezvousOptions options;
  options.nonce = contents.nonce;
  options.deadline = Clock::now() + timeout;
  if (Status started = start_rendezvous(std::move(*listener), options); !started.ok()) return started;
  return encode_id(contents);
}

}  // namespace toric
