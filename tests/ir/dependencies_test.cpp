#include "toric/ir/dependencies.hpp"

#include "toric/ir/text_form.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace toric::testing {
namespace {

using Deps = std::vector<std::uint32_t>;

/// The dependencies found for the program's last step.
Deps found_for_last(const std::string& steps) {
  const Result<Schedule> read =
      from_text("toric schedule 1\nall_reduce ranks 3 chunks 4 scratch 8 fifo 0 channels 0 lanes 0\nrank 0\n" + steps);
  EXPECT_TRUE(read.ok()) << read.status().text();
  Program program = read->programs[0];
  find_dependencies(program, 4);
  Deps deps;
  for (const Dep dep : program.deps_of(program.steps.back())) deps.push_back(dep.step);
  return deps;
}

TEST(Dependencies, AReadWaitsForTheLastWriter) {
  EXPECT_EQ(found_for_last("0: recv -> scratch[0] from 1 channel 0 lane 0\n1: recv -> scratch[0] from 2 channel 0 lane 1\n"
                           "2: send scratch[0] to 1 channel 0 lane 2\n"),
            Deps{1});
}

TEST(Dependencies, AWriteWaitsForReadersAndThroughThemForTheWriter) {
  EXPECT_EQ(found_for_last(
                "0: copy in[0] -> scratch[0] lane 0\n1: copy scratch[0] -> out[0] lane 1\n2: recv -> scratch[0] from 1 channel 0 lane 2\n"),
            Deps{1});
  EXPECT_EQ(found_for_last("0: copy in[0..1] -> scratch[0..1] lane 0\n1: copy scratch[0] -> out[0] lane 1\n"
                           "2: recv -> scratch[0..1] from 1 channel 0 lane 2\n"),
            (Deps{0, 1}));
}

TEST(Dependencies, InputAndOutputAreOnePlace) {
  EXPECT_EQ(found_for_last("0: send in[2] to 1 channel 0 lane 0\n1: recv -> out[2] from 1 channel 0 lane 1\n"), Deps{0});
  EXPECT_EQ(found_for_last("0: send in[1] to 1 channel 0 lane 0\n1: recv -> out[2] from 1 channel 0 lane 1\n"), Deps{});
}

TEST(Dependencies, OneReaderALaneIsEnough) {
  EXPECT_EQ(found_for_last(
                "0: send in[0] to 1 channel 0 lane 0\n1: send in[0] to 2 channel 0 lane 0\n2: recv -> out[0] from 1 channel 0 lane 1\n"),
            Deps{1});
  EXPECT_EQ(found_for_last("0: send in[0..1] to 1 channel 0 lane 0\n1: send in[0] to 2 channel 0 lane 0\n"
                           "2: recv -> out[0..1] from 1 channel 0 lane 1\n"),
            (Deps{0, 1}));
}

TEST(Dependencies, ACopyFromInputToItsOutputWaitsForNoReaderOfInput) {
  EXPECT_EQ(found_for_last("0: send in[0] to 1 channel 0 lane 0\n1: copy in[0] -> out[0] lane 1\n"), Deps{});
  EXPECT_EQ(found_for_last("0: copy in[0] -> out[0] lane 1\n1: send in[0] to 1 channel 0 lane 0\n"), Deps{});
  EXPECT_EQ(found_for_last("0: copy in[0] -> out[0] lane 1\n1: send out[0] to 1 channel 0 lane 0\n"), Deps{0});
}

TEST(Dependencies, AWriteAfterSuchACopyWaitsForItAndForReadersOfInput) {
  EXPECT_EQ(
      found_for_last("0: send in[0] to 1 channel 0 lane 0\n1: copy in[0] -> out[0] lane 1\n2: recv -> out[0] from 1 channel 0 lane 2\n"),
      (Deps{0, 1}));
  EXPECT_EQ(
      found_for_last("0: copy in[0] -> out[0] lane 1\n1: send in[0] to 1 channel 0 lane 0\n2: recv -> out[0] from 1 channel 0 lane 2\n"),
      (Deps{0, 1}));
}

TEST(Dependencies, AReductionReadsWhatItWrites) {
  EXPECT_EQ(found_for_last("0: recv -> scratch[0] from 1 channel 0 lane 0\n1: reduce in[0] -> scratch[0] lane 1\n"), Deps{0});
}

}  // namespace
}  // namespace toric::testing
