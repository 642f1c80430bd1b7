#include "toric/comm/bootstrap_client.hpp"

#include "toric/comm/host_identity.hpp"
#include "toric/comm/interfaces.hpp"
#include "toric/comm/log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace toric {
namespace {

constexpr std::size_t most_payload = std::size_t{1} << 28;
/// How long an id may go unanswered, every address refusing, before its maker is taken to be gone.
constexpr auto refusal_patience = std::chrono::seconds(10);
constexpr auto probe_patience = std::chrono::seconds(20);

Deadline earlier(Deadline deadline, Clock::duration from_now) { return std::min(deadline, Clock::now() + from_now); }

class Client {
 public:
  Client(const MeetingPoint& point, const MeetingOptions& options, Deadline deadline)
      : point_(point), options_(options), deadline_(deadline) {}

  Result<Met> run() {
    if (Status prepared = prepare(); !prepared.ok()) return prepared;
    for (;;) {
      if (Status connected = connect(); !connected.ok()) return connected;
      const Status followed = follow();
      if (!followed.ok()) return followed;
      if (started_) break;
      log(LogLevel::debug, "the meeting's root closed the connection; trying again");
    }
    return std::move(met_);
  }

 private:
  Status prepare() {
    make_room_for_descriptors(16);
    const HostIdentity identity = host_identity(options_.host_id);
    hello_.rank = options_.rank;
    hello_.ranks = options_.ranks;
    hello_.host = identity.name;
    hello_.build = own_build();
    hello_.process = ::getpid();
    hello_.nonce = point_.nonce;
    hello_.member_token = random_bits();
    hello_.process_token = process_token();
    hello_.machine = identity.machine;
    hello_.pid_space = identity.pid_space;
    hello_.host_key = identity.key;
    hello_.local_name = fmt::format("toric/{:016x}{:016x}/{:016x}", point_.nonce[0], point_.nonce[1], hello_.member_token);
    auto listener = listen_local(hello_.local_name);
    if (!listener.ok()) return listener.status();
    local_listener_ = std::move(*listener);
    return {};
  }

  /// One address after the other, with growing patience, until somebody welcomes us.
  Status connect() {
    Deadline answered = Clock::now();  // the last time an address did anything but refuse
    auto pause = std::chrono::milliseconds(5), patience = std::chrono::milliseconds(1000);
    for (;;) {
      for (const SocketAddress& address : point_.addresses) {
        const Status tried = greet(address, patience);
        if (tried.ok()) return {};
        if (verdict_ || (tried.code() != Code::timeout && tried.code() != Code::remote_error)) return tried;
        if (tried.code() == Code::timeout) answered = Clock::now();
        last_failure_ = std::string(tried.text());
        if (Clock::now() >= deadline_) return no_answer(Code::timeout);
      }
      if (point_.by_id && Clock::now() > answered + refusal_patience) return no_answer(Code::remote_error);
      std::this_thread::sleep_for(
          std::min<Clock::duration>(pause, std::max<Clock::duration>(deadline_ - Clock::now(), Clock::duration(0))));
      pause = std::min(pause * 2, std::chrono::milliseconds(250)) + std::chrono::milliseconds(options_.rank % 7);
      patience = std::min(patience * 2, std::chrono::milliseconds(30000));
    }
  }

  Status greet(const SocketAddress& address, std::chrono::milliseconds patience) {
    auto socket = connect_tcp(address, earlier(deadline_, patience));
    if (!socket.ok()) return socket.status();
    hello_.remaining_milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    const Deadline until = earlier(deadline_, patience * 3);
    TORIC_TRY(send_frame(socket->get(), FrameType::hello, encode(hello_), until));
    root_ = std::move(*socket);
    reader_ = FrameReader(most_payload);
    bool welcome = false;
    while (!welcome) {
      TORIC_TRY(wait_for(root_.get(), POLLIN, until));
      const auto state = reader_.read_from(root_.get());
      while (auto frame = reader_.next()) {
        if (frame->type == FrameType::failure) {
          verdict_ = true;  // the root's word ends the attempts
          return decode_failure(frame->payload);
        }
        welcome = frame->type == FrameType::welcome && frame->protocol == protocol_version;
        if (welcome) break;
      }
      if (!welcome && state != FrameReader::State::open)
        return {Code::remote_error, fmt::format("{} is not where these ranks meet, or their meeting is over", address.text())};
    }
    log(LogLevel::debug, fmt::format("rank {} meets the others at {}", options_.rank, address.text()));
    return {};
  }

