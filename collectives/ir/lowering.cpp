#include "toric/ir/lowering.hpp"

#include "toric/ir/dependencies.hpp"

#include <algorithm>
#include <tuple>

namespace toric::lowering {

namespace {

std::uint16_t flags_for(const Statement& s) { return s.verb == Verb::send_reduce && s.from < s.to ? wire_is_left : 0; }

}  // namespace

Lowering::Lowering(Schedule& schedule, Rank only, std::span<const Statement> statements)
    : schedule_(schedule), only_(only), statements_(statements) {
  switch (schedule.what) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::broadcast:
    case Collective::barrier:
      output_rule_ = OutputRule::everywhere;
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      output_rule_ = OutputRule::owner;
      break;
    case Collective::reduce:
    case Collective::gather:
      output_rule_ = OutputRule::root;
      break;
    case Collective::all_to_all:
      break;
  }
  if (has_blocks(schedule.what)) {
    owner_.resize(schedule.chunks);
    for (std::uint32_t c = 0; c < schedule.chunks; ++c) owner_[c] = block_of(schedule, c);
  }
}

Status Lowering::run() {
  look_ahead();
  for (std::uint32_t i = 0; i < statements_.size(); ++i) {
    if (statements_[i].is_transfer()) {
      TORIC_TRY(lower_transfer(i));
    } else if (statements_[i].verb == Verb::begin_round) {
      const std::uint32_t begin = ++i;
      while (statements_[i].verb != Verb::end_round) ++i;
      TORIC_TRY(lower_round(begin, i));
    } else if (statements_[i].verb == Verb::begin_stage) {
      for (Program& program : schedule_.programs) program.stages.push_back(static_cast<std::uint32_t>(program.steps.size()));
    } else {
      TORIC_TRY(lower_local(i));
    }
  }
  for (Rank rank = 0; rank < schedule_.ranks; ++rank)
    if (wanted(rank)) emit_owed_copies(rank);
  // Equal on all ranks, also where one program alone was built.
  schedule_.scratch_chunks = highest_ == 0 ? 0 : (highest_ - place::first_scratch + 1u) * schedule_.chunks;
  for (Program& program : schedule_.programs) find_dependencies(program, schedule_.chunks);
  return {};
}

void Lowering::look_ahead() {
  bool rounds = false, locals = false;
  live_.assign(static_cast<std::size_t>(schedule_.ranks) * schedule_.chunks, place::none);
  std::vector<bool> written(live_.size());
  for (const Statement& s : statements_) {
    rounds = rounds || s.verb == Verb::begin_round;
    if (s.is_transfer()) {
      std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at(s.to, s.first)), s.count, true);
    } else if (s.count > 0) {
      locals = true;
      base_ = std::max<Place>(base_, static_cast<Place>(place::first_scratch + s.slot_set + 1));
      std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at(s.from, s.first)), s.count, true);
    }
  }
  owes_own_.assign(static_cast<std::size_t>(schedule_.ranks), false);
  for (Rank rank = 0; rank < schedule_.ranks; ++rank) {
    for (std::uint32_t c = 0; c < schedule_.chunks; ++c) {
      if (!input_holds(schedule_, rank, c)) continue;
      const bool own = holds(rank, c) && !written[at(rank, c)];
      live(rank, c) = own ? place::own : place::input;
      if (own) owes_own_[static_cast<std::size_t>(rank)] = true;
    }
  }
  if (locals) maker_.assign(live_.size(), no_lane);
  if (!rounds) return;
  last_write_.assign(live_.size(), 0);
  for (std::uint32_t i = 0; i < statements_.size(); ++i) {
    const Statement& s = statements_[i];
    if (s.count > 0)
      std::fill_n(last_write_.begin() + static_cast<std::ptrdiff_t>(at(s.is_transfer() ? s.to : s.from, s.first)), s.count, i);
  }
}

/// The end of the longest run from `first` that `rank` can send from one buffer, and which. A chunk that is in both input and
/// output goes with its neighbours; alone it is read from input, which waits for nothing.
std::uint32_t Lowering::sender_run(Rank rank, std::uint32_t first, std::uint32_t end, Place& from) const {
  from = live(rank, first);
  std::uint32_t c = first + 1;
  for (; c < end; ++c) {
    const Place next = live(rank, c);
    if (next == from) continue;
    if (from == place::own && (next == place::input || next == place::output)) {
      from = next;
    } else if (next != place::own || (from != place::input && from != place::output)) {
      break;
    }
  }
  if (from == place::own) from = place::input;
  return c;
}

