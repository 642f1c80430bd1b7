// Random statements against what they say: a model of (rank, chunk) values on one side, on the other the built
// schedule on a machine with no buffering, in random order, with input and output apart and in place.
#include "machine.hpp"
#include "statements.hpp"
#include "toric/ir/flat_form.hpp"
#include "toric/ir/passes.hpp"
#include "toric/ir/text_form.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace toric::testing {
namespace {

/// The meaning of statements, with no places, lanes or dependencies.
class Model {
 public:
  Model(Collective what, Rank ranks, std::uint32_t chunks, Rank root) {
    header_.what = what;
    header_.ranks = ranks;
    header_.chunks = chunks;
    header_.root = root;
    live_.assign(static_cast<std::size_t>(ranks), std::vector<Value>(chunks, rubbish));
    for (Rank r = 0; r < ranks; ++r)
      for (std::uint32_t c = 0; c < chunks; ++c)
        if (input_holds(header_, r, c)) value(r, c) = leaf(r, c);
  }
  Value& value(Rank r, std::uint32_t c) { return live_[static_cast<std::size_t>(r)][c]; }
  Value& slot(Rank r, std::uint32_t c, std::uint32_t set) { return slots_[{r, c, set}]; }
  [[nodiscard]] bool holds(Rank r, std::uint32_t c) const { return output_holds(header_, r, c); }

  void send(Rank from, Rank to, std::uint32_t c) { value(to, c) = value(from, c); }
  void send_reduce(Rank from, Rank to, std::uint32_t c) {
    value(to, c) = from < to ? combine(value(from, c), value(to, c)) : combine(value(to, c), value(from, c));
  }

  struct Message {
    Rank from, to;
    std::uint32_t chunk;
    bool reduces;
  };
  void round(std::vector<Message> messages) {
    const auto before = live_;
    std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) { return a.from < b.from; });
    std::map<std::pair<Rank, std::uint32_t>, std::vector<std::pair<Rank, Value>>> operands;
    for (const Message& m : messages) {
      const Value sent = before[static_cast<std::size_t>(m.from)][m.chunk];
      if (m.reduces)
        operands[{m.to, m.chunk}].emplace_back(m.from, sent);
      else
        value(m.to, m.chunk) = sent;
    }
    for (auto& [where, list] : operands) {
      const auto [rank, chunk] = where;
      list.emplace_back(rank, before[static_cast<std::size_t>(rank)][chunk]);
      std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      Value total = list.front().second;
      for (std::size_t i = 1; i < list.size(); ++i) total = combine(total, list[i].second);
      value(rank, chunk) = total;
    }
  }

 private:
  Schedule header_;
  std::vector<std::vector<Value>> live_;
  std::map<std::tuple<Rank, std::uint32_t, std::uint32_t>, Value> slots_;
};

struct Statement {
  enum Kind { send, send_reduce, begin_round, end_round, copy, reduce, channel } kind;
  Rank from = 0, to = 0;
  std::uint32_t first = 0, count = 0;
};

/// Says random things that have a meaning, to the model and as a list for builders.
class Author {
 public:
  Author(std::uint32_t seed, Collective what, Rank ranks, std::uint32_t chunks, Rank root)
      : random_(seed), model_(what, ranks, chunks, root), ranks_(ranks), chunks_(chunks), locals_(what == Collective::all_reduce) {
    const std::uint32_t statements = 3 + below(14);
    for (std::uint32_t i = 0; i < statements; ++i) {
      const std::uint32_t kind = below(locals_ ? 10 : 8);
      if (kind < 4) one_transfer();
      if (kind >= 4 && kind < 7) one_round();
      if (kind == 7) said_.push_back({Statement::channel, 0, 0, below(3), 0});
      if (kind >= 8) one_local();
    }
  }
  [[nodiscard]] const std::vector<Statement>& said() const { return said_; }
  [[nodiscard]] Model& model() { return model_; }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  bool pick(Statement& s) {
    s.kind = below(2) == 0 ? Statement::send : Statement::send_reduce;
    s.from = static_cast<Rank>(below(static_cast<std::uint32_t>(ranks_)));
    s.to = static_cast<Rank>(below(static_cast<std::uint32_t>(ranks_)));
    s.first = below(chunks_);
    s.count = 1 + below(chunks_ - s.first);
    if (s.from == s.to) return false;
    for (std::uint32_t c = s.first; c < s.first + s.count; ++c)
      if (model_.value(s.from, c) == rubbish || (s.kind == Statement::send_reduce && model_.value(s.to, c) == rubbish)) return false;
    return true;
  }

  void one_transfer() {
    Statement s{};
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (!pick(s)) continue;
      said_.push_back(s);
      for (std::uint32_t c = s.first; c < s.first + s.count; ++c)
        s.kind == Statement::send ? model_.send(s.from, s.to, c) : model_.send_reduce(s.from, s.to, c);
      return;
    }
  }

  void one_round() {
    std::vector<Model::Message> messages;
    std::map<std::pair<Rank, std::uint32_t>, int> plain, reducing;
    said_.push_back({Statement::begin_round});
    const std::uint32_t wanted = 1 + below(8);
    for (std::uint32_t i = 0; i < wanted; ++i) {
      Statement s{};
      if (!pick(s)) continue;
      bool clash = false;
      for (std::uint32_t c = s.first; c < s.first + s.count; ++c)
        clash = clash || plain[{s.to, c}] > 0 || (s.kind == Statement::send && reducing[{s.to, c}] > 0);
      if (clash) continue;
      said_.push_back(s);
      for (std::uint32_t c = s.first; c < s.first + s.count; ++c) {
        ++(s.kind == Statement::send ? plain : reducing)[{s.to, c}];
        messages.push_back({s.from, s.to, c, s.kind == Statement::send_reduce});
      }
    }
    said_.push_back({Statement::end_round});
    model_.round(messages);
  }

  /// copy into a slot, or, where a copy went before and the live copy has moved on, reduce into it.
  void one_local() {
    const auto rank = static_cast<Rank>(below(static_cast<std::uint32_t>(ranks_)));
    const std::uint32_t chunk = below(chunks_), set = below(2);
    Value& slot = model_.slot(rank, chunk, set);
    Value& live = model_.value(rank, chunk);
    if (live == rubbish) return;
    if (slot != rubbish && slot != live && below(2) == 0) {
      said_.push_back({Statement::reduce, rank, static_cast<Rank>(set), chunk, 1});
      slot = live = combine(slot, live);
    } else if (slot != live) {
      said_.push_back({Statement::copy, rank, static_cast<Rank>(set), chunk, 1});
      slot = live;
    }
  }

  std::mt19937 random_;
  Model model_;
  Rank ranks_;
  std::uint32_t chunks_;
  bool locals_;
  std::vector<Statement> said_;
};

