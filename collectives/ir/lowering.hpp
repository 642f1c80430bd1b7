// From the builder's statements to programs. Internal to the layer: the builder records, this lowers.
//
// Lowering walks the statements once, in order, and keeps for every (rank, chunk) where its live copy is. It does so for
// all ranks even when one program alone is wanted: where a message has to be split depends on the live copies at both
// ends, and both ends must split alike. Nothing else is kept for ranks that are not wanted.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace toric::lowering {

enum class Verb : std::uint8_t { send, send_reduce, copy, reduce, begin_round, end_round, begin_stage };

inline constexpr std::uint16_t no_lane = 0xffff;

/// One recorded statement, already checked: ranks, chunks and lanes are in range, rounds are balanced.
struct Statement {
  Rank from = -1, to = -1;  // local steps: from
  std::uint32_t first = 0, count = 0;
  std::uint16_t channel = 0;
  std::uint16_t lane = no_lane;  // override
  std::uint16_t slot_set = 0;    // of local steps
  Verb verb = Verb::send;

  [[nodiscard]] bool is_transfer() const { return verb == Verb::send || verb == Verb::send_reduce; }
  [[nodiscard]] std::uint16_t send_lane() const { return lane != no_lane ? lane : static_cast<std::uint16_t>(2 * channel); }
  [[nodiscard]] std::uint16_t receive_lane() const { return lane != no_lane ? lane : static_cast<std::uint16_t>(2 * channel + 1); }
};

/// Where a live copy is, in one byte.
using Place = std::uint8_t;
namespace place {
inline constexpr Place none = 0, input = 1, output = 2;
inline constexpr Place own = 3;            // in input, and copied to output by this rank: either may be read
inline constexpr Place first_scratch = 4;  // + set; slot = set * chunks + chunk
inline constexpr std::uint32_t most_sets = 250;
}  // namespace place

/// Lane of copies from a rank's own input to its output.
inline constexpr std::uint16_t own_copy_lane = 1;

/// What one end-to-end transfer of neighbouring chunks looks like at both ends.
struct Piece {
  std::uint32_t first, count;
  Place sender;    // where the sender reads
  Place own, dst;  // where the receiver reads (recv_reduce) and writes
  Op op;           // at the receiver
  std::uint8_t flags;
  Place fold_from = place::none;  // then: reduce dst with this place, in the same lane
};

class Lowering {
 public:
  /// `schedule` has its header fields set and no programs yet; only < 0: all ranks.
  Lowering(Schedule& schedule, Rank only, std::span<const Statement> statements);

  /// Fills programs (dependencies too) and scratch_chunks.
  [[nodiscard]] Status run();

 private:
  // rounds.cpp
  struct Round;
  [[nodiscard]] Status lower_round(std::uint32_t begin, std::uint32_t end);
  [[nodiscard]] Status group(Round& round) const;
  void note_sends(Round& round, Rank rank) const;
  [[nodiscard]] Status plan_receives(Round& round, Rank rank);
  void plan_chunk(Round& round, Rank rank, std::uint32_t chunk);
  [[nodiscard]] Piece piece_at(const Round& round, const Statement& statement, std::uint32_t chunk) const;
  [[nodiscard]] Status make_pieces(Round& round, std::uint32_t statement);
  void emit_round(Round& round);
  void emit_round_copies(const Round& round, Rank rank);

  // lowering.cpp
  void look_ahead();
  [[nodiscard]] Status lower_transfer(std::uint32_t index);
  [[nodiscard]] Status lower_local(std::uint32_t index);
  void emit(Rank rank, const Step& step);
  void emit_send(const Statement& statement, const Piece& piece);
  void emit_receive(const Statement& statement, const Piece& piece);
  void emit_copy(Rank rank, Place from, Place to, std::uint32_t first, std::uint32_t count, std::uint16_t lane);
  void emit_own_copies(Rank rank);
  void emit_owed_copies(Rank rank);
  [[nodiscard]] std::vector<std::uint16_t> makers_of(Rank rank) const;
  [[nodiscard]] std::uint32_t sender_run(Rank rank, std::uint32_t first, std::uint32_t end, Place& from) const;
  [[nodiscard]] Place default_destination(Rank rank, std::uint32_t chunk) const;
  [[nodiscard]] Status not_held(std::uint32_t index, Rank rank, std::uint32_t chunk) const;

  [[nodiscard]] bool wanted(Rank rank) const { return only_ < 0 || rank == only_; }
  [[nodiscard]] bool holds(Rank rank, std::uint32_t chunk) const {
    switch (output_rule_) {
      case OutputRule::everywhere:
        return true;
      case OutputRule::root:
        return rank == schedule_.root;
      case OutputRule::owner:
        return owner_[chunk] == rank;
      case OutputRule::nowhere:
        break;
    }
    return false;
  }
  [[nodiscard]] Place& live(Rank rank, std::uint32_t chunk) { return live_[at(rank, chunk)]; }
  [[nodiscard]] Place live(Rank rank, std::uint32_t chunk) const { return live_[at(rank, chunk)]; }
  [[nodiscard]] std::size_t at(Rank rank, std::uint32_t chunk) const { return static_cast<std::size_t>(rank) * schedule_.chunks + chunk; }
  Place use(Place place);  // notes how many scratch sets there are
  [[nodiscard]] std::pair<Buf, std::uint32_t> where(Place place, std::uint32_t chunk) const;
  void note_maker(Rank rank, std::uint32_t first, std::uint32_t count, std::uint16_t lane);

  enum class OutputRule : std::uint8_t { everywhere, root, owner, nowhere };

  Schedule& schedule_;
  const Rank only_;
  const std::span<const Statement> statements_;
  OutputRule output_rule_ = OutputRule::nowhere;
  std::vector<Rank> owner_;                // by chunk; empty where there are no blocks
  std::vector<Place> live_;                // by (rank, chunk)
  std::vector<std::uint32_t> last_write_;  // by (rank, chunk): the last statement that writes it; only when there are rounds
  std::vector<std::uint16_t> maker_;       // by (rank, chunk): lane of the live copy's maker; only when there are local statements
  std::vector<bool> owes_own_;             // by rank: its own chunks are not copied to its output yet
  Place base_ = place::first_scratch;      // the first set that authors do not name
  Place highest_ = 0;                      // the highest scratch place in use anywhere
};

}  // namespace toric::lowering
