// The transport interface: bytes in, bytes out, in order, between two ranks on a numbered channel.
// A transport knows no schedule, no data type and no collective. Ports are resolved once, when a plan is bound.
// Hot calls return pointers; what went wrong is kept in failed(), which is sticky.
#pragma once

#include "toric/base.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace toric {

/// How bytes are written into a segment: through the cache, or past it with streaming (non-temporal) stores.
enum class Store : std::uint8_t { cached = 0, streamed = 1 };

/// One direction of one (peer, channel); valid for the life of the transport that gave it.
using Port = std::uint32_t;

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

struct IoVec {
  std::byte* data;
  std::size_t bytes;
};

/// A pending zero-copy transfer. Owned by the transport; dead once done() said true or cancel_all() returned.
struct Handle;

/// Decided by the communicator, the same on every rank.
struct TransportConfig {
  std::size_t segment_bytes = 64 * 1024;  // room of one large slot; a multiple of 64
  std::uint32_t slots = 4;                // large slots of one ring
  std::size_t small_bytes = 4096;         // messages up to this use the small slots; 0: no small slots
  std::uint32_t small_slots = 16;
  std::size_t memory_budget = std::size_t{1} << 30;  // bytes that all rings of one host may take together
  int numa_node = -1;                                // where this rank runs; -1: unknown
  MemoryKind memory = MemoryKind::host;
  int device = -1;
};

/// What a transport may ask of whoever starts it. Every call is collective over the same ranks in the same order,
/// blocks until all have made it or the deadline given to whoever made this object passes.
class Exchange {
 public:
  virtual ~Exchange() = default;
  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual Rank ranks() const = 0;
  /// Everyone's bytes, by rank.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) = 0;
  /// Gives `owner`'s file descriptor to every rank of this host. The caller owns what it gets (a duplicate; also at the owner).
  virtual Result<int> share_descriptor(int descriptor, Rank owner) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The largest segment that reserve and peek take; a multiple of 64, equal on all ranks.
  [[nodiscard]] virtual std::size_t segment_bytes() const = 0;

  /// The port for sending to `to` on `channel`. Makes the ring lazily, within the budget; not for the hot path.
  virtual Result<Port> out(Rank to, std::uint16_t channel) = 0;
  /// The port for receiving from `from` on `channel`.
  virtual Result<Port> in(Rank from, std::uint16_t channel) = 0;

  /// Every segment committed from now on carries `signature`. A segment that is peeked while another signature is
  /// stamped here is not delivered: failed() says so after some looks, and mismatch() gives both. 0 on both sides: unchecked.
  virtual void stamp(std::uint64_t signature) = 0;

  /// Room for the next outgoing segment, 64-byte aligned when bytes > 48; null: not now, or failed().
  /// Asking again before commit gives the same room. 1 <= bytes <= segment_bytes().
  virtual std::byte* reserve(Port out, std::size_t bytes) = 0;
  /// Hands the reserved segment over. `how`: the stores used to fill it (streamed ones are fenced here).
  /// `order`: among segments waiting for one NIC the smallest leaves first; memory transports ignore it.
  virtual void commit(Port out, std::size_t bytes, Store how, std::uint32_t order) = 0;
  /// The next received segment of `bytes` bytes, borrowed until release; null: not here yet, or failed().
  virtual const std::byte* peek(Port in, std::size_t bytes) = 0;
  virtual void release(Port in, std::size_t bytes) = 0;

  /// Which stores to use for the next segment of `bytes` to this peer; decided by the sender alone from what was observed.
  virtual Store store_for(Port out, std::size_t bytes) = 0;
  /// The executor times its kernels: cycles per byte of writing (out port, with the stores used) or of reading
  /// (in port: `how` is ignored, the transport remembers how the last peeked segment was stored).
  virtual void observe(Port port, Store how, float cycles_per_byte) = 0;

  /// Wakes the peers that sleep and for whom something was committed or released; peers that are awake see it without.
  /// To be called whenever nothing moves and at the end of a call; arm() includes it. Costs a fence, so not each time.
  virtual void flush() = 0;
  /// Sleeping without losing a wake-up: arm(), poll once more, then wait(). wait() returns at the first commit to or
  /// release for this rank that was flushed since arm(), at wake() or at the deadline, and may return early. disarm() undoes arm().
  virtual void arm() = 0;
  virtual void disarm() = 0;
  virtual void wait(Deadline deadline) = 0;
  /// Ends the wait of a rank (its own or a peer's), from any thread.
  virtual void wake(Rank rank) = 0;

  /// Sticky; ok until the first failure.
  [[nodiscard]] virtual Status failed() const = 0;
  struct Mismatch {
    Rank peer;
    std::uint64_t mine, theirs;
  };
  /// The first pair of signatures that differed, if that is why this transport failed.
  [[nodiscard]] virtual std::optional<Mismatch> mismatch() const { return std::nullopt; }

  /// Zero-copy, a capability (null: none, or not now; staging through reserve/peek is the fallback).
  virtual Handle* send_from(Port, std::span<const IoVec>, std::uint32_t /*order*/) { return nullptr; }
  virtual Handle* recv_into(Port, std::span<const IoVec>) { return nullptr; }
  virtual bool done(Handle*) { return true; }
  /// Returns when no caller's buffer can be touched any more.
  virtual void cancel_all() {}

  /// Bytes of ring memory this rank has caused to be reserved so far.
  [[nodiscard]] virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace toric
