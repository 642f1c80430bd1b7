#include "toric/comm/bootstrap_host.hpp"

#include <algorithm>

namespace toric {

namespace {
constexpr std::byte segment_follows{0x53};
constexpr std::size_t most_guests = 4096;
constexpr auto guest_patience = std::chrono::seconds(10);
}  // namespace

Result<std::unique_ptr<HostLeader>> HostLeader::create(const Assign& assign, Rank ranks) {
  auto made = ControlSegment::create(ranks, assign.nonce);
  if (!made.ok()) return made.status();
  auto leader = std::make_unique<HostLeader>();
  leader->nonce_ = assign.nonce;
  leader->memory_ = std::move(made->descriptor);
  leader->group_.local = assign.local_ranks;
  leader->group_.segment = std::move(made->segment);
  leader->group_.segment->set_presence(assign.local_ranks.front(), Presence::here);
  leader->group_.members.resize(assign.local_ranks.size());
  return leader;
}

void HostLeader::add_to(std::vector<pollfd>& polled) const {
  for (const Guest& guest : guests_) polled.push_back({guest.socket.get(), POLLIN, 0});
}

Status HostLeader::serve(const Descriptor& listener) {
  while (guests_.size() < most_guests) {
    auto accepted = accept_pending(listener);
    if (!accepted.ok()) return accepted.status();
    if (!accepted->valid()) break;
    guests_.push_back({});
    guests_.back().socket = std::move(*accepted);
  }
  for (Guest& guest : guests_) {
    const auto state = guest.reader.read_from(guest.socket.get());
    if (const auto frame = guest.reader.next()) {
      const auto join = frame->type == FrameType::join_host ? decode_join(frame->payload) : std::nullopt;
      if (join && join->nonce == nonce_) TORIC_TRY(seat(guest, *join));
      guest.socket.reset();
    } else if (state != FrameReader::State::open || Clock::now() > guest.came + guest_patience) {
      guest.socket.reset();
    }
  }
  guests_.erase(std::remove_if(guests_.begin(), guests_.end(), [](const Guest& guest) { return !guest.socket.valid(); }), guests_.end());
  return {};
}

Status HostLeader::seat(Guest& guest, const JoinPeer& join) {
  const auto found = std::find(group_.local.begin() + 1, group_.local.end(), static_cast<Rank>(join.who));
  if (found == group_.local.end()) return {};  // a rank of another host: it will notice
  SocketPair& pair = group_.members[static_cast<std::size_t>(found - group_.local.begin())];
  (join.purpose == Purpose::control ? pair.control : pair.exchange) = std::move(guest.socket);
  if (join.purpose == Purpose::control || !pair.control.valid()) return {};
  const Status sent = send_descriptor(pair.exchange.get(), memory_.get(), segment_follows, Clock::now() + std::chrono::seconds(1));
  if (!sent.ok()) pair = {};  // it has given up: not the leader's fault
  return {};
}

void HostLeader::keep_only(const std::vector<Rank>& local) {
  std::vector<SocketPair> members(local.size());
  for (std::size_t i = 0; i < local.size(); ++i) {
    const auto found = std::find(group_.local.begin(), group_.local.end(), local[i]);
    if (found != group_.local.end()) members[i] = std::move(group_.members[static_cast<std::size_t>(found - group_.local.begin())]);
  }
  group_.local = local;
  group_.members = std::move(members);
}

bool HostLeader::complete() const {
  for (std::size_t i = 1; i < group_.local.size(); ++i)
    if (!group_.members[i].exchange.valid() || group_.segment->presence(group_.local[i]) != Presence::here) return false;
  return true;
}

Result<HostGroup> join_leader(const Assign& assign, Rank rank, Rank ranks, Deadline deadline) {
  HostGroup group;
  group.local = assign.local_ranks;
  for (const Purpose purpose : {Purpose::control, Purpose::exchange}) {
    auto socket = connect_local(assign.leader_name, deadline);
    if (!socket.ok()) return socket.status();
    const auto join = encode(JoinPeer{assign.nonce, static_cast<std::uint32_t>(rank), purpose});
    if (Status sent = send_frame(socket->get(), FrameType::join_host, join, deadline); !sent.ok()) return sent;
    (purpose == Purpose::control ? group.leader.control : group.leader.exchange) = std::move(*socket);
  }
  auto received = receive_descriptor(group.leader.exchange.get(), deadline);
  if (!received.ok()) return received.status();
  if (received->what != segment_follows || !received->descriptor.valid())
    return Status(Code::remote_error, "its leader could not pass a descriptor");
  auto segment = ControlSegment::map(received->descriptor, ranks, assign.nonce);
  if (!segment.ok()) return segment.status();
  group.segment = std::move(*segment);
  if (group.segment->presence(assign.local_ranks.front()) != Presence::here)
    return Status(Code::remote_error, "what the leader wrote into shared memory cannot be seen");
  group.segment->set_presence(rank, Presence::here);
  return group;
}

}  // namespace toric