Place Lowering::default_destination(Rank rank, std::uint32_t chunk) const {
  if (holds(rank, chunk)) return place::output;
  return std::max(live(rank, chunk) >= place::first_scratch ? live(rank, chunk) : base_, place::first_scratch);
}

Status Lowering::lower_transfer(std::uint32_t index) {
  const Statement& s = statements_[index];
  const std::uint32_t end = s.first + s.count;
  const bool emits = wanted(s.from) || wanted(s.to);
  const bool reduces = s.verb == Verb::send_reduce;
  for (std::uint32_t c = s.first; c < end;) {
    Piece piece{c, 0, place::none, place::none, place::none, reduces ? Op::recv_reduce : Op::recv, static_cast<std::uint8_t>(flags_for(s))};
    std::uint32_t stop = sender_run(s.from, c, end, piece.sender);
    if (piece.sender == place::none) return not_held(index, s.from, c);
    piece.own = reduces ? live(s.to, c) : place::none;
    if (reduces && piece.own == place::none) return not_held(index, s.to, c);
    if (piece.own == place::own) piece.own = place::input;
    piece.dst = default_destination(s.to, c);
    std::uint32_t d = c;
    for (; d < stop; ++d) {
      if (default_destination(s.to, d) != piece.dst || (reduces && live(s.to, d) != piece.own)) break;
      live(s.to, d) = use(piece.dst);
    }
    piece.count = d - c;
    c = d;
    if (!emits) continue;
    if (wanted(s.from)) emit_send(s, piece);
    if (wanted(s.to)) emit_receive(s, piece);
  }
  return {};
}

Status Lowering::lower_local(std::uint32_t index) {
  const Statement& s = statements_[index];
  const Place slot = use(static_cast<Place>(place::first_scratch + s.slot_set));
  const auto lane_of = [&](std::uint32_t c) {
    if (s.lane != no_lane) return s.lane;
    return maker_[at(s.from, c)] != no_lane ? maker_[at(s.from, c)] : s.receive_lane();
  };
  const std::uint32_t end = s.first + s.count;
  for (std::uint32_t c = s.first; c < end;) {
    const Place from = live(s.from, c);
    if (from == place::none) return not_held(index, s.from, c);
    if (from == slot && s.verb == Verb::reduce)
      return Status(Code::invalid_usage, "statement " + std::to_string(index) + " reduces slot set " + std::to_string(s.slot_set) +
                                             " of rank " + std::to_string(s.from) + " with itself: its live copy of chunk " +
                                             std::to_string(c) + " is there already");
    const std::uint16_t lane = lane_of(c);
    std::uint32_t d = c;
    while (d < end && live(s.from, d) == from && lane_of(d) == lane) ++d;
    if (wanted(s.from) && from != slot) {
      if (s.verb == Verb::copy) {
        emit_copy(s.from, from, slot, c, d - c, lane);
      } else {
        const auto [src_buf, src] = where(from, c);
        const auto [dst_buf, dst] = where(slot, c);
        emit(s.from, {Op::reduce, src_buf, dst_buf, 0, lane, 0, -1, src, dst, d - c, 0, 0});
      }
    }
    for (; c < d; ++c) {
      live(s.from, c) = slot;
      maker_[at(s.from, c)] = lane;
    }
  }
  return {};
}

Status Lowering::not_held(std::uint32_t index, Rank rank, std::uint32_t chunk) const {
  const Statement& s = statements_[index];
  std::string text = "building " + std::string(name_of(schedule_.what)) + " for " + std::to_string(schedule_.ranks) + " ranks: ";
  if (s.is_transfer())
    text +=
        (s.verb == Verb::send ? "send from rank " : "send_reduce from rank ") + std::to_string(s.from) + " to rank " + std::to_string(s.to);
  else
    text += std::string(s.verb == Verb::copy ? "copy" : "reduce") + " on rank " + std::to_string(s.from);
  text += " of chunks " + std::to_string(s.first) + " to " + std::to_string(s.first + s.count - 1) + " needs chunk " +
          std::to_string(chunk) + " on rank " + std::to_string(rank) +
          ", which neither began with it nor was sent it before: send it there first";
  return Status(Code::invalid_usage, std::move(text));
}

// --- steps -----------------------------------------------------------------------------------------------------------

Place Lowering::use(Place place) {
  if (place >= place::first_scratch) highest_ = std::max(highest_, place);
  return place;
}

