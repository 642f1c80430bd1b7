#include "toric/comm/rendezvous.hpp"

#include "toric/comm/log.hpp"
#include "toric/comm/rendezvous_roster.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace toric {
namespace {

constexpr std::size_t most_strangers = 1024;
constexpr auto stranger_patience = std::chrono::seconds(10);
constexpr auto flush_patience = std::chrono::seconds(5);
constexpr auto report_interval = std::chrono::seconds(10);
constexpr std::size_t most_payload = 1 << 16;  // of what ranks send

struct Connection {
  Descriptor socket;
  FrameReader reader{most_payload};
  std::vector<std::byte> out;
  Deadline opened = Clock::now();
  bool ready = true;      // something may be read or written
  Rank rank = -1;         // known after the hello
  bool answered = false;  // the last message is in `out`: nothing more is read
};

class Root {
 public:
  Root(Descriptor listener, const RendezvousOptions& options)
      : listener_(std::move(listener)), options_(options), roster_(options.nonce, options.nonce_known), deadline_(options.deadline) {}

  void run() {
    while (!over()) {
      wait();
      accept_all();
      for (std::size_t i = 0; i < connections_.size(); ++i) serve(*connections_[i]);
      if (!ended_) check_clock();
      drop_closed();
    }
  }

 private:
  [[nodiscard]] bool over() const {
    if (!ended_) return false;
    const bool waiting = std::any_of(connections_.begin(), connections_.end(), [](const auto& c) { return c->rank >= 0; });
    const bool more_may_come = failed_ && roster_.missing_count() > 0 && Clock::now() < deadline_;
    return (!waiting && !more_may_come) || (Clock::now() >= ended_at_ + flush_patience && !more_may_come);
  }

