#include "toric/comm/control_channel.hpp"

#include "toric/comm/log.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

namespace toric {

namespace {

bool has_ended(int process) {
  pollfd polled{process, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN) != 0;
}

/// 0: not from here.
std::int64_t peer_process(const Descriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

}  // namespace

HostControl::HostControl(const Directory& directory, std::unique_ptr<ControlSegment> segment, Descriptor socket)
    : directory_(directory), segment_(std::move(segment)), socket_(std::move(socket)), owner_(::getpid()) {
  if (!socket_.valid()) return;
  const std::int64_t leader = peer_process(socket_);
  if (leader > 0 && leader != owner_) leader_process_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, leader, 0)));
}

HostControl::~HostControl() { close(); }

void HostControl::close() {
  if (closed_) return;
  closed_ = true;
  if (::getpid() != owner_) {
    if (service_) service_->abandon();
    return;
  }
  leave(Presence::aborted);  // unless it has left already
  if (service_) service_->stop();
  if (socket_.valid()) ::shutdown(socket_.get(), SHUT_RDWR);
}

std::string HostControl::host_of(Rank rank) const { return directory_.of(rank).host; }

std::int64_t HostControl::process_of(Rank rank) const { return directory_.of(rank).process; }

void HostControl::tell(Notice notice) {
  if (service_) return service_->notify(notice);
  const auto byte = static_cast<std::uint8_t>(notice);
  ::send(socket_.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);  // a full queue holds enough notices
}

void HostControl::raise(const Status& status) {
  if (status.ok() || segment_->failed()) return;
  if (directory_.host() > 0 && segment_->presence(directory_.leader()) == Presence::here) {
    // The first host decides between errors that are raised at the same time.
    if (segment_->propose(status, directory_.rank)) log(LogLevel::error, status.text());
    tell(Notice::raised);
    const Deadline patience = Clock::now() + decision_patience + std::chrono::milliseconds(100);
    while (!segment_->failed() && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (segment_->failed()) return;
  }
  if (segment_->raise(status, directory_.rank)) log(LogLevel::error, status.text());
  tell(Notice::raised);
}

Status HostControl::give(const Status& status) {
  raise(status);
  return segment_->failed() ? segment_->error() : status;
}

void HostControl::leave(Presence how) {
  if (segment_->change_if_here(directory_.rank, how)) tell(Notice::left);
}

std::optional<CallRecord> HostControl::current() const { return segment_->last_record(directory_.rank); }

std::string HostControl::prefix(const std::optional<CallRecord>& call) const {
  std::string text = directory_.name.empty() ? "" : "communicator '" + directory_.name + "': ";
  if (call)
    text += fmt::format("{} #{} on rank {} ({}): ", name_of(call->collective), call->sequence, directory_.rank, directory_.self().host);
  return text;
}

Status HostControl::compare(Rank peer, const CallRecord& mine) const {
  const auto theirs = segment_->record_of(peer, mine.sequence);
  if (!theirs || mine.same_call(*theirs)) return {};
  return {Code::invalid_usage,
          fmt::format("{}the ranks do not make the same call: {} calls {}, {} calls {}; make call #{} alike on all ranks", prefix(mine),
                      directory_.who(directory_.rank), mine.describe(), directory_.who(peer), theirs->describe(), mine.sequence)};
}

Status HostControl::departed(Rank peer, const std::optional<CallRecord>& mine) const {
  const Presence presence = segment_->presence(peer);
  if (presence == Presence::dead) return directory_.death_of(peer, segment_->last_record(peer));
  if (presence == Presence::aborted)
    return {Code::remote_error, fmt::format("{}{} has aborted; look at its log", prefix(mine), directory_.who(peer))};
  if (presence != Presence::finished || !mine || segment_->last_sequence(peer) >= mine->sequence) return {};
  return {
      Code::invalid_usage,
      fmt::format(
          "{}{} has left after {} calls and never makes this one; let all ranks make the same calls before they destroy the communicator",
          prefix(mine), directory_.who(peer), segment_->last_sequence(peer))};
}

Status HostControl::check_leader() {
  if (!socket_.valid() || leader_left_.load(std::memory_order_relaxed)) return {};
  char byte = 0;
  const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  if (!closed && !(leader_process_.valid() && has_ended(leader_process_.get()))) return {};
  if (segment_->change_if_here(directory_.leader(), Presence::dead))
    return directory_.death_of(directory_.leader(), segment_->last_record(directory_.leader()));
  leader_left_.store(true, std::memory_order_relaxed);
  return {};
}

/// Without the leader's service: are the other processes of this host still running?
Status HostControl::check_processes() {
  for (const Rank peer : directory_.local) {
    const auto index = static_cast<std::size_t>(peer);
    const std::int64_t process = directory_.of(peer).process;
    if (process == owner_ || segment_->presence(peer) != Presence::here) continue;
    if (directory_.pid_spaces[index] != directory_.pid_spaces[static_cast<std::size_t>(directory_.rank)]) continue;
    const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0)));
    const bool gone = handle.valid() ? has_ended(handle.get()) : errno == ESRCH;
    if (gone && segment_->change_if_here(peer, Presence::dead)) return directory_.death_of(peer, segment_->last_record(peer));
  }
  return {};
}

Status HostControl::examine(Clock::duration waited) {
  if (segment_->failed()) return segment_->error();
  if (Status dead = check_leader(); !dead.ok()) return give(dead);
  if (leader_left_.load(std::memory_order_relaxed))
    if (Status dead = check_processes(); !dead.ok()) return give(dead);
  const auto mine = current();
  for (Rank peer = 0; peer < static_cast<Rank>(directory_.members.size()); ++peer) {
    if (peer == directory_.rank) continue;
    if (mine)
      if (Status differs = compare(peer, *mine); !differs.ok()) return give(differs);
    if (Status gone = departed(peer, mine); !gone.ok()) return give(gone);
  }
  // Other hosts' records are fetched only while somebody waits, and the less often the longer it takes.
  const auto pause = std::clamp<Clock::duration>(waited / 4, std::chrono::milliseconds(100), std::chrono::seconds(2));
  if (directory_.hosts.size() > 1 && Clock::now() >= asked_ + pause) {
    asked_ = Clock::now();
    tell(Notice::waits);
  }
  return {};
}

std::string HostControl::describe_late() const {
  const std::uint64_t reached = segment_->last_sequence(directory_.rank);
  std::vector<Rank> late;
  for (Rank peer = 0; peer < static_cast<Rank>(directory_.members.size()); ++peer)
    if (segment_->last_sequence(peer) < reached) late.push_back(peer);
  if (late.empty()) return "every rank has reached this call";
  const std::uint64_t last = segment_->last_sequence(late.front());
  const auto record = segment_->record_of(late.front(), last);
  return fmt::format("rank{} {} not here yet; {} is at call #{}{}", late.size() == 1 ? "" : "s",
                     describe_ranks(late) + (late.size() == 1 ? " is" : " are"), directory_.who(late.front()), last,
                     record ? " (" + record->describe() + ")" : "");
}

}  // namespace toric