std::pair<Buf, std::uint32_t> Lowering::where(Place place, std::uint32_t chunk) const {
  if (place == place::output) return {Buf::output, chunk};
  if (place < place::first_scratch) return {Buf::input, chunk};
  return {Buf::scratch, static_cast<std::uint32_t>(place - place::first_scratch) * schedule_.chunks + chunk};
}

void Lowering::note_maker(Rank rank, std::uint32_t first, std::uint32_t count, std::uint16_t lane) {
  if (!maker_.empty()) std::fill_n(maker_.begin() + static_cast<std::ptrdiff_t>(at(rank, first)), count, lane);
}

void Lowering::emit(Rank rank, const Step& step) {
  // The copies of a rank's own data stand before the first step that is not a send of input: they come first in their lane,
  // and nothing that is sent at once waits for them.
  const bool may_precede = step.op == Op::send && step.src_buf == Buf::input;
  if (!may_precede && owes_own_[static_cast<std::size_t>(rank)]) emit_own_copies(rank);
  schedule_.programs[static_cast<std::size_t>(rank)].steps.push_back(step);
}

void Lowering::emit_send(const Statement& s, const Piece& piece) {
  const auto [buf, first] = where(piece.sender, piece.first);
  emit(s.from, {Op::send, buf, Buf::input, 0, s.send_lane(), s.channel, s.to, first, 0, piece.count, 0, 0});
}

void Lowering::emit_receive(const Statement& s, const Piece& piece) {
  const auto [dst_buf, dst] = where(piece.dst, piece.first);
  Buf src_buf = Buf::input;
  std::uint32_t src = 0;
  if (piece.op == Op::recv_reduce) std::tie(src_buf, src) = where(piece.own, piece.first);
  emit(s.to, {piece.op, src_buf, dst_buf, piece.flags, s.receive_lane(), s.channel, s.from, src, dst, piece.count, 0, 0});
  note_maker(s.to, piece.first, piece.count, s.receive_lane());
  if (piece.fold_from == place::none) return;
  const auto [fold_buf, fold] = where(piece.fold_from, piece.first);
  emit(s.to, {Op::reduce, fold_buf, dst_buf, 0, s.receive_lane(), 0, -1, fold, dst, piece.count, 0, 0});
}

void Lowering::emit_copy(Rank rank, Place from, Place to, std::uint32_t first, std::uint32_t count, std::uint16_t lane) {
  const auto [src_buf, src] = where(from, first);
  const auto [dst_buf, dst] = where(to, first);
  emit(rank, {Op::copy, src_buf, dst_buf, 0, lane, 0, -1, src, dst, count, 0, 0});
}

void Lowering::emit_own_copies(Rank rank) {
  owes_own_[static_cast<std::size_t>(rank)] = false;
  for (std::uint32_t c = 0; c < schedule_.chunks;) {
    std::uint32_t d = c;
    while (d < schedule_.chunks && live(rank, d) == place::own) ++d;
    if (d > c) emit_copy(rank, place::input, place::output, c, d - c, own_copy_lane);
    c = std::max(d, c + 1);
  }
}

/// What is still in scratch and belongs into output, in the lane of the step that made it.
void Lowering::emit_owed_copies(Rank rank) {
  if (owes_own_[static_cast<std::size_t>(rank)]) emit_own_copies(rank);
  std::vector<std::uint16_t> lane;
  const auto owed = [&](std::uint32_t c) { return live(rank, c) >= place::first_scratch && holds(rank, c); };
  for (std::uint32_t c = 0; c < schedule_.chunks;) {
    if (!owed(c)) {
      ++c;
      continue;
    }
    if (lane.empty()) lane = makers_of(rank);
    std::uint32_t d = c + 1;
    while (d < schedule_.chunks && owed(d) && live(rank, d) == live(rank, c) && lane[d] == lane[c]) ++d;
    emit_copy(rank, live(rank, c), place::output, c, d - c, lane[c]);
    c = d;
  }
}

/// By chunk: the lane of the last step that wrote the live copy, of those in scratch.
std::vector<std::uint16_t> Lowering::makers_of(Rank rank) const {
  std::vector<std::uint16_t> lanes(schedule_.chunks, own_copy_lane);
  for (const Step& step : schedule_.programs[static_cast<std::size_t>(rank)].steps) {
    if (!writes_dst(step.op) || step.dst_buf != Buf::scratch) continue;
    const std::uint32_t set = step.dst_first / schedule_.chunks, first = step.dst_first % schedule_.chunks;
    for (std::uint32_t c = first; c < first + step.count; ++c)
      if (live(rank, c) == place::first_scratch + set) lanes[c] = step.lane;
  }
  return lanes;
}

}  // namespace toric::lowering
