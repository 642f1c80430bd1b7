// The control channel: who is alive, what each rank is calling, and the one sticky error that everybody of a
// communicator sees. Nothing here is on the wire of a collective; publish() is the only call of the fast path.
#pragma once

#include "toric/base.hpp"
#include "toric/transport.hpp"  // Clock, Deadline

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace toric {

/// What one rank says about one of its calls. Equal on all ranks for the same sequence number, or the call is a mistake.
struct CallRecord {
  std::uint64_t sequence = 0;  // 1 for the first call of the communicator; a call with count 0 takes a number too
  std::uint64_t count = 0;
  Collective collective = Collective::barrier;
  DataType type = DataType::uint8;
  std::uint8_t op = 0;  // RedOp for reductions, 0 otherwise (not the scalar: it may differ between ranks)
  Rank root = -1;

  [[nodiscard]] bool same_call(const CallRecord& other) const;
  /// Never 0: what a transport stamps on its segments. Mixes all fields, the sequence too. Every call waits for it, so the
  /// fields are multiplied side by side.
  [[nodiscard]] std::uint64_t signature() const noexcept {
    const std::uint64_t what = static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << 8 |
                               static_cast<std::uint64_t>(op) << 16 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
    const auto spread = [](std::uint64_t value, std::uint64_t factor) { return (value ^ (value >> 32)) * factor; };
    const std::uint64_t sum = spread(sequence, 0x9e3779b97f4a7c15ULL) + spread(count, 0xc2b2ae3d27d4eb4fULL) + spread(what, 0x165667b19e3779f9ULL);
    const std::uint64_t hash = (sum ^ (sum >> 29)) * 0xbf58476d1ce4e5b9ULL;
    return (hash ^ (hash >> 32)) | 1;
  }
  /// "all_reduce count 100 type float op sum", for error texts.
  [[nodiscard]] std::string describe() const;
};

/// How a rank ended its part.
enum class Presence : std::uint8_t { absent, here, finished, dead, aborted };

class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  /// As a call begins, before it waits. The last 16 of every rank can be read by all. A few nanoseconds; not thread safe.
  virtual void publish(const CallRecord& record) = 0;
  /// That call of that rank, if it is among its last 16.
  [[nodiscard]] virtual std::optional<CallRecord> record_of(Rank rank, std::uint64_t sequence) const = 0;
  /// The number of the last call that rank has published; 0: none yet.
  [[nodiscard]] virtual std::uint64_t last_sequence(Rank rank) const = 0;
  [[nodiscard]] virtual Presence presence(Rank rank) const = 0;
  [[nodiscard]] virtual std::string host_of(Rank rank) const = 0;
  [[nodiscard]] virtual std::int64_t process_of(Rank rank) const = 0;

  /// One load: whether the communicator has failed anywhere.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  /// The sticky error, the same text on every rank; ok when there is none.
  [[nodiscard]] virtual Status error() const = 0;
  /// Makes `status` the communicator's error on every rank unless there is one already. From any thread.
  /// failed() is true when it returns; between hosts that may take half a second.
  virtual void raise(const Status& status) = 0;

  /// For a rank that has waited `waited` in the call it published last, every 100 ms or so: notices dead ranks
  /// (within 2 s of their end), calls that do not match this one, ranks that finished or aborted before it; raises and
  /// returns the error, naming collective, sequence, rank, peer, host and remedy. Otherwise ok.
  virtual Status examine(Clock::duration waited) = 0;
  /// The ranks that have not reached the call published last: what a late-peer message names.
  [[nodiscard]] virtual std::string describe_late() const = 0;

  /// This rank is done and goes: peers do not take it for dead. Local, does not block.
  virtual void leave(Presence how) = 0;
};

}  // namespace toric
