// The memory that the ranks of a host share for control: who is there, what each is calling, and the one error of the
// communicator. Made by the host's leader from anonymous memory: nothing is left of it when its ranks are gone.
// It has room for all ranks: those of other hosts are filled in by the leader's service, so that readers see no difference.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/control.hpp"
#include "toric/comm/rendezvous_messages.hpp"
#include "toric/comm/socket.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace toric {

inline constexpr std::size_t records_kept = 16;
inline constexpr std::size_t error_text_bytes = 1016;

class ControlSegment {
 public:
  /// A new one, and the descriptor to give to the others.
  struct Made {
    std::unique_ptr<ControlSegment> segment;
    Descriptor descriptor;
  };
  static Result<Made> create(Rank ranks, const Nonce& nonce);
  /// Somebody else's. Refuses one of another meeting or size.
  static Result<std::unique_ptr<ControlSegment>> map(const Descriptor& descriptor, Rank ranks, const Nonce& nonce);
  ~ControlSegment();
  ControlSegment(const ControlSegment&) = delete;
  ControlSegment& operator=(const ControlSegment&) = delete;

  void publish(Rank rank, const CallRecord& record);
  [[nodiscard]] std::optional<CallRecord> record_of(Rank rank, std::uint64_t sequence) const;
  [[nodiscard]] std::uint64_t last_sequence(Rank rank) const;
  [[nodiscard]] std::optional<CallRecord> last_record(Rank rank) const { return record_of(rank, last_sequence(rank)); }

  [[nodiscard]] Presence presence(Rank rank) const;
  void set_presence(Rank rank, Presence presence);
  /// Only if it is still here: whoever has left is neither dead nor anything else later. True if this call changed it.
  bool change_if_here(Rank rank, Presence presence);

  [[nodiscard]] bool failed() const noexcept;
  [[nodiscard]] Status error() const;
  /// Writes the error unless there is one; true when this was the first. A rank that died while writing is overtaken.
  bool raise(const Status& status, Rank raiser);
  /// What this host would like the error to be: the first host decides, so that all hosts end with one text.
  bool propose(const Status& status, Rank raiser);
  [[nodiscard]] Status proposal() const;

 private:
  struct Board;
  struct Header;
  struct RankCell;
  ControlSegment(void* memory, std::size_t bytes, Rank ranks) : memory_(memory), bytes_(bytes), ranks_(ranks) {}
  static std::size_t bytes_for(Rank ranks);
  static Result<void*> map_bytes(int descriptor, std::size_t bytes);
  bool write(Board& board, const Status& status, Rank raiser) const;
  static Status read(const Board& board);
  [[nodiscard]] Header& header() const;
  [[nodiscard]] RankCell& cell(Rank rank) const;

  void* memory_;
  std::size_t bytes_;
  Rank ranks_;
};

}  // namespace toric
