#include "toric/comm/bootstrap_tree.hpp"

#include "toric/comm/socket_frame.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

namespace toric {
namespace {

constexpr std::size_t most_payload = 256;
constexpr std::size_t most_guests = 256;

/// How a leader reaches another: over loopback on the same machine, else as published.
std::vector<SocketAddress> ways_to(const HostEntry& target, std::uint64_t own_machine) {
  std::vector<SocketAddress> ways = target.addresses;
  for (SocketAddress& way : ways) way.set_port(target.port);
  if (target.machine != own_machine) return ways;
  std::array<std::uint8_t, 16> one{};
  one[15] = 1;
  ways.insert(ways.begin(), {SocketAddress::ipv4({127, 0, 0, 1}, target.port), SocketAddress::ipv6(one, target.port)});
  return ways;
}

/// Connects and is recognised, or the next address: a stranger may sit at an address that several machines have.
Status try_way(const SocketAddress& way, const JoinPeer& join, Deadline until, Descriptor& connected) {
  auto socket = connect_tcp(way, until);
  if (!socket.ok()) return socket.status();
  TORIC_TRY(send_frame(socket->get(), FrameType::join_tree, encode(join), until));
  auto answer = receive_frame(socket->get(), most_payload, until);
  if (!answer.ok()) return answer.status();
  const auto echoed = answer->type == FrameType::welcome ? decode_join(answer->payload) : std::nullopt;
  if (!echoed || echoed->nonce != join.nonce) return {Code::remote_error, "somebody else listens at " + way.text()};
  connected = std::move(*socket);
  return {};
}

Result<Descriptor> connect_up(const Directory& directory, std::uint32_t parent, Purpose purpose, Deadline deadline) {
  const HostEntry& target = directory.hosts[parent];
  const auto ways = ways_to(target, directory.hosts[directory.host()].machine);
  const JoinPeer join{directory.nonce, directory.host(), purpose};
  std::string last = "it published no address";
  for (auto patience = std::chrono::milliseconds(2000); Clock::now() < deadline;
       patience = std::min(2 * patience, std::chrono::milliseconds(60'000))) {
    for (const SocketAddress& way : ways) {
      Descriptor connected;
      const Status tried = try_way(way, join, std::min(deadline, Clock::now() + patience), connected);
      if (tried.ok()) return connected;
      last = std::string(tried.text());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Status(Code::timeout, fmt::format("{} cannot reach {} at {} (last: {}); are these addresses routed and open, or name an interface",
                                           directory.who(directory.rank), directory.who(target.leader), texts_of(ways), last));
}

struct Guest {
  Descriptor socket;
  FrameReader reader{most_payload};
};

class Reception {
 public:
  Reception(const Directory& directory, const Descriptor& listener) : directory_(directory), listener_(listener) {
    for (std::uint32_t child = 2 * directory.host() + 1; child <= 2 * directory.host() + 2; ++child) {
      if (child >= directory.hosts.size()) continue;
      children_.emplace_back();
      children_.back().host = child;
    }
  }

  Result<std::vector<TreeLink>> run(Deadline deadline) {
    while (const TreeLink* missing = first_missing()) {
      if (Clock::now() >= deadline) {
        const HostEntry& host = directory_.hosts[missing->host];
        return Status(Code::timeout, fmt::format("{} could not connect to {} in time; look at its log", directory_.who(host.leader),
                                                 directory_.who(directory_.rank)));
      }
      serve(deadline);
    }
    return std::move(children_);
  }

 private:
  [[nodiscard]] const TreeLink* first_missing() const {
    const auto found = std::find_if(children_.begin(), children_.end(),
                                    [](const TreeLink& link) { return !link.sockets.exchange.valid() || !link.sockets.control.valid(); });
    return found == children_.end() ? nullptr : &*found;
  }

  void serve(Deadline deadline) {
    std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) polled.push_back({guest.socket.get(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), milliseconds_until(deadline, 200));
    for (;;) {
      auto accepted = accept_pending(listener_);
      if (!accepted.ok() || !accepted->valid()) break;
      if (guests_.size() >= most_guests) guests_.erase(guests_.begin());
      guests_.emplace_back();
      guests_.back().socket = std::move(*accepted);
    }
    for (Guest& guest : guests_) {
      const auto state = guest.reader.read_from(guest.socket.get());
      if (const auto frame = guest.reader.next())
        seat(guest, *frame);
      else if (state != FrameReader::State::open)
        guest.socket.reset();
    }
    guests_.erase(std::remove_if(guests_.begin(), guests_.end(), [](const Guest& guest) { return !guest.socket.valid(); }), guests_.end());
  }

  void seat(Guest& guest, const Frame& frame) {
    Descriptor socket = std::move(guest.socket);
    const auto join = frame.type == FrameType::join_tree ? decode_join(frame.payload) : std::nullopt;
    if (!join || join->nonce != directory_.nonce) return;
    for (TreeLink& link : children_) {
      if (link.host != join->who) continue;
      const Deadline soon = Clock::now() + std::chrono::seconds(1);
      if (!send_frame(socket.get(), FrameType::welcome, encode(*join), soon).ok()) return;
      (join->purpose == Purpose::control ? link.sockets.control : link.sockets.exchange) = std::move(socket);
      return;
    }
  }

  const Directory& directory_;
  const Descriptor& listener_;
  std::vector<TreeLink> children_;
  std::vector<Guest> guests_;
};

}  // namespace

Result<Tree> join_tree(const Directory& directory, const Descriptor& listener, Deadline deadline) {
  Tree tree;
  if (directory.host() > 0) {
    tree.up.emplace();
    tree.up->host = (directory.host() - 1) / 2;
    for (const Purpose purpose : {Purpose::control, Purpose::exchange}) {
      auto socket = connect_up(directory, tree.up->host, purpose, deadline);
      if (!socket.ok()) return socket.status();
      (purpose == Purpose::control ? tree.up->sockets.control : tree.up->sockets.exchange) = std::move(*socket);
    }
  }
  auto down = Reception(directory, listener).run(deadline);
  if (!down.ok()) return down.status();
  tree.down = std::move(*down);
  return tree;
}

}  // namespace toric
