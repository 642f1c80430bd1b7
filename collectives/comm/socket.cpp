#include "toric/comm/socket.hpp"

#include "toric/comm/log.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace toric {

void Descriptor::reset(int number) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

Status system_failure(std::string_view what, int error) {
  const std::string reason = std::error_code(error, std::generic_category()).message();
  if (error == EMFILE || error == ENFILE)
    return {Code::system_error, fmt::format("cannot {}: {}; raise the limit on open files (ulimit -Hn)", what, reason)};
  return {Code::system_error, fmt::format("cannot {}: {}", what, reason)};
}

void make_room_for_descriptors(std::size_t more) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  std::size_t open = 0;
  if (DIR* folder = ::opendir("/proc/self/fd")) {
    while (::readdir(folder) != nullptr) ++open;
    ::closedir(folder);
  }
  const rlim_t wanted = open + more + 64;
  if (wanted <= limit.rlim_cur) return;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min<rlim_t>(wanted, limit.rlim_max);
  if (limit.rlim_cur <= before || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    log(LogLevel::warn, fmt::format("{} descriptors are needed and the limit is {}; raise it (ulimit -Hn)", wanted, before));
    return;
  }
  log(LogLevel::info, fmt::format("raised the limit on open files from {} to {}", before, limit.rlim_cur));
}

int milliseconds_until(Deadline deadline, int most) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
}

namespace {

constexpr int socket_flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr int backlog = 4096;  // the kernel cuts it to its own limit

Result<Descriptor> bind_tcp(int family, std::uint16_t port) {
  Descriptor socket(::socket(family, socket_flags, 0));
  if (!socket.valid()) return system_failure("make a socket", errno);
  const int on = 1, off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const SocketAddress any = family == AF_INET6 ? SocketAddress::ipv6({}, port) : SocketAddress::ipv4({}, port);
  if (::bind(socket.get(), any.raw(), any.length()) != 0 || ::listen(socket.get(), backlog) != 0)
    return system_failure(fmt::format("listen on port {}", port), errno);
  return socket;
}

/// A socket that dies quickly when the other machine vanishes without a word.
void set_tcp_options(int socket) {
  const int on = 1, idle = 10, interval = 2, count = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

Result<std::pair<sockaddr_un, socklen_t>> abstract_address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof address.sun_path) return Status(Code::internal_error, "the name of a local socket is too long: " + name);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading zero byte: no file
  return std::pair(address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

}  // namespace

Result<Descriptor> listen_tcp(std::uint16_t first_port, std::uint16_t last_port) {
  Status last;
  for (std::uint32_t port = first_port; port <= std::max(first_port, last_port); ++port) {
    for (const int family : {AF_INET6, AF_INET}) {
      auto socket = bind_tcp(family, static_cast<std::uint16_t>(port));
      if (socket.ok()) return socket;
      last = socket.status();
    }
  }
  if (first_port == 0) return last;
  return Status(Code::system_error, fmt::format("{}; free the port or name another (ports {}-{} were tried)", last.text(), first_port,
                                                std::max(first_port, last_port)));
}

std::uint16_t port_of(const Descriptor& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return SocketAddress(reinterpret_cast<sockaddr*>(&storage), length).port();
}

Result<Descriptor> connect_tcp(const SocketAddress& address, Deadline deadline) {
  Descriptor socket(::socket(address.is_ipv6() ? AF_INET6 : AF_INET, socket_flags, 0));
  if (!socket.valid()) return system_failure("make a socket", errno);
  set_tcp_options(socket.get());
  if (::connect(socket.get(), address.raw(), address.length()) != 0) {
    if (errno != EINPROGRESS) return Status(Code::remote_error, std::string(system_failure("connect to " + address.text(), errno).text()));
    if (Status waited = wait_for(socket.get(), POLLOUT, deadline); !waited.ok())
      return Status(Code::timeout, "no answer from " + address.text());
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Status(Code::remote_error, std::string(system_failure("connect to " + address.text(), error).text()));
  }
  return socket;
}

Result<Descriptor> listen_local(const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, socket_flags, 0));
  if (!socket.valid()) return system_failure("make a local socket", errno);
  auto address = abstract_address(name);
  if (!address.ok()) return address.status();
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->first), address->second) != 0 ||
      ::listen(socket.get(), backlog) != 0)
    return system_failure("listen on a local socket", errno);
  return socket;
}

