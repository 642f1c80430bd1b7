#include "toric/ir/passes.hpp"

#include "statements.hpp"
#include "toric/ir/text_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

TEST(Pieces, EachIsTheScheduleAgain) {
  const Schedule whole = *build({"", Collective::all_reduce, 8, 4, -1, recursive_doubling});
  ASSERT_EQ(whole.scratch_chunks, 8u);  // two sets
  const Schedule split = *split_into_pieces(whole, 3);
  EXPECT_EQ(split.chunks, 12u);
  EXPECT_EQ(split.scratch_chunks, 3 * whole.scratch_chunks);
  EXPECT_EQ(split.channels, 3u);
  EXPECT_EQ(split.lanes, 6u);
  EXPECT_TRUE(split.place.empty());
  const std::size_t steps = whole.programs[1].steps.size();
  ASSERT_EQ(split.programs[1].steps.size(), 3 * steps);
  for (std::uint32_t q = 0; q < 3; ++q) {
    for (std::size_t i = 0; i < steps; ++i) {
      const Step &a = whole.programs[1].steps[i], &b = split.programs[1].steps[q * steps + i];
      EXPECT_EQ(b.op, a.op);
      EXPECT_EQ(b.count, a.count);
      EXPECT_EQ(b.lane, a.lane + 2 * q);
      if (!is_local(a.op)) {
        EXPECT_EQ(b.channel, a.channel + q);
      }
      EXPECT_EQ(data_first(b, split.chunks), data_first(a, whole.chunks) + q * whole.chunks);
      if (writes_dst(b.op)) {
        EXPECT_EQ(b.dst_first % split.chunks, data_first(b, split.chunks));
      }
      ASSERT_EQ(b.dep_count, a.dep_count);
      for (std::uint32_t d = 0; d < a.dep_count; ++d)
        EXPECT_EQ(split.programs[1].deps_of(b)[d].step, whole.programs[1].deps_of(a)[d].step + q * steps);
    }
  }
}

// Rank 1 of 3 receives a chunk and hands it on in one stage, copies of that go back in the next: all pieces' first stage, then all
// pieces' second.
TEST(Pieces, AStageOfAllComesBeforeTheNextOfAny) {
  Builder::Options options;
  options.what = Collective::all_reduce;
  options.ranks = 3;
  Builder b(options);
  b.send_reduce(0, 1, 0);
  b.send_reduce(1, 2, 0);
  b.begin_stage();
  b.send(2, 1, 0);
  b.send(1, 0, 0);
  const Result<Schedule> whole = b.finish();
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  const Result<Schedule> split = split_into_pieces(*whole, 2);
  ASSERT_TRUE(split.ok()) << split.status().text();
  std::vector<std::pair<Op, std::uint32_t>> steps;
  for (const Step& step : split->programs[1].steps) steps.emplace_back(step.op, data_first(step, 2));
  EXPECT_EQ(steps, (std::vector<std::pair<Op, std::uint32_t>>{{Op::recv_reduce, 0},
                                                              {Op::send, 0},
                                                              {Op::recv_reduce, 1},
                                                              {Op::send, 1},
                                                              {Op::recv, 0},
                                                              {Op::send, 0},
                                                              {Op::recv, 1},
                                                              {Op::send, 1}}));
  const Program& program = split->programs[1];
  for (std::uint32_t step = 0; step < program.steps.size(); ++step)
    for (const Dep dep : program.deps_of(program.steps[step]))
      EXPECT_EQ(data_first(program.steps[dep.step], 2), data_first(program.steps[step], 2)) << step;
  EXPECT_EQ(program.deps_of(program.steps[7]).back().step, 6U);
}

TEST(Pieces, StagesLieWithinTheProgram) {
  Schedule schedule = *build({"", Collective::all_reduce, 8, 4, -1, recursive_doubling});
  schedule.programs[2].stages = {1, 1000};
  EXPECT_THAT(std::string(split_into_pieces(schedule, 2).status().text()), HasSubstr("stages of rank 2"));
  Builder b({});
  b.begin_round();
  b.begin_stage();
  b.end_round();
  EXPECT_THAT(std::string(b.finish().status().text()), HasSubstr("begin_stage stands inside a round"));
}

TEST(Pieces, ChunksOfAPieceStayNeighboursInMemoryAndInTheirBlock) {
  Builder::Options options;
  options.what = Collective::all_gather;
  options.ranks = 2;
  options.chunks = 4;
  options.place = {2, 3, 0, 1};  // block 1 first
  Builder b(options);
  b.send(1, 0, 0, 2);
  b.send(0, 1, 2, 2);
  const Result<Schedule> whole = b.finish();
  ASSERT_TRUE(whole.ok()) << whole.status().text();
  const Schedule split = *split_into_pieces(*whole, 2);
  EXPECT_EQ(split.place, (std::vector<std::uint32_t>{4, 5, 0, 1, 6, 7, 2, 3}));
  for (std::uint32_t c = 0; c < 8; ++c) EXPECT_EQ(block_of(split, c), block_of(*whole, c % 4)) << c;
}

TEST(Pieces, ExtentsCoverTheVectorOnce) {
  for (const Collective what : {Collective::all_reduce, Collective::all_gather}) {
    const Schedule whole = *build({"", what, 3, 6, -1, what == Collective::all_gather ? ring_all_gather : one_shot});
    const Schedule split = *split_into_pieces(whole, 5);
    for (const std::uint64_t count : {0u, 1u, 7u, 1000u}) {
      std::vector<int> covered(count * (has_blocks(what) ? 3 : 1));
      for (std::uint32_t c = 0; c < split.chunks; ++c) {
        const Extent e = extent_of(split, api_chunk(split, c), count);
        EXPECT_LE(e.length, longest_chunk(split, count));
        for (std::uint64_t i = 0; i < e.length; ++i) ++covered[e.begin + i];
      }
      EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), static_cast<std::ptrdiff_t>(covered.size()));
    }
  }
}

