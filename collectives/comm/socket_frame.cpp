#include "toric/comm/socket_frame.hpp"

#include <array>
#include <cerrno>

namespace toric {

void ByteWriter::put_address(const SocketAddress& address) {
  put<std::uint8_t>(address.is_ipv6() ? 6 : 4);
  put<std::uint16_t>(address.port());
  const auto bytes = address.bytes();
  for (std::size_t i = 0; i < (address.is_ipv6() ? 16U : 4U); ++i) put<std::uint8_t>(bytes[i]);
}

bool ByteReader::take(std::size_t bytes) {
  if (!ok_ || rest_.size() < bytes) {
    ok_ = false;
    return false;
  }
  taken_ = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return true;
}

std::vector<std::byte> ByteReader::get_bytes() {
  const auto length = get<std::uint64_t>();
  if (!take(length)) return {};
  return {taken_.begin(), taken_.end()};
}

std::string ByteReader::get_text() {
  const auto length = get<std::uint64_t>();
  if (!take(length)) return {};
  return {reinterpret_cast<const char*>(taken_.data()), taken_.size()};
}

SocketAddress ByteReader::get_address() {
  const auto family = get<std::uint8_t>();
  const auto port = get<std::uint16_t>();
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < (family == 6 ? 16U : 4U); ++i) bytes[i] = get<std::uint8_t>();
  if (family == 6) return SocketAddress::ipv6(bytes, port);
  if (family != 4) ok_ = false;
  return SocketAddress::ipv4({bytes[0], bytes[1], bytes[2], bytes[3]}, port);
}

std::size_t ByteReader::get_count(std::size_t element_bytes) {
  const auto count = get<std::uint32_t>();
  if (count > rest_.size() / element_bytes) ok_ = false;
  return ok_ ? count : 0;
}

std::vector<std::byte> encode_frame(FrameType type, std::span<const std::byte> payload, std::uint16_t protocol) {
  ByteWriter header;
  header.put(frame_magic);
  header.put(protocol);
  header.put(static_cast<std::uint16_t>(type));
  header.put(static_cast<std::uint32_t>(payload.size()));
  std::vector<std::byte> bytes = header.bytes();
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

namespace {

struct Header {
  std::uint32_t magic;
  std::uint16_t protocol, type;
  std::uint32_t length;
};

Header decode_header(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Header header{};
  header.magic = reader.get<std::uint32_t>();
  header.protocol = reader.get<std::uint16_t>();
  header.type = reader.get<std::uint16_t>();
  header.length = reader.get<std::uint32_t>();
  return header;
}

}  // namespace

bool FrameReader::plausible() const {
  if (buffer_.size() < frame_header_bytes) {  // a stranger is recognised by its first bytes already
    const std::uint32_t magic = frame_magic;
    for (std::size_t i = 0; i < buffer_.size() && i < 4; ++i)
      if (buffer_[i] != static_cast<std::byte>((magic >> (8 * i)) & 0xff)) return false;
    return true;
  }
  const Header header = decode_header(buffer_);
  return header.magic == frame_magic && header.length <= most_payload_;
}

FrameReader::State FrameReader::read_from(int socket) {
  std::array<std::byte, 16384> chunk;  // NOLINT: filled by recv
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t got = ::recv(socket, chunk.data(), chunk.size(), 0);
    if (got == 0) return State::ended;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK ? State::open : State::ended;
    }
    buffer_.insert(buffer_.end(), chunk.begin(), chunk.begin() + got);
    if (!plausible()) return State::stranger;
  }
  return State::open;
}

std::optional<Frame> FrameReader::next() {
  if (buffer_.size() < frame_header_bytes || !plausible()) return std::nullopt;
  const Header header = decode_header(buffer_);
  if (buffer_.size() - frame_header_bytes < header.length) return std::nullopt;
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(frame_header_bytes);
  const auto end = begin + static_cast<std::ptrdiff_t>(header.length);
  Frame frame{static_cast<FrameType>(header.type), header.protocol, {begin, end}};
  buffer_.erase(buffer_.begin(), end);
  return frame;
}

Status send_frame(int socket, FrameType type, std::span<const std::byte> payload, Deadline deadline, const Interrupt& interrupt) {
  if (payload.size() > UINT32_MAX) return {Code::invalid_argument, "a message of the set-up is larger than 4 GiB"};
  return send_all(socket, encode_frame(type, payload), deadline, interrupt);
}

Result<Frame> receive_frame(int socket, std::size_t most_payload, Deadline deadline, const Interrupt& interrupt) {
  std::array<std::byte, frame_header_bytes> raw{};
  if (Status got = receive_all(socket, raw, deadline, interrupt); !got.ok()) return got;
  const Header header = decode_header(raw);
  if (header.magic != frame_magic || header.protocol != protocol_version || header.length > most_payload)
    return Status(Code::remote_error, "a peer sent something that is no message of this version of Toric");
  Frame frame{static_cast<FrameType>(header.type), header.protocol, std::vector<std::byte>(header.length)};
  if (Status got = receive_all(socket, frame.payload, deadline, interrupt); !got.ok()) return got;
  return frame;
}

}  // namespace toric
