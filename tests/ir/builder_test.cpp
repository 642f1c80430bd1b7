#include "toric/ir/builder.hpp"

#include "machine.hpp"
#include "statements.hpp"
#include "toric/ir/flat_form.hpp"
#include "toric/ir/text_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

Builder all_reduce_builder(Rank ranks, std::uint32_t chunks, std::uint16_t max_lanes = 256) {
  Builder::Options options;
  options.ranks = ranks;
  options.chunks = chunks;
  options.max_lanes = max_lanes;
  return Builder(options);
}

std::string error_of(Builder& b) { return std::string(b.finish().status().text()); }

// --- results: every contribution once, told by a machine that keeps the set of leaves ---------------------------------

/// What every output chunk must hold, for schedules whose combining order is not the point: run twice, with one
/// leaf changed nothing else may change. Here simply: sets of ranks, carried along by replaying values.
class Sets {
 public:
  explicit Sets(const Schedule& s) : s_(s) {}
  /// Replays the programs in an order that is legal at capacity 0; each place holds a list of contributing ranks.
  std::string run() {
    std::vector<std::size_t> next(s_.programs.size());
    memory_.assign(s_.programs.size(), std::vector<std::multiset<Rank>>(std::size_t{2} * s_.chunks + s_.scratch_chunks));
    for (Rank r = 0; r < s_.ranks; ++r)
      for (std::uint32_t c = 0; c < s_.chunks; ++c)
        if (input_holds(s_, r, c)) at(r, Buf::input, c) = {r};
    done_.clear();
    for (const Program& p : s_.programs) done_.emplace_back(p.steps.size());
    bool moved = true;
    while (moved) {
      moved = false;
      for (Rank r = 0; r < s_.ranks; ++r)
        for (std::uint32_t i = 0; i < steps(r).size(); ++i) moved = step(r, i) || moved;
    }
    for (const auto& done : done_)
      for (const bool d : done)
        if (!d) return "stuck";
    return {};
  }
  std::multiset<Rank>& at(Rank r, Buf buf, std::uint32_t i) {
    return memory_[static_cast<std::size_t>(r)][static_cast<std::size_t>(buf) * s_.chunks + i];
  }

 private:
  [[nodiscard]] const std::vector<Step>& steps(Rank r) const { return s_.programs[static_cast<std::size_t>(r)].steps; }
  bool ready(Rank r, std::uint32_t i) {
    const auto& done = done_[static_cast<std::size_t>(r)];
    for (std::uint32_t j = 0; j < i; ++j)
      if (!done[j] && steps(r)[j].lane == steps(r)[i].lane) return false;
    for (const Dep dep : s_.programs[static_cast<std::size_t>(r)].deps_of(steps(r)[i]))
      if (!done[dep.step]) return false;
    return true;
  }
  bool step(Rank r, std::uint32_t i) {
    const Step& s = steps(r)[i];
    auto& done = done_[static_cast<std::size_t>(r)];
    if (done[i] || s.op == Op::send || !ready(r, i)) return false;
    std::optional<std::uint32_t> send;
    if (is_receive(s.op)) {
      for (std::uint32_t j = 0; j < steps(s.peer).size() && !send; ++j) {
        const Step& other = steps(s.peer)[j];
        if (other.op == Op::send && other.peer == r && other.channel == s.channel && !done_[static_cast<std::size_t>(s.peer)][j]) send = j;
      }
      if (!send || !ready(s.peer, *send)) return false;
    }
    for (std::uint32_t c = 0; c < s.count; ++c) {
      std::multiset<Rank> value;
      if (s.op == Op::reduce) value = at(r, s.dst_buf, s.dst_first + c);
      if (reads_src(s.op)) value.merge(std::multiset<Rank>(at(r, s.src_buf, s.src_first + c)));
      if (send) value.merge(std::multiset<Rank>(at(s.peer, steps(s.peer)[*send].src_buf, steps(s.peer)[*send].src_first + c)));
      at(r, s.dst_buf, s.dst_first + c) = value;
    }
    done[i] = true;
    if (send) done_[static_cast<std::size_t>(s.peer)][*send] = true;
    return true;
  }
  const Schedule& s_;
  std::vector<std::vector<std::multiset<Rank>>> memory_;
  std::vector<std::vector<bool>> done_;
};

std::multiset<Rank> expected_contributions(const Schedule& s, std::uint32_t chunk) {
  std::multiset<Rank> all;
  for (Rank r = 0; r < s.ranks; ++r)
    if (input_holds(s, r, chunk)) all.insert(r);
  return all;
}

TEST(Builder, EveryCaseGivesEachContributionOnce) {
  for (const Case& c : all_cases(9)) {
    const Result<Schedule> built = build(c);
    ASSERT_TRUE(built.ok()) << c.name << ' ' << c.ranks << ": " << built.status().text();
    Sets sets(*built);
    ASSERT_EQ(sets.run(), "") << c.name << ' ' << c.ranks << '\n' << to_text(*built);
    for (Rank r = 0; r < c.ranks; ++r)
      for (std::uint32_t chunk = 0; chunk < c.chunks; ++chunk)
        if (output_holds(*built, r, chunk)) {
          ASSERT_EQ(sets.at(r, Buf::output, chunk), expected_contributions(*built, chunk))
              << c.name << ' ' << c.ranks << " root " << c.root << " rank " << r << " chunk " << chunk << '\n'
              << to_text(*built);
        }
  }
}

