// Rounds: every send reads what was there before the round, on each rank all sends are emitted, then all receives.
//
// What a rank receives never overwrites what it still has to send in the round, because with no buffering that would wait
// for ever: the receive writes another place (renaming). The transfers of a round have one order that all lanes keep:
// that of the statements, or, where several reductions meet in one chunk, (sender, statement), so that operands
// are folded in ascending rank order. A receive may wait for one of its own rank's sends only where the send comes earlier in
// that order; then no cycle can arise.
#include "toric/ir/lowering.hpp"

#include <algorithm>
#include <numeric>

namespace toric::lowering {

namespace {

/// How one chunk that a rank receives in the round gets its new value.
struct ChunkPlan {
  std::uint32_t reductions = 0, plain = 0;  // receives of it
  std::uint32_t lower = 0;                  // reductions whose sender is a lower rank
  std::uint32_t seen = 0;                   // receives passed so far
  std::uint32_t last_key = 0;               // statement of the last receive
  std::uint32_t sent_key = 0;               // 1 + statement of the rank's last own send of it; 0: not sent
  Place own = place::none;                  // before the round
  Place partial = place::none, result = place::none;
  std::uint16_t copy_lane = no_lane;  // lane of the copy to output that follows the round's receives; no_lane: none
  [[nodiscard]] std::uint32_t receives() const { return reductions + plain; }
};

}  // namespace

struct Lowering::Round {
  std::uint32_t begin = 0, end = 0;                   // statements
  bool folds = false;                                 // some chunk of some rank gets several reductions
  std::vector<std::uint32_t> by_sender, by_receiver;  // statements
  std::vector<std::uint32_t> sends_of, receives_of;   // by rank: where its slice begins
  std::vector<ChunkPlan> plans;                       // of the rank looked at
  std::vector<std::uint32_t> touched;                 // chunks whose plan is not blank
  std::vector<Piece> pieces;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces_of;  // by statement - begin: slice of pieces
  struct Update {
    Rank rank;
    std::uint32_t chunk;
    Place place;         // live after the round
    Place copied_from;   // none: no copy
    std::uint16_t lane;  // of the copy
  };
  std::vector<Update> updates;  // by rank, then as received

  ChunkPlan& plan(std::uint32_t chunk) {
    if (plans[chunk].receives() == 0 && plans[chunk].sent_key == 0) touched.push_back(chunk);
    return plans[chunk];
  }
  void clear_plans() {
    for (const std::uint32_t c : touched) plans[c] = ChunkPlan();
    touched.clear();
  }
  [[nodiscard]] std::span<const std::uint32_t> sends(Rank rank) const { return slice(by_sender, sends_of, rank); }
  [[nodiscard]] std::span<const std::uint32_t> receives(Rank rank) const { return slice(by_receiver, receives_of, rank); }

 private:
  static std::span<const std::uint32_t> slice(const std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& begins, Rank rank) {
    const auto r = static_cast<std::size_t>(rank);
    return {all.data() + begins[r], begins[r + 1] - begins[r]};
  }
};

Status Lowering::lower_round(std::uint32_t begin, std::uint32_t end) {
  Round round;
  round.begin = begin;
  round.end = end;
  TORIC_TRY(group(round));
  round.pieces_of.resize(end - begin);
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    if (round.receives(rank).empty()) continue;
    note_sends(round, rank);
    TORIC_TRY(plan_receives(round, rank));
    for (const std::uint32_t statement : round.receives(rank)) TORIC_TRY(make_pieces(round, statement));
    for (const std::uint32_t chunk : round.touched) {
      const ChunkPlan& plan = round.plans[chunk];
      if (plan.receives() == 0) continue;
      const bool copies = plan.copy_lane != no_lane;
      round.updates.push_back({rank, chunk, copies ? place::output : plan.result, copies ? plan.result : place::none, plan.copy_lane});
    }
    round.clear_plans();
  }
  emit_round(round);
  for (const Round::Update& update : round.updates) live(update.rank, update.chunk) = update.place;
  return {};
}

