// Sockets for the meeting and the control channel: every descriptor closes itself, is close-on-exec and non-blocking;
// every wait has a deadline; nothing here raises SIGPIPE.
#pragma once

#include "toric/base.hpp"
#include "toric/transport.hpp"  // Clock, Deadline

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toric {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool valid() const noexcept { return number_ >= 0; }
  int release() noexcept { return std::exchange(number_, -1); }
  void reset(int number = -1) noexcept;

 private:
  int number_ = -1;
};

/// An IPv4 or IPv6 address with a port.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);
  [[nodiscard]] static SocketAddress ipv4(std::array<std::uint8_t, 4> bytes, std::uint16_t port);
  [[nodiscard]] static SocketAddress ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port);

  [[nodiscard]] bool is_ipv6() const noexcept { return storage_.ss_family == AF_INET6; }
  [[nodiscard]] bool valid() const noexcept { return storage_.ss_family == AF_INET || storage_.ss_family == AF_INET6; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// 4 or 16 bytes in network order, in front.
  [[nodiscard]] std::array<std::uint8_t, 16> bytes() const noexcept;
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Valid on one link only, and so useless to anyone who does not know the interface.
  [[nodiscard]] bool is_link_local() const noexcept;
  /// "10.0.0.1:4000", "[fd00::1]:4000"; without the port when it is 0.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  friend bool operator==(const SocketAddress& a, const SocketAddress& b) {
    return a.is_ipv6() == b.is_ipv6() && a.port() == b.port() && a.bytes() == b.bytes();
  }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

[[nodiscard]] std::string texts_of(std::span<const SocketAddress> addresses);

/// What a failed system call says: "cannot <what>: <reason>"; running out of descriptors names the remedy.
[[nodiscard]] Status system_failure(std::string_view what, int error);

/// Raises the soft limit on descriptors (never above the hard one) when `more` would not fit; says so in the log.
void make_room_for_descriptors(std::size_t more);

/// Listens on every address of the machine, IPv6 and IPv4, on the first free port of the range (0: any port).
Result<Descriptor> listen_tcp(std::uint16_t first_port, std::uint16_t last_port);
[[nodiscard]] std::uint16_t port_of(const Descriptor& listener);
/// timeout when nobody answers, remote_error when refused.
Result<Descriptor> connect_tcp(const SocketAddress& address, Deadline deadline);

/// Abstract Unix sockets: they have no file and vanish with their owner.
Result<Descriptor> listen_local(const std::string& name);
Result<Descriptor> connect_local(const std::string& name, Deadline deadline);

/// The next pending connection; an invalid descriptor when there is none just now.
Result<Descriptor> accept_pending(const Descriptor& listener);

/// Asked every 50 ms or so by a blocked call: an error ends it.
using Interrupt = std::function<Status()>;

/// Blocks until readable or writable: timeout at the deadline. An end of file counts as readable.
Status wait_for(int descriptor, short events, Deadline deadline, const Interrupt& interrupt = {});
/// remote_error when the peer is gone.
Status send_all(int descriptor, std::span<const std::byte> bytes, Deadline deadline, const Interrupt& interrupt = {});
Status receive_all(int descriptor, std::span<std::byte> bytes, Deadline deadline, const Interrupt& interrupt = {});

/// One byte that says what it is for, with a descriptor (-1: none, only the byte) over a Unix socket.
Status send_descriptor(int socket, int descriptor, std::byte what, Deadline deadline, const Interrupt& interrupt = {});
struct ReceivedDescriptor {
  Descriptor descriptor;  // may be invalid: the byte came alone
  std::byte what{};
};
Result<ReceivedDescriptor> receive_descriptor(int socket, Deadline deadline, const Interrupt& interrupt = {});

/// Milliseconds for poll(): 0 when passed, at most `most`.
[[nodiscard]] int milliseconds_until(Deadline deadline, int most);

}  // namespace toric