  [[nodiscard]] Status no_answer(Code code) const {
    const auto seconds = std::chrono::duration<double>(options_.timeout).count();
    const std::string what = point_.by_id ? "is the process that made the id still running, is its time not over, and can it be reached"
                                          : "is rank 0 running, does it listen there, and can it be reached";
    return {code, fmt::format("rank {} of {} found nobody to meet at {} (gives up after {:.1f} s; last: {}): {}?", options_.rank,
                              options_.ranks, texts_of(point_.addresses), std::min(seconds, waited_seconds()), last_failure_, what)};
  }
  [[nodiscard]] double waited_seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  /// Until the table is here. Ok without it: the connection was lost before anything had been decided.
  Status follow() {
    const Deadline end = deadline_ + std::chrono::milliseconds(100);  // the root names the missing ranks a little earlier
    for (bool open = true;;) {
      while (auto frame = reader_.next()) {
        if (frame->type == FrameType::failure) return decode_failure(frame->payload);
        TORIC_TRY(take(*frame));
      }
      if (leader_) TORIC_TRY(leader_->serve(local_listener_));
      if (table_ && (!leader_ || leader_->complete())) return finish();
      if (!open && !table_) return lost_root();
      if (Clock::now() >= end)
        return {Code::timeout, fmt::format("rank {} of {} was welcomed, but the meeting did not end in time; look at the other ranks' logs",
                                           options_.rank, options_.ranks)};
      if (wait(end)) open = reader_.read_from(root_.get()) == FrameReader::State::open;
    }
  }

  /// True when the root has sent something.
  bool wait(Deadline end) {
    std::vector<pollfd> polled = {{table_ ? -1 : root_.get(), POLLIN, 0}};
    if (leader_) polled.push_back({local_listener_.get(), POLLIN, 0});
    if (leader_) leader_->add_to(polled);
    const int slice = table_ ? 5 : 200;  // presence is written to memory, which cannot be polled
    return ::poll(polled.data(), polled.size(), milliseconds_until(end, slice)) > 0 && polled[0].revents != 0;
  }

  [[nodiscard]] Status lost_root() const {
    if (!assigned_) return {};
    return {Code::remote_error,
            fmt::format("rank {} of {}: the process that led the meeting has ended; start again", options_.rank, options_.ranks)};
  }

  Status take(const Frame& frame) {
    if (frame.type == FrameType::assign) {
      auto assign = decode_assign(frame.payload);
      if (assign) return join(std::move(*assign));
    } else if (frame.type == FrameType::start && assigned_) {
      auto start = decode_start(frame.payload);
      if (start && start->members.size() == static_cast<std::size_t>(options_.ranks)) {
        table_ = std::move(*start);
        return {};
      }
    } else if (frame.type == FrameType::welcome) {
      return {};
    }
    return {Code::internal_error, "the meeting's root sent a message that cannot be read"};
  }

  Status join(Assign assign) {
    assigned_ = true;
    Joined joined;
    joined.round = assign.round;
    nonce_ = assign.nonce;
    if (assign.local_ranks.front() == options_.rank) {
      TORIC_TRY(lead(assign));
      if (assign.hosts > 1) TORIC_TRY(listen_for_hosts(joined));
    } else if (joined_name_ != assign.leader_name) {
      auto group = join_leader(assign, options_.rank, options_.ranks, earlier(deadline_, probe_patience));
      if (group.ok()) {
        met_.host = std::move(*group);
        joined_name_ = assign.leader_name;
      } else {
        joined.why_not = std::string(group.status().text());
      }
    }
    return send_frame(root_.get(), FrameType::joined, encode(joined), deadline_);
  }

  Status lead(const Assign& assign) {
    if (leader_) {
      leader_->keep_only(assign.local_ranks);
      return {};
    }
    make_room_for_descriptors(assign.local_ranks.size() * 3 + 16);
    auto leader = HostLeader::create(assign, options_.ranks);
    if (!leader.ok()) return leader.status();
    leader_ = std::move(*leader);
    return {};
  }

  Status listen_for_hosts(Joined& joined) {
    auto interfaces = list_interfaces();
    if (!interfaces.ok()) return interfaces.status();
    auto choice = choose_addresses(*interfaces, options_.interface);
    if (!choice.ok()) return choice.status();
    if (!met_.tree_listener.valid()) {
      auto listener = listen_tcp(options_.first_port, options_.last_port);
      if (!listener.ok()) return listener.status();
      met_.tree_listener = std::move(*listener);
      log(LogLevel::info, fmt::format("rank {}, leader of {}: {}", options_.rank, hello_.host, choice->reason));
    }
    joined.port = port_of(met_.tree_listener);
    joined.addresses = choice->addresses;
    return {};
  }

  Status finish() {
    met_.directory = make_directory(options_.rank, nonce_, options_.name, std::move(*table_));
    if (leader_) met_.host = leader_->take();
    met_.host.local = met_.directory.local;
    met_.sockets = 2 + static_cast<int>(met_.host.members.empty() ? 2 : 2 * (met_.host.members.size() - 1) + met_.tree_listener.valid());
    started_ = true;
    return {};
  }

  const MeetingPoint& point_;
  const MeetingOptions& options_;
  Deadline deadline_, began_ = Clock::now();
  Hello hello_;
  Nonce nonce_{};
  Descriptor local_listener_, root_;
  FrameReader reader_{most_payload};
  std::unique_ptr<HostLeader> leader_;
  std::optional<Start> table_;
  std::string last_failure_ = "no address";
  Met met_;
  bool assigned_ = false, started_ = false, verdict_ = false;
  std::string joined_name_;
};

}  // namespace

Result<Met> meet_at_point(const MeetingPoint& point, const MeetingOptions& options, Deadline deadline) {
  return Client(point, options, deadline).run();
}

}  // namespace toric
