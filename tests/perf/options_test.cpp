#include "options.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace toric::perf {
namespace {

Parsed parse_line(std::initializer_list<const char*> words) {
  const std::vector<const char*> argv(words);
  ::testing::internal::CaptureStderr();
  Parsed parsed = parse(static_cast<int>(argv.size()), argv.data());
  ::testing::internal::GetCapturedStderr();
  return parsed;
}

std::string refusal(std::initializer_list<const char*> words) {
  const std::vector<const char*> argv(words);
  ::testing::internal::CaptureStderr();
  const Parsed parsed = parse(static_cast<int>(argv.size()), argv.data());
  std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(parsed.options.has_value());
  EXPECT_NE(parsed.exit_code, 0);
  return text;
}

TEST(Sizes, AreCountsWithASuffixInPowersOf1024) {
  EXPECT_EQ(parse_size("8"), 8U);
  EXPECT_EQ(parse_size("4k"), 4096U);
  EXPECT_EQ(parse_size("16M"), 16U << 20);
  EXPECT_EQ(parse_size("2G"), std::uint64_t{2} << 30);
  for (const char* bad : {"", "K", "1.5M", "12Q", "-4", "1MB", "99999999999999999G"}) EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
}

TEST(Options, DefaultsAreThoseOfNcclTests) {
  const auto o = parse_line({"all_reduce_perf"}).options;
  ASSERT_TRUE(o);
  EXPECT_EQ(o->min_bytes, 32U << 20);
  EXPECT_EQ(o->max_bytes, 32U << 20);
  EXPECT_EQ(o->step_bytes, 1U << 20);
  EXPECT_EQ(o->iterations, 20);
  EXPECT_EQ(o->warmup, 1);
  EXPECT_EQ(o->checks, 1);
  EXPECT_EQ(o->types, std::vector<DataType>{DataType::float32});
  EXPECT_EQ(o->ops, std::vector<RedOp>{RedOp::sum});
}

TEST(Options, ProgramNameDecidesTheCollective) {
  EXPECT_EQ(parse_line({"/usr/bin/all_gather_perf"}).options->what, Collective::all_gather);
  EXPECT_EQ(parse_line({"./barrier_perf"}).options->what, Collective::barrier);
  EXPECT_EQ(parse_line({"toric_perf", "--collective", "broadcast"}).options->what, Collective::broadcast);
  EXPECT_NE(refusal({"toric_perf"}).find("all_reduce_perf"), std::string::npos);
}

TEST(Options, SweepOfTheUsualLine) {
  const auto o = parse_line({"all_reduce_perf", "-b", "4", "-e", "16M", "-f", "4", "-d", "all", "-o", "all", "--np", "4"}).options;
  ASSERT_TRUE(o);
  const auto sizes = sizes_of(*o);
  ASSERT_EQ(sizes.size(), 12U);
  EXPECT_EQ(sizes.front(), 4U);
  EXPECT_EQ(sizes.back(), 16U << 20);
  EXPECT_EQ(o->types.size(), 12U);
  EXPECT_EQ(o->ops.size(), 6U);
  EXPECT_EQ(o->processes, 4);
}

TEST(Options, AdditiveSteps) {
  const auto o = parse_line({"all_reduce_perf", "-b", "8", "-e", "40", "-i", "16"}).options;
  EXPECT_EQ(sizes_of(*o), (std::vector<std::uint64_t>{8, 24, 40}));
}

TEST(Options, WhatIsNotOfferedIsRefusedByName) {
  for (const char* flag : {"-p", "-y", "-G", "-C", "-S", "-J", "-a", "-R", "-x", "-D", "-V", "-M", "-K"})
    EXPECT_NE(refusal({"all_reduce_perf", flag, "1"}).find(std::string(flag) + ","), std::string::npos) << flag;
  EXPECT_NE(refusal({"all_reduce_perf", "--cudagraph", "1"}).find("cudagraph"), std::string::npos);
  EXPECT_NE(refusal({"all_reduce_perf", "--nonsense"}).find("nonsense"), std::string::npos);
}

TEST(Options, NonsenseIsRefused) {
  refusal({"all_reduce_perf", "-b", "8", "-e", "4"});
  refusal({"all_reduce_perf", "-d", "quarter"});
  refusal({"all_reduce_perf", "-o", "median"});
  refusal({"all_reduce_perf", "-n", "0"});
  refusal({"all_reduce_perf", "-f", "1"});
  refusal({"all_reduce_perf", "-g", "2"});
  refusal({"broadcast_perf", "-r", "x"});
}

}  // namespace
}  // namespace toric::perf