TEST(Pieces, ARankAloneShiftsAsTheOthersDo) {
  // Rank 2 itself uses channel 0 alone; its pieces still have to leave room for channel 1.
  const auto say = [](Builder& b) {
    b.send_reduce(1, 2, 0);
    b.channel(1);
    b.send_reduce(0, 1, 0);
  };
  const Case c{"", Collective::all_reduce, 3, 1, -1, say};
  const Schedule all = *split_into_pieces(*build(c), 2), alone = *split_into_pieces(*build(c, 2), 2);
  ASSERT_EQ(alone.programs[2].steps.size(), all.programs[2].steps.size());
  for (std::size_t i = 0; i < all.programs[2].steps.size(); ++i) {
    EXPECT_EQ(alone.programs[2].steps[i].channel, all.programs[2].steps[i].channel);
    EXPECT_EQ(alone.programs[2].steps[i].lane, all.programs[2].steps[i].lane);
  }
  EXPECT_EQ(all.programs[2].steps.back().channel, 2);
}

TEST(Pieces, TooManyAreRefused) {
  const Schedule whole = *build({"", Collective::all_reduce, 2, 2, -1, ring_all_reduce});
  EXPECT_THAT(std::string(split_into_pieces(whole, 0).status().text()), HasSubstr("0 pieces"));
  EXPECT_THAT(std::string(split_into_pieces(whole, 40000).status().text()), HasSubstr("use fewer pieces"));
  EXPECT_EQ(to_text(*split_into_pieces(whole, 1)), to_text(whole));
}

// --- implied dependencies ----------------------------------------------------------------------------------------------

Schedule with_program(const std::string& steps) {
  const Result<Schedule> read =
      from_text("toric schedule 1\nall_reduce ranks 1 chunks 4 scratch 8 fifo 0 channels 0 lanes 0\nrank 0\n" + steps);
  EXPECT_TRUE(read.ok()) << read.status().text();
  return *read;
}

std::vector<std::uint32_t> last_deps(Schedule s) {
  drop_implied_deps(s);
  EXPECT_TRUE(check_structure(s).ok());
  std::vector<std::uint32_t> deps;
  for (const Dep dep : s.programs[0].deps_of(s.programs[0].steps.back())) deps.push_back(dep.step);
  return deps;
}

using Deps = std::vector<std::uint32_t>;

TEST(ImpliedDeps, SameLane) {
  EXPECT_EQ(last_deps(with_program("0: copy in[0] -> scratch[0] lane 0\n1: copy scratch[0] -> out[0] lane 0 after 0\n")), Deps{});
}

TEST(ImpliedDeps, ThroughAStepThatCoversTheOverlap) {
  EXPECT_EQ(last_deps(with_program("0: copy in[0..3] -> scratch[0..3] lane 0\n1: copy scratch[0..3] -> scratch[4..7] lane 1 after 0\n"
                                   "2: copy scratch[4..7] -> out[0..3] lane 2 after 0 1\n")),
            Deps{1});
}

TEST(ImpliedDeps, NotThroughOneThatCoversOnlyPart) {
  for (const std::string between : {"scratch[0..2] -> scratch[4..6]", "scratch[1..3] -> scratch[5..7]"})
    EXPECT_EQ(last_deps(with_program("0: copy in[0..3] -> scratch[0..3] lane 0\n1: copy " + between +
                                     " lane 1 after 0\n"
                                     "2: copy scratch[0..3] -> out[0..3] lane 2 after 0 1\n")),
              (Deps{0, 1}));
}

TEST(ImpliedDeps, ThroughALaterStepOfTheSameLaneOnlyIfItCovers) {
  EXPECT_EQ(last_deps(with_program("0: copy in[0] -> scratch[0] lane 0\n1: copy in[0..1] -> scratch[4..5] lane 0\n"
                                   "2: copy scratch[0] -> out[0] lane 1 after 0 1\n")),
            Deps{1});
  EXPECT_EQ(last_deps(with_program("0: copy in[0] -> scratch[0] lane 0\n1: copy in[1] -> scratch[1] lane 0\n"
                                   "2: copy scratch[0..1] -> out[0..1] lane 1 after 0 1\n")),
            (Deps{0, 1}));
}

TEST(ImpliedDeps, ThroughWhatTheLaneWaitedForBefore) {
  EXPECT_EQ(last_deps(with_program("0: copy in[0] -> scratch[0] lane 0\n1: copy scratch[0] -> scratch[4] lane 1 after 0\n"
                                   "2: copy scratch[0] -> out[0] lane 1 after 0\n")),
            Deps{});
  EXPECT_EQ(last_deps(with_program("0: copy in[0..1] -> scratch[0..1] lane 0\n1: copy scratch[0] -> scratch[4] lane 1 after 0\n"
                                   "2: copy scratch[0..1] -> out[0..1] lane 1 after 0\n")),
            Deps{0});
}

TEST(ImpliedDeps, OneThatNoPositionEverWaitsFor) {
  EXPECT_EQ(last_deps(with_program("0: copy in[3] -> scratch[3] lane 0\n1: copy in[0] -> out[0] lane 1 after 0\n")), Deps{});
  EXPECT_EQ(last_deps(with_program("0: copy in[0] -> scratch[0] lane 0\n1: copy in[3] -> out[3] lane 1 after 0\n")), Deps{0});
}

}  // namespace
}  // namespace toric::testing
