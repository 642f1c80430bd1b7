#include "report.hpp"

#include "options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace toric::compare {
namespace {

RegimeResult two_sizes() { return {Regime::far, {{4, 5, {0.1, 0.2, 0.3}, {0.7, 0.8, 0.9}, 4}, {1024, 6, {1, 2, 3}, {1, 2, 3}, 1}}}; }

TEST(LastLine, IsWhatScriptsRead) {
  EXPECT_EQ(last_line(two_sizes(), 2, 5, "Open MPI 4.1.4"),
            "all_reduce np 2 regime far geomean 2.00 worst 1.00 at 1024 against Open MPI 4.1.4");
}

TEST(LastLine, TooFewBlocksAreUnseen) {
  EXPECT_EQ(last_line(two_sizes(), 2, 6, "x"), "all_reduce np 2 regime far unseen");
  EXPECT_EQ(last_line({Regime::near, {}}, 8, 5, "x"), "all_reduce np 8 regime near unseen");
}

TEST(Table, HasALineASize) {
  RegimeResult result = two_sizes();
  result.sizes.push_back({4096, 0, {}, {}, 0});
  const std::string text = table(result);
  EXPECT_THAT(text, testing::HasSubstr("# regime far"));
  EXPECT_THAT(text, testing::HasSubstr("[0.10 - 0.30]"));
  EXPECT_THAT(text, testing::ContainsRegex("1024 +2.00 +.1.00 - 3.00. +2.00 +.1.00 - 3.00. +1.00 +6\n"));
  EXPECT_THAT(text, testing::ContainsRegex("4096 +- +- +- +- +- +0\n"));
}

TEST(ShortVersion, OfThreeLibraries) {
  EXPECT_EQ(short_version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4"), "Open MPI 4.1.4");
  EXPECT_EQ(short_version("MPICH Version:\t4.0.2\nMPICH Release date:\tThu"), "MPICH 4.0.2");
  EXPECT_EQ(short_version("Some MPI 7"), "Some MPI 7");
}

TEST(Options, SizesAndDefaults) {
  const char* argv[] = {"toric-compare", "-b", "4", "-e", "1K", "-f", "4", "--max-seconds", "3"};
  const Parsed parsed = parse(9, argv);
  ASSERT_TRUE(parsed.options);
  EXPECT_EQ(parsed.options->sizes(), (std::vector<std::uint64_t>{4, 16, 64, 256, 1024}));
  EXPECT_EQ(parsed.options->max_seconds, 3);
  EXPECT_EQ(parsed.options->blocks, 5u);
}

TEST(Options, RefusesWhatCannotBeMeasured) {
  const char* argv[] = {"toric-compare", "-b", "8K", "-e", "1K"};
  EXPECT_FALSE(parse(5, argv).options);
  const char* bad[] = {"toric-compare", "-b", "eight"};
  EXPECT_FALSE(parse(3, bad).options);
  EXPECT_NE(parse(3, bad).exit_code, 0);
}

TEST(LaunchLine, PassesEverythingButItsOwnOption) {
  const char* argv[] = {"toric-compare", "--np", "2", "-b", "4", "--np=2", "--huge-pages"};
  EXPECT_THAT(launch_line(7, argv, "/x/toric-compare", 2, true, true),
              testing::ElementsAre("mpirun", "-np", "2", "--bind-to", "core", "--allow-run-as-root", "/x/toric-compare", "-b", "4",
                                   "--huge-pages"));
  EXPECT_THAT(launch_line(1, argv, "p", 8, false, false),
              testing::ElementsAre("mpirun", "-np", "8", "--bind-to", "none", "--oversubscribe", "p"));
}

}  // namespace
}  // namespace toric::compare
