// The recording half of the builder: checks each statement and keeps it. lowering.cpp makes programs of them.
#include "toric/ir/builder.hpp"

#include "toric/ir/lowering.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace toric {

using lowering::Statement;
using lowering::Verb;

struct Builder::Impl {
  Options options;
  std::vector<Statement> statements;
  Status error;            // the first mistake
  std::uint64_t said = 0;  // statements so far, for error texts
  std::uint16_t channel = 0;
  std::uint16_t lane = lowering::no_lane;
  bool in_round = false;

  void fail(const std::string& what) {
    if (error.ok())
      error = Status(Code::invalid_usage, "building " + std::string(name_of(options.what)) + " for " + std::to_string(options.ranks) +
                                              " ranks, statement " + std::to_string(said) + ": " + what);
  }
  [[nodiscard]] bool bad_rank(Rank rank, const char* verb) {
    if (rank >= 0 && rank < options.ranks) return false;
    fail(std::string(verb) + " names rank " + std::to_string(rank) + "; ranks are 0 to " + std::to_string(options.ranks - 1));
    return true;
  }
  [[nodiscard]] bool bad_run(std::int64_t first, std::int64_t count, const char* verb) {
    if (count >= 0 && first >= 0 && first <= options.chunks && count <= std::int64_t{options.chunks} - first) return false;
    fail(std::string(verb) + " names " + std::to_string(count) + " chunks from chunk " + std::to_string(first) + "; chunks are 0 to " +
         std::to_string(options.chunks - 1) + " and a run does not wrap: say it in two runs");
    return true;
  }
  [[nodiscard]] bool bad_lane(std::uint32_t highest) {
    if (highest < options.max_lanes) return false;
    fail("lane " + std::to_string(highest) + " is needed and only lanes 0 to " + std::to_string(options.max_lanes - 1) +
         " may be used: use fewer channels or pieces");
    return true;
  }
  void transfer(Verb verb, const char* name, Rank from, Rank to, std::int64_t first, std::int64_t count);
  void local(Verb verb, const char* name, Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set);
  [[nodiscard]] Status check_options() const;
  [[nodiscard]] Schedule header() const;
};

void Builder::Impl::transfer(Verb verb, const char* name, Rank from, Rank to, std::int64_t first, std::int64_t count) {
  ++said;
  if (!error.ok() || bad_rank(from, name) || bad_rank(to, name) || bad_run(first, count, name)) return;
  if (count == 0 || from == to) return;
  const std::uint32_t highest = lane != lowering::no_lane ? lane : std::uint32_t{2} * channel + 1;
  if (bad_lane(highest)) return;
  statements.push_back({from, to, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), channel, lane, 0, verb});
}

void Builder::Impl::local(Verb verb, const char* name, Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set) {
  ++said;
  if (!error.ok() || bad_rank(rank, name) || bad_run(first, count, name)) return;
  if (in_round) return fail(std::string(name) + " stands inside a round, which takes send and send_reduce alone: put it before or after");
  if (slot_set >= lowering::place::most_sets - 2)
    return fail(std::string(name) + " names slot set " + std::to_string(slot_set) + "; sets are 0 to " +
                std::to_string(lowering::place::most_sets - 3));
  if (count == 0) return;
  if (bad_lane(lane != lowering::no_lane ? lane : std::uint32_t{2} * channel + 1)) return;
  statements.push_back({rank, -1, first, count, channel, lane, static_cast<std::uint16_t>(slot_set), verb});
}

Status Builder::Impl::check_options() const {
  const auto bad = [&](const std::string& what) {
    return Status(Code::invalid_argument, "building " + std::string(name_of(options.what)) + ": " + what);
  };
  if (options.ranks < 1) return bad("there are " + std::to_string(options.ranks) + " ranks; give at least 1");
  if (options.chunks < 1) return bad("there are no chunks; give at least 1");
  if (options.only < -1 || options.only >= options.ranks)
    return bad("the program of rank " + std::to_string(options.only) + " is wanted of " + std::to_string(options.ranks) + " ranks");
  if (options.max_lanes < 2)
    return bad("max_lanes is " + std::to_string(options.max_lanes) + "; a rank needs 2, for sending and receiving");
  return {};  // the rest is check_structure's, which sees the same fields in the schedule
}

Schedule Builder::Impl::header() const {
  Schedule schedule;
  schedule.what = options.what;
  schedule.ranks = options.ranks;
  schedule.root = is_rooted(options.what) ? options.root : -1;
  schedule.chunks = options.chunks;
  schedule.place = options.place;
  schedule.channels = 1;
  schedule.lanes = 2;
  for (const Statement& s : statements) {
    if (s.is_transfer()) schedule.channels = std::max<std::uint32_t>(schedule.channels, s.channel + 1u);
    schedule.lanes = std::max<std::uint32_t>(schedule.lanes, std::max(s.send_lane(), s.receive_lane()) + 1u);
  }
  return schedule;
}

Builder::Builder(Options options) : impl_(std::make_unique<Impl>()) { impl_->options = std::move(options); }
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

Rank Builder::ranks() const { return impl_->options.ranks; }
Rank Builder::root() const { return impl_->options.root; }
std::uint32_t Builder::chunks() const { return impl_->options.chunks; }

void Builder::send(Rank from, Rank to, std::int64_t first, std::int64_t count) {
  impl_->transfer(Verb::send, "send", from, to, first, count);
}

void Builder::send_reduce(Rank from, Rank to, std::int64_t first, std::int64_t count) {
  impl_->transfer(Verb::send_reduce, "send_reduce", from, to, first, count);
}

void Builder::copy(Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set) {
  impl_->local(Verb::copy, "copy", rank, first, count, slot_set);
}

void Builder::reduce(Rank rank, std::uint32_t first, std::uint32_t count, std::uint32_t slot_set) {
  impl_->local(Verb::reduce, "reduce", rank, first, count, slot_set);
}

void Builder::begin_round() {
  ++impl_->said;
  if (impl_->in_round) return impl_->fail("begin_round inside a round: end the one before first");
  impl_->in_round = true;
  impl_->statements.push_back({.verb = Verb::begin_round});
}

void Builder::end_round() {
  ++impl_->said;
  if (!impl_->in_round) return impl_->fail("end_round without begin_round");
  impl_->in_round = false;
  impl_->statements.push_back({.verb = Verb::end_round});
}

void Builder::begin_stage() {
  if (impl_->in_round) impl_->fail("begin_stage stands inside a round: put it before or after");
  Statement stage;
  stage.verb = Verb::begin_stage;
  impl_->statements.push_back(stage);
}

void Builder::channel(std::uint16_t channel) { impl_->channel = channel; }

void Builder::lane(int lane) {
  if (lane < -1 || lane >= lowering::no_lane) return impl_->fail("lane(" + std::to_string(lane) + ") is no lane; -1 ends an override");
  impl_->lane = lane < 0 ? lowering::no_lane : static_cast<std::uint16_t>(lane);
}

Result<Schedule> Builder::finish() {
  Impl& impl = *impl_;
  TORIC_TRY(impl.check_options());
  if (impl.in_round) impl.fail("the last round is not ended: call end_round");
  TORIC_TRY(impl.error);
  Schedule schedule = impl.header();
  schedule.programs.resize(static_cast<std::size_t>(schedule.ranks));
  TORIC_TRY(check_structure(schedule));
  TORIC_TRY(lowering::Lowering(schedule, impl.options.only, impl.statements).run());
  TORIC_TRY(check_structure(schedule));
  return schedule;
}

}  // namespace toric
