#include "toric/comm/bootstrap_exchange.hpp"

#include "toric/comm/socket_frame.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <bit>
#include <thread>

namespace toric {

namespace {

constexpr std::size_t most_payload = std::size_t{1} << 30;
constexpr std::byte descriptor_comes{1}, no_descriptor{0};

using Part = std::pair<Rank, std::vector<std::byte>>;

/// A sequence number in front finds ranks that made different calls.
std::vector<std::byte> encode_parts(std::uint64_t call, std::span<const std::vector<std::byte>> parts) {
  ByteWriter writer;
  writer.put(call);
  std::uint32_t present = 0;
  for (const auto& part : parts) present += part.empty() ? 0U : 1U;
  writer.put(present);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].empty()) continue;
    writer.put(static_cast<Rank>(rank));
    writer.put_bytes(parts[rank]);
  }
  return writer.bytes();
}

bool decode_parts(std::span<const std::byte> payload, std::uint64_t call, std::vector<std::vector<std::byte>>& parts) {
  ByteReader reader(payload);
  if (reader.get<std::uint64_t>() != call) return false;
  for (std::size_t left = reader.get_count(12); left > 0; --left) {
    const auto rank = reader.get<Rank>();
    auto bytes = reader.get_bytes();
    if (rank < 0 || static_cast<std::size_t>(rank) >= parts.size()) return false;
    parts[static_cast<std::size_t>(rank)] = std::move(bytes);
  }
  return reader.complete();
}

}  // namespace

struct HostExchange::Call {
  std::string_view what;
  std::uint64_t number;
  Deadline deadline;
  Interrupt interrupt;

  /// Whoever waits for a part gives up before those who wait for the whole, so that the rank to blame is named.
  [[nodiscard]] Deadline part_deadline(std::size_t hosts_below) const {
    return deadline + std::chrono::milliseconds(100) * static_cast<int>(std::bit_width(hosts_below));
  }
  [[nodiscard]] Deadline answer_deadline() const { return part_deadline(UINT32_MAX) + std::chrono::seconds(1); }
};

HostExchange::Call HostExchange::begin(std::string_view what) {
  return {what, ++calls_, Clock::now() + timeout_, [this] { return control_.error(); }};
}

Status HostExchange::failure(const Status& status, Rank peer, const Call& call) {
  if (control_.failed()) return control_.error();
  const std::string_view why = status.code() == Code::timeout ? "did not take part in time" : status.text();
  const Status named(status.code(), fmt::format("set-up exchange #{} ({}) on {}: {}: {}; look at its log", call.number, call.what,
                                                directory_.who(directory_.rank), directory_.who(peer), why));
  // A connection that closes is mostly a death, which the control channel is about to report with a better text.
  if (status.code() == Code::remote_error) {
    const Deadline soon = Clock::now() + std::chrono::milliseconds(300);
    while (Clock::now() < soon && control_.examine(std::chrono::milliseconds(100)).ok())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  control_.raise(named);
  return control_.failed() ? control_.error() : named;
}

Result<HostExchange::Everyone> HostExchange::all_gather(std::span<const std::byte> mine) {
  const Call call = begin("all_gather");
  if (control_.failed()) return control_.error();
  std::vector<std::byte> table;
  if (directory_.leads()) {
    auto gathered = gather_at_leader(mine, call);
    if (!gathered.ok()) return gathered.status();
    table = std::move(*gathered);
    if (Status sent = distribute(table, call); !sent.ok()) return sent;
  } else {
    Everyone own(directory_.members.size());
    // One byte in front tells an empty contribution from none.
    own[static_cast<std::size_t>(directory_.rank)].assign(1, std::byte{1});
    auto& part = own[static_cast<std::size_t>(directory_.rank)];
    part.insert(part.end(), mine.begin(), mine.end());
    Status sent = send_frame(leader.get(), FrameType::gather, encode_parts(call.number, own), call.deadline, call.interrupt);
    if (!sent.ok()) return failure(sent, directory_.leader(), call);
    auto frame = receive_frame(leader.get(), most_payload, call.answer_deadline(), call.interrupt);
    if (!frame.ok()) return failure(frame.status(), directory_.leader(), call);
    table = std::move(frame->payload);
  }
  Everyone parts(directory_.members.size());
  const bool decoded = decode_parts(table, call.number, parts);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (!decoded || parts[rank].empty())
      return failure({Code::internal_error, "its part is missing: it made another set-up call"}, static_cast<Rank>(rank), call);
    parts[rank].erase(parts[rank].begin());
  }
  return parts;
}

