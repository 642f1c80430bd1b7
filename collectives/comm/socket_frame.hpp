// What travels on the meeting's sockets: frames of {magic, protocol, type, length} and a payload of little-endian fields.
// A reader trusts nothing: lengths are bounded, short payloads are errors, strangers are told apart from other versions.
#pragma once

#include "toric/comm/socket.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace toric {

/// Raised whenever a message changes; ranks of different protocols refuse one another, naming both.
inline constexpr std::uint16_t protocol_version = 1;
inline constexpr std::uint32_t frame_magic = 0x43524f54;  // "TORC"
inline constexpr std::size_t frame_header_bytes = 12;

enum class FrameType : std::uint16_t {
  hello = 1,        // rank -> root; its first fields never change, so that every version can name every other
  welcome = 2,      // root -> rank: this is the meeting you look for
  assign = 3,       // root -> rank: your host's ranks, and who leads them
  joined = 4,       // rank -> root: the leader could be reached, or why not
  start = 5,        // root -> rank: the table of all
  failure = 6,      // root -> rank: code and text
  join_host = 7,    // rank -> its leader
  segment = 8,      // leader -> rank: a descriptor follows
  join_tree = 9,    // leader -> the leader above it
  gather = 10,      // Exchange: upwards
  everything = 11,  // Exchange: downwards
  raise = 12,       // control: an error of the communicator
  presence = 13,    // control: a rank has gone
  query = 14,       // control: somebody waits, send your records
  records = 15,     // control: the last calls of a host's ranks
  propose = 16,     // control: an error on its way to the first host, which decides on one for all
};

class ByteWriter {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    using Unsigned = std::make_unsigned_t<T>;
    auto rest = static_cast<std::uint64_t>(static_cast<Unsigned>(value));
    for (std::size_t i = 0; i < sizeof(T); ++i, rest >>= 8) bytes_.push_back(static_cast<std::byte>(rest & 0xff));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    put<std::uint64_t>(bytes.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) { put_bytes(std::as_bytes(std::span(text.data(), text.size()))); }
  void put_address(const SocketAddress& address);
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// After the first field that does not fit everything reads as zero and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <typename T>
  [[nodiscard]] T get() {
    static_assert(std::is_integral_v<T>);
    if (!take(sizeof(T))) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(taken_[i]) << (8 * i);
    return static_cast<T>(value);
  }
  [[nodiscard]] std::vector<std::byte> get_bytes();
  [[nodiscard]] std::string get_text();
  [[nodiscard]] SocketAddress get_address();
  /// A number of elements of at least `element_bytes` each: one that cannot fit in what is left fails.
  [[nodiscard]] std::size_t get_count(std::size_t element_bytes);
  [[nodiscard]] bool ok() const { return ok_; }
  /// All fields fitted and nothing is left.
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  bool take(std::size_t bytes);
  std::span<const std::byte> rest_, taken_;
  bool ok_ = true;
};

struct Frame {
  FrameType type{};
  std::uint16_t protocol = protocol_version;
  std::vector<std::byte> payload;
};

[[nodiscard]] std::vector<std::byte> encode_frame(FrameType type, std::span<const std::byte> payload,
                                                  std::uint16_t protocol = protocol_version);

/// Collects frames from a non-blocking socket.
class FrameReader {
 public:
  enum class State : std::uint8_t { open, ended, stranger };  // stranger: this peer does not speak our protocol
  explicit FrameReader(std::size_t most_payload) : most_payload_(most_payload) {}
  /// Reads what has arrived, at most about a megabyte at once.
  State read_from(int socket);
  [[nodiscard]] std::optional<Frame> next();
  /// Already received, a whole frame or not.
  [[nodiscard]] bool has_bytes() const { return !buffer_.empty(); }

 private:
  [[nodiscard]] bool plausible() const;
  std::vector<std::byte> buffer_;
  std::size_t most_payload_;
};

/// Blocking, for sockets that belong to one thread.
Status send_frame(int socket, FrameType type, std::span<const std::byte> payload, Deadline deadline, const Interrupt& interrupt = {});
Result<Frame> receive_frame(int socket, std::size_t most_payload, Deadline deadline, const Interrupt& interrupt = {});

}  // namespace toric