/// Sorts the statements by sender and by receiver; receives in ascending order of sender where the round folds.
Status Lowering::group(Round& round) const {
  const auto sort_by = [&](auto key, std::vector<std::uint32_t>& sorted, std::vector<std::uint32_t>& begins) {
    begins.assign(static_cast<std::size_t>(schedule_.ranks) + 1, 0);
    for (std::uint32_t i = round.begin; i < round.end; ++i) ++begins[static_cast<std::size_t>(key(statements_[i])) + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
    sorted.resize(round.end - round.begin);
    for (std::uint32_t i = round.begin; i < round.end; ++i) sorted[next[static_cast<std::size_t>(key(statements_[i]))]++] = i;
  };
  sort_by([](const Statement& s) { return s.from; }, round.by_sender, round.sends_of);
  sort_by([](const Statement& s) { return s.to; }, round.by_receiver, round.receives_of);
  round.plans.assign(schedule_.chunks, ChunkPlan());
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    for (const std::uint32_t i : round.receives(rank)) {
      const Statement& s = statements_[i];
      for (std::uint32_t c = s.first; c < s.first + s.count; ++c) {
        ChunkPlan& plan = round.plan(c);
        ++(s.verb == Verb::send ? plan.plain : plan.reductions);
        round.folds = round.folds || plan.reductions > 1;
        if (plan.plain > 0 && plan.receives() > 1)
          return Status(Code::invalid_usage, "building " + std::string(name_of(schedule_.what)) + ": in one round rank " +
                                                 std::to_string(rank) + " gets chunk " + std::to_string(c) +
                                                 " by send and once more: only several send_reduce may meet; use two rounds");
      }
    }
    round.clear_plans();
  }
  if (!round.folds) return {};
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    std::stable_sort(round.by_receiver.begin() + round.receives_of[r], round.by_receiver.begin() + round.receives_of[r + 1],
                     [&](std::uint32_t a, std::uint32_t b) { return statements_[a].from < statements_[b].from; });
  }
  return {};
}

void Lowering::note_sends(Round& round, Rank rank) const {
  for (const std::uint32_t i : round.sends(rank))
    for (std::uint32_t c = statements_[i].first; c < statements_[i].first + statements_[i].count; ++c) round.plan(c).sent_key = i + 1;
}

Status Lowering::plan_receives(Round& round, Rank rank) {
  for (const std::uint32_t i : round.receives(rank)) {
    const Statement& s = statements_[i];
    for (std::uint32_t c = s.first; c < s.first + s.count; ++c) {
      ChunkPlan& plan = round.plan(c);
      plan.own = live(rank, c);
      if (s.verb == Verb::send_reduce && plan.own == place::none) return not_held(i, rank, c);
      ++(s.verb == Verb::send ? plan.plain : plan.reductions);
      if (s.verb == Verb::send_reduce && s.from < rank) ++plan.lower;
      plan.last_key = i;
    }
  }
  for (const std::uint32_t c : round.touched)
    if (round.plans[c].receives() > 0) plan_chunk(round, rank, c);
  return {};
}

/// Decides where the partial values and the result of a chunk go, and whether a copy to output follows.
void Lowering::plan_chunk(Round& round, Rank rank, std::uint32_t chunk) {
  ChunkPlan& plan = round.plans[chunk];
  const bool sent = plan.sent_key != 0;
  const bool last = last_write_[at(rank, chunk)] < round.end;  // nothing after the round writes this chunk here
  const bool folded = plan.reductions > 1;
  const bool own_is_last = folded && plan.lower == plan.reductions;  // then a local reduce ends it, not a receive
  const bool own_is_scratch = plan.own >= place::first_scratch;
  plan.partial = plan.own == base_ ? static_cast<Place>(base_ + 1) : base_;
  // Where a round folds, its order is (sender, statement): the last sender stands above this rank, or own_is_last.
  const bool sends_come_first = round.folds ? plan.lower < plan.reductions : plan.last_key >= plan.sent_key;
  if (own_is_last) {
    plan.result = plan.partial;
  } else if (!sent) {
    plan.result = holds(rank, chunk) ? place::output : folded || !own_is_scratch ? plan.partial : plan.own;
  } else {
    plan.result = last && holds(rank, chunk) && (own_is_scratch || sends_come_first) ? place::output : plan.partial;
  }
  if (plan.result != place::output && last && holds(rank, chunk))
    plan.copy_lane = own_copy_lane;  // its lane is known with the last receive
  if (folded || plan.result == plan.partial) use(plan.partial);
}

