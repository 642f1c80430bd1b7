// Selection: the wish's grammar, what is refused and what the refusal names, the table's shape, windows.
#include "toric/comm/selection.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace toric {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view wish) { return std::string(parse_wish(wish).status().text()); }
std::string misfit(std::string_view wish, Rank ranks) { return std::string(check_wish(wish, ranks).text()); }

std::string chosen(Collective collective, Rank ranks, std::uint64_t bytes, std::string_view wish = "") {
  const auto parsed = parse_wish(wish);
  EXPECT_TRUE(parsed.ok()) << parsed.status().text();
  const auto choices = choose(collective, ranks, 0, *parsed);
  EXPECT_TRUE(choices.ok()) << choices.status().text();
  for (const Choice& choice : *choices)
    if (bytes < choice.end || choice.end == UINT64_MAX) return fmt::format("{}@{}", choice.algorithm->name, choice.pieces);
  return "none";
}

TEST(Wish, TakesRangesOfSeveralCollectives) {
  constexpr std::string_view wish = "all_reduce:0-4k=direct,4k-inf=ring;all_gather=ring";
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 0, wish), "direct@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 4095, wish), "direct@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 4096, wish), "ring@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, UINT64_MAX, wish), "ring@1");
  EXPECT_EQ(chosen(Collective::all_gather, 4, 1, wish), "ring@1");
}

TEST(Wish, LeavesWhatItDoesNotNameToTheTable) {
  constexpr std::string_view wish = "all_reduce:4k-8k=binomial_tree";
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 4095, wish), chosen(Collective::all_reduce, 4, 4095));
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 4096, wish), "binomial_tree@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 8191, wish), "binomial_tree@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 8192, wish), chosen(Collective::all_reduce, 4, 8192));
  EXPECT_EQ(chosen(Collective::barrier, 4, 0, "ring"), "dissemination@1");
}

TEST(Wish, TakesANameAloneAndPieces) {
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 1, "ring@4"), "ring@4");
  EXPECT_EQ(chosen(Collective::reduce_scatter, 4, 1 << 20, "ring"), "ring@1");
}

TEST(Wish, LetsTheLaterRangeCountWhereTwoOverlap) {
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 100, "ring;all_reduce:0-1k=two_shot"), "two_shot@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 4, 2000, "ring;all_reduce:0-1k=two_shot"), "ring@1");
}

TEST(Wish, NamesThePartThatIsWrongAndWhatIsRight) {
  EXPECT_THAT(refusal("rong"), AllOf(HasSubstr("rong"), HasSubstr("ring"), HasSubstr("direct")));
  EXPECT_THAT(refusal("all_reduce=rong"), HasSubstr("rong"));
  EXPECT_THAT(refusal("all_reducer=ring"), AllOf(HasSubstr("all_reducer=ring"), HasSubstr("collective")));
  EXPECT_THAT(refusal("all_reduce:ring"), AllOf(HasSubstr("\"ring\""), HasSubstr("0-4k=direct")));
  EXPECT_THAT(refusal("all_reduce:4k-1k=ring"), AllOf(HasSubstr("4k-1k"), HasSubstr("smaller first")));
  EXPECT_THAT(refusal("all_reduce:0-x=ring"), HasSubstr("0-x=ring"));
  EXPECT_THAT(refusal("all_reduce:0-4k=direct,"), HasSubstr("not a range"));
  EXPECT_THAT(refusal("ring@0"), HasSubstr("pieces"));
  EXPECT_THAT(refusal("ring@"), HasSubstr("pieces"));
  EXPECT_THAT(refusal("ring@4x"), HasSubstr("pieces"));
  EXPECT_THAT(refusal(";"), HasSubstr("names no algorithm"));
}

TEST(Wish, ThatIsImpossibleNamesWhatFits) {
  EXPECT_THAT(misfit("barrier=ring", 4), AllOf(HasSubstr("does not offer barrier"), HasSubstr("dissemination")));
  EXPECT_THAT(misfit("all_gather:0-1k=two_shot", 4), AllOf(HasSubstr("does not offer all_gather"), HasSubstr("ring")));
  EXPECT_EQ(misfit("ring", 4), "");
  EXPECT_EQ(misfit("all_reduce:0-4k=direct,4k-inf=ring;all_gather=ring", 7), "");
}

TEST(Table, HasAFittingChoiceForEveryCollectiveOfTheApi) {
  for (const Collective collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast, Collective::barrier}) {
    for (Rank ranks = 1; ranks <= 64; ++ranks) {
      const auto choices = choose(collective, ranks, ranks - 1, {});
      ASSERT_TRUE(choices.ok()) << choices.status().text();
      ASSERT_EQ(choices->front().begin, 0u);
      ASSERT_EQ(choices->back().end, UINT64_MAX);
      for (std::size_t i = 1; i < choices->size(); ++i) ASSERT_EQ((*choices)[i].begin, (*choices)[i - 1].end);
    }
  }
}

TEST(Table, TakesOneShotForSmallAllReducesOfTwoRanks) {
  EXPECT_EQ(chosen(Collective::all_reduce, 2, 8), "direct@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 2, (128 << 10) - 1), "direct@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 2, 128 << 10), "two_shot@1");
  EXPECT_EQ(chosen(Collective::all_reduce, 64, 1 << 30), "ring@1");
}

TEST(Window, HoldsEachChunkToHalfARing) {
  Schedule schedule;
  schedule.what = Collective::all_reduce;
  schedule.ranks = 4;
  schedule.chunks = 4;
  EXPECT_EQ(window_bytes_for(schedule, 65536, 4, 0), 4u * 2 * 65536);
  schedule.fifo = 4;
  EXPECT_EQ(window_bytes_for(schedule, 65536, 4, 0), 4u * 65536);
  schedule.fifo = 0;
  schedule.what = Collective::all_gather;  // windows count a block's bytes: one chunk a block
  EXPECT_EQ(window_bytes_for(schedule, 65536, 4, 0), 2u * 65536);
  EXPECT_EQ(window_bytes_for(schedule, 65536, 4, SIZE_MAX), 0u);
  EXPECT_EQ(window_bytes_for(schedule, 65536, 4, 4096), 4096u);
  EXPECT_EQ(window_bytes_for(schedule, 64, 1, 0) % 64, 0u);
  EXPECT_GE(window_bytes_for(schedule, 64, 1, 0), 64u);
}

}  // namespace
}  // namespace toric