Result<Descriptor> connect_local(const std::string& name, Deadline deadline) {
  auto address = abstract_address(name);
  if (!address.ok()) return address.status();
  Descriptor socket(::socket(AF_UNIX, socket_flags, 0));
  if (!socket.valid()) return system_failure("make a local socket", errno);
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->first), address->second) != 0) {
    if (errno != EAGAIN && errno != EINTR) return system_failure("connect to a local socket", errno);
    if (Clock::now() >= deadline) return Status(Code::timeout, "no room in the queue of a local socket");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // its queue is full
  }
  return socket;
}

Result<Descriptor> accept_pending(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return system_failure("accept a connection", errno);
    return Descriptor();  // none, or one that has gone again
  }
  set_tcp_options(socket.get());  // refused without harm by local sockets
  return socket;
}

Status wait_for(int descriptor, short events, Deadline deadline, const Interrupt& interrupt) {
  for (;;) {
    pollfd waiting{descriptor, events, 0};
    const int ready = ::poll(&waiting, 1, milliseconds_until(deadline, interrupt ? 50 : 1000));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_failure("wait for a socket", errno);
    if (interrupt) TORIC_TRY(interrupt());
    if (Clock::now() >= deadline) return {Code::timeout, "the deadline has passed"};
  }
}

Status send_all(int descriptor, std::span<const std::byte> bytes, Deadline deadline, const Interrupt& interrupt) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TORIC_TRY(wait_for(descriptor, POLLOUT, deadline, interrupt));
    } else if (errno != EINTR) {
      return {Code::remote_error, std::string(system_failure("send to a peer", errno).text())};
    }
  }
  return {};
}

Status receive_all(int descriptor, std::span<std::byte> bytes, Deadline deadline, const Interrupt& interrupt) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(descriptor, bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0) {
      return {Code::remote_error, "the peer has closed the connection"};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      TORIC_TRY(wait_for(descriptor, POLLIN, deadline, interrupt));
    } else if (errno != EINTR) {
      return {Code::remote_error, std::string(system_failure("receive from a peer", errno).text())};
    }
  }
  return {};
}

Status send_descriptor(int socket, int descriptor, std::byte what, Deadline deadline, const Interrupt& interrupt) {
  iovec byte{&what, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  for (;;) {
    if (::sendmsg(socket, &message, MSG_NOSIGNAL) == 1) return {};
    if (errno == EBADF) return {Code::invalid_argument, fmt::format("{} is not an open descriptor", descriptor)};
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ETOOMANYREFS)
      return {Code::remote_error, std::string(system_failure("pass a descriptor", errno).text())};
    if (errno == ETOOMANYREFS) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    TORIC_TRY(wait_for(socket, POLLOUT, deadline, interrupt));
  }
}

Result<ReceivedDescriptor> receive_descriptor(int socket, Deadline deadline, const Interrupt& interrupt) {
  ReceivedDescriptor received;
  iovec byte{&received.what, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &byte;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  for (;;) {
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got == 1) break;
    if (got == 0) return Status(Code::remote_error, "the peer has closed the connection");
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      return Status(Code::remote_error, std::string(system_failure("receive a descriptor", errno).text()));
    if (Status waited = wait_for(socket, POLLIN, deadline, interrupt); !waited.ok()) return waited;
    message.msg_controllen = sizeof room;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    received.descriptor.reset(number);
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) return system_failure("receive a descriptor", EMFILE);
  return received;
}

}  // namespace toric