  void wait() {
    polled_.clear();
    polled_.push_back({listener_.get(), POLLIN, 0});
    for (const auto& connection : connections_)
      polled_.push_back({connection->socket.get(), static_cast<short>(connection->out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    const int ready = ::poll(polled_.data(), polled_.size(), milliseconds_until(deadline_, 100));
    for (std::size_t i = 0; i < connections_.size(); ++i) connections_[i]->ready = ready > 0 && polled_[i + 1].revents != 0;
    if (ready <= 0) polled_[0].revents = 0;
  }

  void accept_all() {
    if (!listener_.valid() || (polled_[0].revents & POLLIN) == 0) return;
    for (int turn = 0; turn < 256; ++turn) {
      auto accepted = accept_pending(listener_);
      if (!accepted.ok()) {
        if (!make_room()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        log(LogLevel::warn, accepted.status().text());
        return;
      }
      if (!accepted->valid()) return;
      if (strangers() >= most_strangers) make_room();
      connections_.push_back(std::make_unique<Connection>());
      connections_.back()->socket = std::move(*accepted);
    }
  }

  [[nodiscard]] std::size_t strangers() const {
    return static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& c) { return c->rank < 0; }));
  }

  /// Closes the stranger that has been silent for longest.
  bool make_room() {
    const auto oldest =
        std::find_if(connections_.begin(), connections_.end(), [](const auto& c) { return c->rank < 0 && c->socket.valid(); });
    if (oldest == connections_.end()) return false;
    connections_.erase(oldest);
    return true;
  }

  void serve(Connection& connection) {
    if (!connection.socket.valid()) return;
    const auto state = connection.ready ? connection.reader.read_from(connection.socket.get()) : FrameReader::State::open;
    while (!connection.answered && connection.socket.valid()) {
      auto frame = connection.reader.next();
      if (!frame) break;
      take(connection, *frame);
    }
    flush(connection);
    if (state == FrameReader::State::open) {
      if (connection.rank < 0 && !connection.answered && Clock::now() > connection.opened + stranger_patience) connection.socket.reset();
      return;
    }
    if (connection.rank >= 0 && !connection.answered && state == FrameReader::State::ended) lost(connection);
    connection.socket.reset();
  }

  void take(Connection& connection, const Frame& frame) {
    if (frame.type == FrameType::hello && connection.rank < 0) return greet(connection, frame);
    if (frame.type == FrameType::joined && connection.rank >= 0 && frame.protocol == protocol_version) {
      const auto joined = decode_joined(frame.payload);
      if (joined) return note_joined(connection, *joined);
    }
    connection.socket.reset();
  }

  void greet(Connection& connection, const Frame& frame) {
    const auto hello = decode_hello(frame);
    if (!hello || !roster_.is_ours(*hello, frame.protocol)) return connection.socket.reset();
    connection.rank = hello->rank;
    if (failed_) return refuse(connection, *hello);
    const auto admission = roster_.admit(*hello, frame.protocol);
    if (!admission.ok()) return fail(admission, *hello, &connection);
    for (const auto& other : connections_)  // an earlier attempt of the same rank
      if (other.get() != &connection && other->rank == hello->rank) other->socket.reset();
    if (roster_.came() == 1) make_room_for_descriptors(static_cast<std::size_t>(hello->ranks) + 16);
    ByteWriter welcome;
    send(connection, FrameType::welcome, welcome.bytes());
    shorten_deadline(*hello);
    if (roster_.missing_count() == 0) assign();
  }

  /// The first rank whose patience ends is told who is missing before it gives up by itself.
  void shorten_deadline(const Hello& hello) {
    const auto left = std::chrono::milliseconds(std::clamp<std::int64_t>(hello.remaining_milliseconds, 0, std::int64_t{1} << 40));
    const auto early = std::min<std::chrono::milliseconds>(left / 10, std::chrono::milliseconds(300));
    if (const Deadline mine = Clock::now() + left - early; mine < deadline_) {
      deadline_ = mine;
      impatient_ = hello.rank;
    }
  }

  void assign() {
    listener_.reset();  // nobody else is wanted; who tries to connect now comes for a later meeting
    for (const auto& connection : connections_)
      if (connection->rank >= 0 && connection->socket.valid())
        send(*connection, FrameType::assign, encode(roster_.assignment_of(connection->rank)));
  }

  void note_joined(Connection& connection, const Joined& joined) {
    roster_.note_joined(connection.rank, joined);
    if (!roster_.round_complete() || ended_) return;
    if (roster_.regroup()) return assign();
    const auto table = encode(roster_.table());
    for (const auto& each : connections_)
      if (each->rank >= 0 && each->socket.valid()) finish(*each, FrameType::start, table);
    end();
  }

  void lost(Connection& connection) {
    if (ended_) return;
    const auto same = [&](const auto& c) { return c.get() != &connection && c->rank == connection.rank && c->socket.valid(); };
    if (std::any_of(connections_.begin(), connections_.end(), same)) return;
    const std::string who = roster_.who(connection.rank);
    if (listener_.valid()) return roster_.forget(connection.rank);  // it may come again
    connection.rank = -1;
    fail({Code::remote_error, fmt::format("{} ended while the ranks were meeting; look at its log and start again", who)});
  }

  void check_clock() {
    if (Clock::now() >= deadline_) {
      const std::string patience = impatient_ >= 0 ? fmt::format("; {} waits no longer", roster_.who(impatient_)) : "";
      if (roster_.came() > 0) fail({Code::timeout, roster_.describe_missing() + patience});
      return end();
    }
    if (Clock::now() >= next_report_) {
      next_report_ = Clock::now() + report_interval;
      if (roster_.came() > 0 && roster_.missing_count() > 0) log(LogLevel::info, roster_.describe_missing());
    }
  }

  void fail(const Status& status) {
    failed_ = true;
    failure_ = status;
    log(LogLevel::error, status.text());
    for (const auto& connection : connections_)
      if (connection->rank >= 0 && connection->socket.valid()) finish(*connection, FrameType::failure, encode(status));
    end();
  }
  void fail(const Status& status, const Hello& hello, Connection* last) {
    fail(status);
    roster_.count_refused(hello);
    last->rank = hello.rank;
  }
  void refuse(Connection& connection, const Hello& hello) {
    roster_.count_refused(hello);
    finish(connection, FrameType::failure, encode(failure_));
  }

  void end() {
    if (!ended_) ended_at_ = Clock::now();
    ended_ = true;
  }

  static void send(Connection& connection, FrameType type, std::span<const std::byte> payload) {
    const auto bytes = encode_frame(type, payload);
    connection.out.insert(connection.out.end(), bytes.begin(), bytes.end());
    flush(connection);
  }
  static void finish(Connection& connection, FrameType type, std::span<const std::byte> payload) {
    if (connection.answered) return;
    connection.answered = true;
    send(connection, type, payload);
  }

  static void flush(Connection& connection) {
    while (connection.socket.valid() && !connection.out.empty()) {
      const ssize_t sent = ::send(connection.socket.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) connection.out.clear();
        return;
      }
      connection.out.erase(connection.out.begin(), connection.out.begin() + sent);
    }
    if (connection.answered && connection.socket.valid()) ::shutdown(connection.socket.get(), SHUT_WR);  // the rank closes next
  }

  void drop_closed() {
    connections_.erase(std::remove_if(connections_.begin(), connections_.end(), [](const auto& c) { return !c->socket.valid(); }),
                       connections_.end());
  }

  Descriptor listener_;
  RendezvousOptions options_;
  Roster roster_;
  Deadline deadline_, ended_at_{}, next_report_ = Clock::now() + report_interval;
  Rank impatient_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<pollfd> polled_;
  bool failed_ = false, ended_ = false;
  Status failure_;
};

}  // namespace

void run_rendezvous_root(Descriptor listener, const RendezvousOptions& options) {
  try {
    Root(std::move(listener), options).run();
  } catch (const std::exception& error) {  // out of memory: the ranks see the connections close
    log(LogLevel::error, fmt::format("the meeting's root stops: {}", error.what()));
  }
}

Status start_rendezvous(Descriptor listener, const RendezvousOptions& options) {
  try {
    std::thread([listener = std::move(listener), options]() mutable { run_rendezvous_root(std::move(listener), options); }).detach();
  } catch (const std::system_error& error) {
    return {Code::system_error, fmt::format("cannot start the thread that answers the ranks: {}", error.what())};
  }
  return {};
}

}  // namespace toric
