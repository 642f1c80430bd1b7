#include "toric/comm/control_service.hpp"

#include "toric/comm/log.hpp"
#include "toric/comm/socket_frame.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>

namespace toric {

namespace {

constexpr std::size_t most_payload = std::size_t{1} << 24;
constexpr std::size_t most_pending = std::size_t{1} << 22;  // of records; errors are always sent
constexpr auto records_interval = std::chrono::milliseconds(100);
constexpr auto flush_patience = std::chrono::milliseconds(200);

/// The process at the other end, as a descriptor; invalid where the kernel has none, or it is this very process.
Descriptor process_of(const Descriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid <= 0 || peer.pid == ::getpid()) return {};
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

}  // namespace

ControlService::~ControlService() { stop(); }

void ControlService::add_member(Rank rank, Descriptor socket) {
  Descriptor process = process_of(socket);
  members_.push_back({rank, std::move(socket), std::move(process)});
}

void ControlService::add_link(std::uint32_t host, Descriptor socket) {
  links_.push_back({host, std::move(socket), FrameReader(most_payload), {}});
}

Status ControlService::start() {
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return system_failure("make an event descriptor", errno);
  forwarded_.assign(directory_.members.size(), Presence::here);
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& error) {
    return {Code::system_error, fmt::format("cannot start the control thread: {}", error.what())};
  }
  return {};
}