/// How this receive of this chunk is done; `plan.seen` of the chunk's receives stand before it.
Piece Lowering::piece_at(const Round& round, const Statement& s, std::uint32_t chunk) const {
  const ChunkPlan& plan = round.plans[chunk];
  Piece piece{chunk, 0, place::none, place::none, plan.result, Op::recv, 0};
  if (plan.plain > 0) return piece;
  const std::uint32_t i = plan.seen, k = plan.reductions;
  const bool own_follows = k > 1 && plan.lower > 1 && i + 1 == plan.lower;  // this rank's value is folded in after this one
  if (i + 1 < k || own_follows) piece.dst = plan.partial;
  if (own_follows) piece.fold_from = plan.own;
  if (i == 0 && plan.lower > 1) return piece;  // the lowest of several lower ranks: it is the first operand
  piece.op = Op::recv_reduce;
  piece.own = i == 0 ? plan.own : plan.partial;
  if (i == 0 && s.from < s.to) piece.flags = wire_is_left;
  return piece;
}

/// Cuts a statement where either end changes place, for both ends at once.
Status Lowering::make_pieces(Round& round, std::uint32_t statement) {
  const Statement& s = statements_[statement];
  const bool emits = wanted(s.from) || wanted(s.to);
  const auto begin = static_cast<std::uint32_t>(round.pieces.size());
  const auto same = [](const Piece& a, const Piece& b) {
    return a.own == b.own && a.dst == b.dst && a.op == b.op && a.flags == b.flags && a.fold_from == b.fold_from;
  };
  const std::uint32_t end = s.first + s.count;
  for (std::uint32_t c = s.first; c < end;) {
    Piece piece = piece_at(round, s, c);
    const std::uint32_t stop = sender_run(s.from, c, end, piece.sender);
    if (piece.sender == place::none) return not_held(statement, s.from, c);
    std::uint32_t d = c;
    for (; d < stop && same(piece_at(round, s, d), piece); ++d) {
    }
    piece.count = d - c;
    c = d;
    if (emits) round.pieces.push_back(piece);
  }
  for (std::uint32_t c = s.first; c < end; ++c) {
    ChunkPlan& plan = round.plans[c];
    if (++plan.seen == plan.receives() && plan.copy_lane != no_lane) plan.copy_lane = s.receive_lane();
  }
  round.pieces_of[statement - round.begin] = {begin, static_cast<std::uint32_t>(round.pieces.size())};
  return {};
}

void Lowering::emit_round(Round& round) {
  const auto for_pieces = [&](std::uint32_t statement, auto emit_piece) {
    const auto [begin, end] = round.pieces_of[statement - round.begin];
    for (std::uint32_t p = begin; p < end; ++p) emit_piece(round.pieces[p]);
  };
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    if (!wanted(rank)) continue;
    for (const std::uint32_t i : round.sends(rank)) for_pieces(i, [&](const Piece& piece) { emit_send(statements_[i], piece); });
    for (const std::uint32_t i : round.receives(rank)) for_pieces(i, [&](const Piece& piece) { emit_receive(statements_[i], piece); });
    emit_round_copies(round, rank);
  }
}

/// After all receives of the round: the copies wait for sends, and in a lane before a receive they could hold up the
/// very transfer that another rank's send waits for.
void Lowering::emit_round_copies(const Round& round, Rank rank) {
  std::vector<Round::Update> copies;
  const auto [first, last] = std::equal_range(round.updates.begin(), round.updates.end(), Round::Update{rank, 0, 0, 0, 0},
                                              [](const Round::Update& a, const Round::Update& b) { return a.rank < b.rank; });
  std::copy_if(first, last, std::back_inserter(copies), [](const Round::Update& u) { return u.copied_from != place::none; });
  std::sort(copies.begin(), copies.end(), [](const Round::Update& a, const Round::Update& b) { return a.chunk < b.chunk; });
  for (std::size_t i = 0; i < copies.size();) {
    std::size_t j = i + 1;
    while (j < copies.size() && copies[j].chunk == copies[j - 1].chunk + 1 && copies[j].copied_from == copies[i].copied_from &&
           copies[j].lane == copies[i].lane)
      ++j;
    emit_copy(rank, copies[i].copied_from, place::output, copies[i].chunk, static_cast<std::uint32_t>(j - i), copies[i].lane);
    i = j;
  }
}

}  // namespace toric::lowering