TEST(Builder, AllRanksCombineInRankOrderWhereTheAlgorithmDoes) {
  for (const Rank p : {2, 3, 4, 5, 8}) {
    for (const bool doubling : {false, true}) {
      if (doubling && (p & (p - 1)) != 0) continue;
      const Case c{"", Collective::all_reduce, p, 1, -1, doubling ? recursive_doubling : one_shot};
      const Result<Schedule> built = build(c);
      ASSERT_TRUE(built.ok());
      Value expected = leaf(0, 0);
      for (Rank r = 1; r < p; ++r) expected = combine(expected, leaf(r, 0));
      if (doubling) {
        std::vector<Value> level;
        for (Rank r = 0; r < p; ++r) level.push_back(leaf(r, 0));
        for (; level.size() > 1; level.resize(level.size() / 2))
          for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = combine(level[2 * i], level[2 * i + 1]);
        expected = level[0];
      }
      for (std::uint32_t seed = 0; seed < 20; ++seed) {
        Machine machine(*built, seed % 2 == 0, seed);
        ASSERT_EQ(machine.run(), "");
        for (Rank r = 0; r < p; ++r) EXPECT_EQ(machine.output(r, 0), expected) << "rank " << r << " of " << p << '\n' << to_text(*built);
      }
    }
  }
}

TEST(Builder, InputIsNeverWritten) {
  for (const Case& c : all_cases(6)) {
    const Result<Schedule> built = build(c);
    ASSERT_TRUE(built.ok());
    for (const Program& program : built->programs)
      for (const Step& step : program.steps) EXPECT_FALSE(writes_dst(step.op) && step.dst_buf == Buf::input) << c.name;
  }
}

TEST(Builder, ARankAloneIsTheSameProgram) {
  for (const Case& c : all_cases(6)) {
    const Result<Schedule> built = build(c);
    ASSERT_TRUE(built.ok());
    for (Rank r = 0; r < c.ranks; ++r) {
      const Result<Schedule> alone = build(c, r);
      ASSERT_TRUE(alone.ok());
      Schedule expected = *built;
      for (Rank other = 0; other < c.ranks; ++other)
        if (other != r) expected.programs[static_cast<std::size_t>(other)] = {};
      EXPECT_EQ(to_flat(*alone), to_flat(expected)) << c.name << " rank " << r << " of " << c.ranks;
    }
  }
}

TEST(Builder, OneRankOfALargeRingIsSmall) {
  const Case c{"", Collective::all_reduce, 1024, 1024, -1, ring_all_reduce};
  const Result<Schedule> built = build(c, 77);
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->programs[77].steps.size(), 2u * 2 * 1023);
  EXPECT_EQ(built->programs[76].steps.size(), 0u);
  EXPECT_EQ(built->scratch_chunks, 0u);
}

TEST(Builder, ScratchStaysSmall) {
  for (const Rank p : {16, 64}) {
    const Result<Schedule> doubling = build({"", Collective::all_reduce, p, 1, -1, recursive_doubling});
    ASSERT_TRUE(doubling.ok());
    EXPECT_EQ(doubling->scratch_chunks, 2u);
    const Result<Schedule> shot = build({"", Collective::all_reduce, p, 1, -1, one_shot});
    ASSERT_TRUE(shot.ok());
    EXPECT_EQ(shot->scratch_chunks, 1u);
  }
}

// --- splitting ---------------------------------------------------------------------------------------------------------

TEST(Builder, BothEndsSplitWhereEitherChangesPlace) {
  Builder b = all_reduce_builder(3, 4);
  b.send_reduce(1, 0, 1, 1);  // rank 0: chunk 1 is in output now
  b.send_reduce(2, 1, 2, 1);  // rank 1: chunk 2 is
  b.send_reduce(0, 1, 0, 4);
  b.send(1, 2, 0, 4);
  b.send(1, 0, 0, 4);
  const Result<Schedule> built = b.finish();
  ASSERT_TRUE(built.ok()) << built.status().text();
  std::vector<std::uint32_t> sent, received;
  for (const Step& step : built->programs[0].steps)
    if (step.op == Op::send) sent.push_back(step.count);
  for (const Step& step : built->programs[1].steps)
    if (step.op == Op::recv_reduce && step.peer == 0) received.push_back(step.count);
  EXPECT_EQ(sent, (std::vector<std::uint32_t>{1, 1, 1, 1}));
  EXPECT_EQ(received, sent);
  Machine machine(*built, true, 3);
  EXPECT_EQ(machine.run(), "");
}