void ControlService::notify(Notice notice) {
  own_notices_.fetch_or(1U << static_cast<unsigned>(notice), std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void ControlService::stop() {
  if (!thread_) return;
  stopping_.store(true, std::memory_order_release);
  notify(Notice::left);
  thread_->join();
  thread_.reset();
  // A forked child may hold copies of these sockets: only a shutdown tells the peers for certain.
  for (Member& member : members_)
    if (member.socket.valid()) ::shutdown(member.socket.get(), SHUT_RDWR);
  for (Link& link : links_)
    if (link.socket.valid()) ::shutdown(link.socket.get(), SHUT_RDWR);
}

void ControlService::abandon() { static_cast<void>(thread_.release()); }  // there is nothing to join in this process

void ControlService::run() {
  try {
    while (!stopping_.load(std::memory_order_acquire)) {
      wait();
      serve_own();
      serve_members();
      serve_links();
      decide_alone();
    }
    forward_error();
    forward_presence();
    for (const Deadline end = Clock::now() + flush_patience; Clock::now() < end;) {
      for (Link& link : links_) flush(link);
      const auto pending = [](const Link& link) { return link.socket.valid() && !link.out.empty(); };
      if (std::none_of(links_.begin(), links_.end(), pending)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  } catch (const std::exception& error) {
    log(LogLevel::error, fmt::format("the control thread of {} stops: {}", directory_.self().host, error.what()));
  }
}

void ControlService::wait() {
  std::vector<pollfd> polled = {{wake_.get(), POLLIN, 0}};
  for (const Member& member : members_) {
    if (!member.socket.valid()) continue;
    polled.push_back({member.socket.get(), POLLIN, 0});
    if (member.process.valid()) polled.push_back({member.process.get(), POLLIN, 0});
  }
  for (const Link& link : links_)
    if (link.socket.valid()) polled.push_back({link.socket.get(), static_cast<short>(link.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  ::poll(polled.data(), polled.size(), proposed_ && !segment_.failed() ? milliseconds_until(decide_alone_at_, 1000) : -1);
  std::uint64_t count = 0;
  if ((polled[0].revents & POLLIN) != 0) [[maybe_unused]]
    const ssize_t got = ::read(wake_.get(), &count, sizeof count);
}

void ControlService::serve_own() {
  const std::uint32_t notices = own_notices_.exchange(0, std::memory_order_acquire);
  for (const Notice notice : {Notice::raised, Notice::left, Notice::waits})
    if ((notices & (1U << static_cast<unsigned>(notice))) != 0) take(notice);
}

void ControlService::take(Notice notice) {
  if (notice == Notice::raised) {
    forward_error();
    propose();
  }
  if (notice == Notice::left) forward_presence();
  if (notice == Notice::waits && !links_.empty()) {
    const std::array<std::byte, 1> nothing{};
    query_forwarded_ = Clock::now();
    flood(FrameType::query, nothing, nullptr);
    send_records();  // whoever is asked is waited for, perhaps by somebody who is waited for here
  }
}

void ControlService::serve_members() {
  for (Member& member : members_) {
    if (!member.socket.valid()) continue;
    std::array<std::uint8_t, 256> notices{};
    ssize_t got = 0;
    std::uint32_t seen = 0;
    while ((got = ::recv(member.socket.get(), notices.data(), notices.size(), 0)) > 0)
      for (ssize_t i = 0; i < got; ++i) seen |= 1U << (notices[static_cast<std::size_t>(i)] & 3U);
    const bool closed = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
    for (const Notice notice : {Notice::raised, Notice::left, Notice::waits})
      if ((seen & (1U << static_cast<unsigned>(notice))) != 0) take(notice);
    pollfd process{member.process.get(), POLLIN, 0};
    if (closed || (member.process.valid() && ::poll(&process, 1, 0) > 0)) member_gone(member);
  }
}

void ControlService::member_gone(Member& member) {
  member.socket.reset();
  member.process.reset();
  if (segment_.change_if_here(member.rank, Presence::dead)) raise(directory_.death_of(member.rank, segment_.last_record(member.rank)));
  forward_presence();
}

void ControlService::serve_links() {
  for (Link& link : links_) {
    if (!link.socket.valid()) continue;
    const auto state = link.reader.read_from(link.socket.get());
    while (auto frame = link.reader.next()) take(link, *frame);
    flush(link);
    if (state != FrameReader::State::open) link_gone(link);
  }
}

void ControlService::link_gone(Link& link) {
  link.socket.reset();
  link.out.clear();
  const Rank leader = directory_.hosts[link.host].leader;
  if (segment_.change_if_here(leader, Presence::dead)) raise(directory_.death_of(leader, segment_.last_record(leader)));
}

void ControlService::take(Link& link, const Frame& frame) {
  ByteReader reader(frame.payload);
  if (frame.type == FrameType::raise) {
    const Status status = decode_failure(frame.payload);
    segment_.raise(status, directory_.leader());
    error_forwarded_ = true;
    flood(frame.type, frame.payload, &link);
  } else if (frame.type == FrameType::propose) {
    if (directory_.host() == 0) return raise(decode_failure(frame.payload));
    if (Link* up = link_up()) send(*up, frame.type, frame.payload);
  } else if (frame.type == FrameType::presence) {
    const auto rank = reader.get<Rank>();
    const auto presence = static_cast<Presence>(reader.get<std::uint8_t>());
    if (!reader.complete() || rank < 0 || static_cast<std::size_t>(rank) >= forwarded_.size()) return;
    if (presence != Presence::finished && presence != Presence::aborted && presence != Presence::dead) return;
    segment_.change_if_here(rank, presence);
    forwarded_[static_cast<std::size_t>(rank)] = presence;
    flood(frame.type, frame.payload, &link);
  } else if (frame.type == FrameType::query) {
    if (Clock::now() >= query_forwarded_ + records_interval) {
      query_forwarded_ = Clock::now();
      flood(frame.type, frame.payload, &link);
    }
    send_records();
  } else if (frame.type == FrameType::records) {
    take_records(frame.payload);
    flood(frame.type, frame.payload, &link);
  }
}

void ControlService::take_records(std::span<const std::byte> payload) {
  ByteReader reader(payload);
  for (std::size_t ranks = reader.get_count(8); ranks > 0 && reader.ok(); --ranks) {
    const auto rank = reader.get<Rank>();
    if (rank < 0 || static_cast<std::size_t>(rank) >= directory_.members.size() || directory_.of(rank).host_index == directory_.host())
      return;
    for (std::size_t records = reader.get_count(22); records > 0 && reader.ok(); --records) {
      CallRecord record;
      record.sequence = reader.get<std::uint64_t>();
      record.count = reader.get<std::uint64_t>();
      record.collective = static_cast<Collective>(reader.get<std::uint8_t>());
      record.type = static_cast<DataType>(reader.get<std::uint8_t>());
      record.op = reader.get<std::uint8_t>();
      record.root = reader.get<Rank>();
      if (reader.ok() && record.sequence > segment_.last_sequence(rank)) segment_.publish(rank, record);
    }
  }
}

void ControlService::send_records() {
  if (Clock::now() < records_sent_ + records_interval) return;
  records_sent_ = Clock::now();
  send_records_of(directory_.local);
}

void ControlService::send_records_of(std::span<const Rank> ranks) {
  if (links_.empty()) return;
  ByteWriter writer;
  writer.put(static_cast<std::uint32_t>(ranks.size()));
  for (const Rank rank : ranks) {
    std::vector<CallRecord> records;
    const std::uint64_t last = segment_.last_sequence(rank);
    for (std::uint64_t number = last >= records_kept ? last - records_kept + 1 : 1; number <= last; ++number)
      if (const auto record = segment_.record_of(rank, number)) records.push_back(*record);
    writer.put(rank);
    writer.put(static_cast<std::uint32_t>(records.size()));
    for (const CallRecord& record : records) {
      writer.put(record.sequence);
      writer.put(record.count);
      writer.put(static_cast<std::uint8_t>(record.collective));
      writer.put(static_cast<std::uint8_t>(record.type));
      writer.put(record.op);
      writer.put(record.root);
    }
  }
  flood(FrameType::records, writer.bytes(), nullptr);
}

void ControlService::raise(const Status& status) {
  if (link_up() != nullptr) {
    if (segment_.propose(status, directory_.leader())) log(LogLevel::error, status.text());
    return propose();
  }
  if (segment_.raise(status, directory_.leader())) log(LogLevel::error, status.text());
  forward_error();
}

ControlService::Link* ControlService::link_up() {
  const auto found = std::find_if(links_.begin(), links_.end(), [this](const Link& link) { return link.host < directory_.host(); });
  return found == links_.end() || !found->socket.valid() ? nullptr : &*found;
}

void ControlService::propose() {
  const Status proposal = segment_.proposal();
  if (proposed_ || segment_.failed() || proposal.ok()) return;
  proposed_ = true;
  decide_alone_at_ = Clock::now();
  if (Link* up = link_up()) {
    decide_alone_at_ += decision_patience;
    send(*up, FrameType::propose, encode(proposal));
  }
}

void ControlService::decide_alone() {
  if (!proposed_ || segment_.failed() || Clock::now() < decide_alone_at_) return;
  segment_.raise(segment_.proposal(), directory_.leader());
  forward_error();
}

void ControlService::forward_error() {
  if (error_forwarded_ || !segment_.failed()) return;
  error_forwarded_ = true;
  flood(FrameType::raise, encode(segment_.error()), nullptr);
}

void ControlService::forward_presence() {
  for (const Rank rank : directory_.local) {
    const Presence now = segment_.presence(rank);
    if (now == Presence::here || forwarded_[static_cast<std::size_t>(rank)] == now) continue;
    forwarded_[static_cast<std::size_t>(rank)] = now;
    send_records_of({&rank, 1});  // first: nobody may think that it left before its last call
    ByteWriter writer;
    writer.put(rank);
    writer.put(static_cast<std::uint8_t>(now));
    flood(FrameType::presence, writer.bytes(), nullptr);
  }
}

void ControlService::flood(FrameType type, std::span<const std::byte> payload, const Link* except) {
  const std::vector<std::byte> frame = encode_frame(type, payload);
  for (Link& link : links_) {
    if (&link == except || !link.socket.valid()) continue;
    if (type == FrameType::records && link.out.size() > most_pending) continue;  // newer ones will come
    link.out.insert(link.out.end(), frame.begin(), frame.end());
    flush(link);
  }
}

void ControlService::send(Link& link, FrameType type, std::span<const std::byte> payload) {
  const std::vector<std::byte> frame = encode_frame(type, payload);
  link.out.insert(link.out.end(), frame.begin(), frame.end());
  flush(link);
}

void ControlService::flush(Link& link) {
  while (link.socket.valid() && !link.out.empty()) {
    const ssize_t sent = ::send(link.socket.get(), link.out.data(), link.out.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // later, or its end is read next
    link.out.erase(link.out.begin(), link.out.begin() + sent);
  }
}

}  // namespace toric
