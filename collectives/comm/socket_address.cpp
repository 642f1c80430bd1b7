#include "toric/comm/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace toric {

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, address, length_);
}

SocketAddress SocketAddress::ipv4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) {
  sockaddr_in raw{};
  raw.sin_family = AF_INET;
  raw.sin_port = htons(port);
  std::memcpy(&raw.sin_addr, bytes.data(), bytes.size());
  return {reinterpret_cast<const sockaddr*>(&raw), sizeof raw};
}

SocketAddress SocketAddress::ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(port);
  std::memcpy(&raw.sin6_addr, bytes.data(), bytes.size());
  return {reinterpret_cast<const sockaddr*>(&raw), sizeof raw};
}

std::uint16_t SocketAddress::port() const noexcept {
  if (!valid()) return 0;
  return ntohs(is_ipv6() ? reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port
                         : reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
  if (is_ipv6())
    reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
  else
    reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
}

std::array<std::uint8_t, 16> SocketAddress::bytes() const noexcept {
  std::array<std::uint8_t, 16> bytes{};
  if (is_ipv6())
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, 16);
  else
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, 4);
  return bytes;
}

bool SocketAddress::is_loopback() const noexcept {
  const auto raw = bytes();
  if (!is_ipv6()) return raw[0] == 127;
  return std::all_of(raw.begin(), raw.end() - 1, [](std::uint8_t byte) { return byte == 0; }) && raw[15] == 1;
}

bool SocketAddress::is_link_local() const noexcept {
  const auto raw = bytes();
  return is_ipv6() ? raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80 : raw[0] == 169 && raw[1] == 254;
}

std::string SocketAddress::text() const {
  char name[INET6_ADDRSTRLEN] = {};
  const auto raw = bytes();
  ::inet_ntop(is_ipv6() ? AF_INET6 : AF_INET, raw.data(), name, sizeof name);
  if (port() == 0) return name;
  return is_ipv6() ? fmt::format("[{}]:{}", name, port()) : fmt::format("{}:{}", name, port());
}

std::string texts_of(std::span<const SocketAddress> addresses) {
  std::string text;
  for (const SocketAddress& address : addresses) text += (text.empty() ? "" : ", ") + address.text();
  return text.empty() ? "none" : text;
}

}  // namespace toric