void say(Builder& b, const std::vector<Statement>& statements) {
  for (const Statement& s : statements) {
    switch (s.kind) {
      case Statement::send:
        b.send(s.from, s.to, s.first, s.count);
        break;
      case Statement::send_reduce:
        b.send_reduce(s.from, s.to, s.first, s.count);
        break;
      case Statement::begin_round:
        b.begin_round();
        break;
      case Statement::end_round:
        b.end_round();
        break;
      case Statement::copy:
        b.copy(s.from, s.first, s.count, static_cast<std::uint32_t>(s.to));
        break;
      case Statement::reduce:
        b.reduce(s.from, s.first, s.count, static_cast<std::uint32_t>(s.to));
        break;
      case Statement::channel:
        b.channel(static_cast<std::uint16_t>(s.first));
        break;
    }
  }
}

void expect_results(const Schedule& schedule, Model& model, std::uint32_t seed, const std::string& what) {
  for (const bool in_place : {false, true}) {
    Machine machine(schedule, in_place, seed);
    ASSERT_EQ(machine.run(), "") << what << (in_place ? " in place\n" : " apart\n") << to_text(schedule);
    for (Rank r = 0; r < schedule.ranks; ++r)
      for (std::uint32_t c = 0; c < schedule.chunks; ++c)
        if (model.holds(r, c) && model.value(r, c) != rubbish) {
          ASSERT_EQ(machine.output(r, c), model.value(r, c))
              << what << (in_place ? " in place" : " apart") << " rank " << r << " chunk " << c << '\n'
              << to_text(schedule);
        }
  }
}

void try_one(std::uint32_t seed) {
  constexpr Collective collectives[] = {Collective::all_reduce,     Collective::all_reduce, Collective::all_gather, Collective::broadcast,
                                        Collective::reduce_scatter, Collective::reduce,     Collective::gather,     Collective::scatter};
  std::mt19937 random(seed);
  const Collective what = collectives[random() % std::size(collectives)];
  const auto ranks = static_cast<Rank>(2 + random() % 4);
  const auto chunks =
      static_cast<std::uint32_t>(has_blocks(what) ? static_cast<std::uint32_t>(ranks) * (1 + random() % 2) : 1 + random() % 5);
  const Rank root = is_rooted(what) ? static_cast<Rank>(random() % static_cast<std::uint32_t>(ranks)) : -1;
  Author author(seed, what, ranks, chunks, root);
  const Case c{"random", what, ranks, chunks, root, [&](Builder& b) { say(b, author.said()); }};
  const Result<Schedule> built = build(c);
  ASSERT_TRUE(built.ok()) << "seed " << seed << ": " << built.status().text();
  const std::string name = "seed " + std::to_string(seed);
  expect_results(*built, author.model(), seed, name);
  Schedule pruned = *built;
  drop_implied_deps(pruned);
  expect_results(pruned, author.model(), seed, name + " pruned");
  std::string one_by_one;
  for (Rank r = 0; r < ranks; ++r) {
    const Result<Schedule> alone = build(c, r);
    ASSERT_TRUE(alone.ok()) << name << ": " << alone.status().text();
    Schedule expected = *built;
    for (Rank other = 0; other < ranks; ++other)
      if (other != r) expected.programs[static_cast<std::size_t>(other)] = {};
    ASSERT_EQ(to_flat(*alone), to_flat(expected)) << name << " rank " << r;
  }
}

TEST(Random, StatementsMeanWhatTheySay) {
  for (std::uint32_t seed = 1; seed <= 4000 && !HasFatalFailure(); ++seed) try_one(seed);
}

/// The whole, in pieces: each piece is the schedule again, so what a chunk holds follows from the piece's leaves.
TEST(Random, PiecesRunSideBySide) {
  for (const Case& c : all_cases(5)) {
    const Result<Schedule> built = build(c);
    ASSERT_TRUE(built.ok()) << c.name << built.status().text();
    Result<Schedule> pieces = split_into_pieces(*built, 3);
    ASSERT_TRUE(pieces.ok()) << c.name << pieces.status().text();
    drop_implied_deps(*pieces);
    for (const bool in_place : {false, true}) {
      Machine machine(*pieces, in_place, 7);
      ASSERT_EQ(machine.run(), "") << c.name << ' ' << c.ranks << '\n' << to_text(*pieces);
      for (Rank r = 0; r < c.ranks; ++r)
        for (std::uint32_t chunk = 0; chunk < pieces->chunks; ++chunk)
          if (output_holds(*pieces, r, chunk)) {
            ASSERT_NE(machine.output(r, chunk), rubbish) << c.name << " rank " << r << " chunk " << chunk;
          }
    }
  }
}

}  // namespace
}  // namespace toric::testing