TEST(Builder, AnOwnBlockGoesWithItsNeighbours) {
  const Result<Schedule> built = build({"", Collective::all_gather, 4, 4, -1, doubling_all_gather});
  ASSERT_TRUE(built.ok());
  for (const Program& program : built->programs) {
    int sends = 0;
    for (const Step& step : program.steps) sends += step.op == Op::send;
    EXPECT_EQ(sends, 2) << to_text(*built);
  }
}

// --- errors ------------------------------------------------------------------------------------------------------------

TEST(BuilderErrors, ABadRankIsNamed) {
  Builder b = all_reduce_builder(4, 4);
  b.send(0, 1, 0);
  b.send(0, 4, 0);
  b.send(0, 1, 17);  // the first one is named
  EXPECT_THAT(error_of(b), HasSubstr("statement 2: send names rank 4; ranks are 0 to 3"));
}

TEST(BuilderErrors, ABadChunkIsNamed) {
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {4, 1}, {-1, 1}, {0, 5}, {3, 2}, {0, -1}, {INT64_MIN, 1}, {INT64_MAX, INT64_MAX}, {1, INT64_MAX}, {5, 0}}) {
    Builder b = all_reduce_builder(4, 4);
    b.send_reduce(0, 1, first, count);
    EXPECT_THAT(error_of(b), HasSubstr("chunks are 0 to 3")) << first << ' ' << count;
  }
}

TEST(BuilderErrors, NothingToSendIsNoError) {
  Builder b = all_reduce_builder(2, 2);
  b.send(0, 0, 0);
  b.send(0, 1, 2, 0);
  const Result<Schedule> built = b.finish();
  ASSERT_TRUE(built.ok()) << built.status().text();
  EXPECT_EQ(built->programs[1].steps.size(), 1u);  // the copy of its own data alone
}

TEST(BuilderErrors, UnbalancedRounds) {
  Builder open = all_reduce_builder(2, 1);
  open.begin_round();
  EXPECT_THAT(error_of(open), HasSubstr("call end_round"));
  Builder twice = all_reduce_builder(2, 1);
  twice.begin_round();
  twice.begin_round();
  EXPECT_THAT(error_of(twice), HasSubstr("begin_round inside a round"));
  Builder closed = all_reduce_builder(2, 1);
  closed.end_round();
  EXPECT_THAT(error_of(closed), HasSubstr("end_round without begin_round"));
}

TEST(BuilderErrors, RunningOutOfLanes) {
  Builder b = all_reduce_builder(2, 1, 4);
  b.channel(1);
  b.send_reduce(0, 1, 0);
  b.channel(2);
  b.send(1, 0, 0);
  EXPECT_THAT(error_of(b), HasSubstr("lane 5 is needed and only lanes 0 to 3"));
  Builder over = all_reduce_builder(2, 1, 4);
  over.lane(4);
  over.send_reduce(0, 1, 0);
  EXPECT_THAT(error_of(over), HasSubstr("lane 4 is needed"));
  Builder high = all_reduce_builder(2, 1, 65535);
  high.channel(65535);
  high.send_reduce(0, 1, 0);
  EXPECT_THAT(error_of(high), HasSubstr("lane 131071 is needed"));
}

TEST(BuilderErrors, AChunkThatIsNotThere) {
  Builder::Options options;
  options.what = Collective::broadcast;
  options.ranks = 3;
  options.root = 0;
  options.chunks = 2;
  Builder b(options);
  b.send(0, 1, 0);
  b.send(1, 2, 0, 2);
  EXPECT_THAT(error_of(b), HasSubstr("needs chunk 1 on rank 1"));
}

TEST(BuilderErrors, ASendAndAReductionMeetInARound) {
  Builder b = all_reduce_builder(3, 2);
  b.begin_round();
  b.send(0, 2, 0, 2);
  b.send_reduce(1, 2, 1);
  b.end_round();
  EXPECT_THAT(error_of(b), HasSubstr("rank 2 gets chunk 1 by send and once more"));
}

TEST(BuilderErrors, BadOptions) {
  const auto text = [](auto change) {
    Builder::Options options;
    options.ranks = 3;
    options.chunks = 3;
    change(options);
    Builder b(options);
    return error_of(b);
  };
  EXPECT_THAT(text([](auto& o) { o.ranks = 0; }), HasSubstr("0 ranks"));
  EXPECT_THAT(text([](auto& o) { o.chunks = 0; }), HasSubstr("no chunks"));
  EXPECT_THAT(text([](auto& o) { o.only = 3; }), HasSubstr("rank 3"));
  EXPECT_THAT(text([](auto& o) { o.max_lanes = 1; }), HasSubstr("max_lanes"));
  EXPECT_THAT(text([](auto& o) { o.what = Collective::broadcast; }), HasSubstr("root"));
  EXPECT_THAT(text([](auto& o) {
                o.what = Collective::all_gather;
                o.chunks = 4;
              }),
              HasSubstr("no multiple"));
  EXPECT_THAT(text([](auto& o) { o.place = {0, 1}; }), HasSubstr("place"));
  EXPECT_THAT(text([](auto& o) { o.place = {0, 1, 1}; }), HasSubstr("permutation"));
}

}  // namespace
}  // namespace toric::testing