Status HostExchange::collect(int socket, Rank from, std::vector<std::vector<std::byte>>& parts, const Call& call) {
  // A member is on this host; the part of a host comes with those of the hosts below it.
  const bool member = directory_.of(from).host_index == directory_.host();
  const std::size_t hosts_below = member ? 0 : directory_.hosts.size() / (directory_.of(from).host_index + 1);
  auto frame = receive_frame(socket, most_payload, call.part_deadline(hosts_below), call.interrupt);
  if (!frame.ok()) return failure(frame.status(), from, call);
  if (frame->type != FrameType::gather || !decode_parts(frame->payload, call.number, parts))
    return failure({Code::internal_error, "it made another set-up call than this rank"}, from, call);
  return {};
}

Result<std::vector<std::byte>> HostExchange::gather_at_leader(std::span<const std::byte> mine, const Call& call) {
  Everyone parts(directory_.members.size());
  auto& own = parts[static_cast<std::size_t>(directory_.rank)];
  own.assign(1, std::byte{1});
  own.insert(own.end(), mine.begin(), mine.end());
  for (std::size_t i = 1; i < directory_.local.size(); ++i)
    if (Status got = collect(members[i].get(), directory_.local[i], parts, call); !got.ok()) return got;
  for (const auto& [host, socket] : down)
    if (Status got = collect(socket.get(), directory_.hosts[host].leader, parts, call); !got.ok()) return got;
  std::vector<std::byte> table = encode_parts(call.number, parts);
  if (up.empty()) return table;
  const Rank above = directory_.hosts[up.front().first].leader;
  const int socket = up.front().second.get();
  if (Status sent = send_frame(socket, FrameType::gather, table, call.deadline, call.interrupt); !sent.ok())
    return failure(sent, above, call);
  auto frame = receive_frame(socket, most_payload, call.answer_deadline(), call.interrupt);
  if (!frame.ok()) return failure(frame.status(), above, call);
  return std::move(frame->payload);
}

Status HostExchange::distribute(std::span<const std::byte> table, const Call& call) {
  for (const auto& [host, socket] : down) {
    const Status sent = send_frame(socket.get(), FrameType::everything, table, call.deadline, call.interrupt);
    if (!sent.ok()) return failure(sent, directory_.hosts[host].leader, call);
  }
  for (std::size_t i = 1; i < directory_.local.size(); ++i) {
    const Status sent = send_frame(members[i].get(), FrameType::everything, table, call.deadline, call.interrupt);
    if (!sent.ok()) return failure(sent, directory_.local[i], call);
  }
  return {};
}

/// The owner's descriptor at the leader; invalid when the owner had none.
Result<Descriptor> HostExchange::fetch(int descriptor, Rank owner, const Call& call) {
  if (owner == directory_.rank) return Descriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  for (std::size_t i = 1; i < directory_.local.size(); ++i) {
    if (directory_.local[i] != owner) continue;
    auto received = receive_descriptor(members[i].get(), call.deadline, call.interrupt);
    if (!received.ok()) return failure(received.status(), owner, call);
    return std::move(received->descriptor);
  }
  return Descriptor();
}

Result<int> HostExchange::share_descriptor(int descriptor, Rank owner) {
  if (owner < 0 || static_cast<std::size_t>(owner) >= directory_.members.size())
    return Status(Code::invalid_argument, fmt::format("there is no rank {} to share a descriptor", owner));
  const Call call = begin("share_descriptor");
  if (control_.failed()) return control_.error();
  if (directory_.of(owner).host_index != directory_.host())
    return Status(Code::invalid_usage,
                  fmt::format("{} cannot be given a descriptor of {}, which is on another host; use a network transport",
                              directory_.who(directory_.rank), directory_.who(owner)));
  make_room_for_descriptors(4);
  const bool sends = owner == directory_.rank && !directory_.leads();
  // A descriptor that is not open still lets the others go on: all of them get the same error.
  const bool open = descriptor >= 0 && ::fcntl(descriptor, F_GETFD) >= 0;
  Descriptor shared;
  if (directory_.leads()) {
    auto fetched = fetch(descriptor, owner, call);
    if (!fetched.ok()) return fetched.status();
    shared = std::move(*fetched);
    for (std::size_t i = 1; i < directory_.local.size(); ++i) {
      const Status sent =
          send_descriptor(members[i].get(), shared.get(), shared.valid() ? descriptor_comes : no_descriptor, call.deadline, call.interrupt);
      if (!sent.ok()) return failure(sent, directory_.local[i], call);
    }
  } else {
    const Status sent = sends ? send_descriptor(leader.get(), open ? descriptor : -1, open ? descriptor_comes : no_descriptor,
                                                call.deadline, call.interrupt)
                              : Status();
    if (!sent.ok()) return failure(sent, directory_.leader(), call);
    auto received = receive_descriptor(leader.get(), call.answer_deadline(), call.interrupt);
    if (!received.ok()) return failure(received.status(), directory_.leader(), call);
    shared = std::move(received->descriptor);
  }
  if (!shared.valid()) return Status(Code::invalid_argument, fmt::format("{} shared no open descriptor", directory_.who(owner)));
  return shared.release();
}

}  // namespace toric
