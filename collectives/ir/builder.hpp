// The builder turns an algorithm's global statements ("rank 2 sends chunk 5 to rank 3") into one program a rank.
// Where a value lives, what waits for what, which lane runs it: all of that is the builder's, never the author's.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <memory>

namespace toric {

class Builder {
 public:
  struct Options {
    Collective what = Collective::all_reduce;
    Rank ranks = 1;
    Rank root = -1;
    std::uint32_t chunks = 1;
    Rank only = -1;                 // build this rank's program alone (the others stay empty); -1: all
    std::uint16_t max_lanes = 256;  // running out is an error of finish(), never a wrap
    std::vector<std::uint32_t> place;
  };
  explicit Builder(Options options);
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  [[nodiscard]] Rank ranks() const;
  [[nodiscard]] Rank root() const;
  [[nodiscard]] std::uint32_t chunks() const;

  /// `from` sends its live copy of chunks first .. first+count-1; it becomes `to`'s live copy: in its output where the
  /// output holds the chunk, else in scratch. One call emits both ends. Zero count, or from == to: nothing.
  void send(Rank from, Rank to, std::int64_t first, std::int64_t count = 1);
  /// `from` sends its live copy; `to` reduces it with its own live copy, which the result replaces.
  void send_reduce(Rank from, Rank to, std::int64_t first, std::int64_t count = 1);
  /// Local steps for authors who manage a place themselves: copy the live copy of a run into slot set `slot_set` (scratch
  /// slot slot_set * chunks + c of each chunk c; it becomes the live copy), or fold the live copy into what that slot holds
  /// (slot = slot (+) live copy; the slot becomes the live copy). Not inside a round.
  void copy(Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set);
  void reduce(Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set);

  /// Reads in a round see the values from before it; on each rank all sends are emitted, then all receives.
  /// Several send_reduce to one chunk of one rank in a round are folded in ascending rank order, its own value at its place.
  void begin_round();
  void end_round();

  /// Statements from now on use that channel (0 at first). Give each phase that overlaps another its own.
  void channel(std::uint16_t channel);
  /// A further stage of the algorithm begins here, such as the next dimension of a torus. Where the schedule is cut into
  /// pieces, a stage of all of them comes before the next stage of any, so that ports always have something to send.
  /// Not inside a round.
  void begin_stage();
  /// Overrides the lane (2*channel for sends and 2*channel+1 for receives by default) until lane(-1).
  void lane(int lane);

  /// Any statement with a bad rank or chunk, an unbalanced round or too many lanes shows here, the first one named.
  /// Adds what the collective still owes: the final copies into output.
  Result<Schedule> finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Virtual rank v (0 is the root) as a real rank: for rooted algorithms that do not follow the topology.
[[nodiscard]] constexpr Rank rotate(Rank virtual_rank, Rank root, Rank ranks) { return (virtual_rank + root) % ranks; }

}  // namespace toric
