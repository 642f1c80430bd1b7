// What cannot be simulated is refused, and the text says what and where.
#include <gmock/gmock.h>

#include <cmath>

#include "simulate/machines.hpp"

namespace toric {
namespace {

using test::schedule_from;
using testing::HasSubstr;

const std::string header = "all_reduce ranks 2 chunks 2 scratch 2 fifo 0 channels 1 lanes 2\n";
const std::string send = "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n";
const std::string receive = "rank 1\n 0: recv -> scratch[0] from 0 channel 0 lane 0\n";

std::string refusal(const std::string& text, const Topology& topology, const SimulationOptions& options = {.bytes = 8}) {
  const Result<Simulation> result = test::try_simulate(schedule_from(text), topology, options);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  return std::string(result.status().text());
}

TEST(Refusal, AnUnknownBandwidthNamesTheLink) {
  Topology topology = test::switch_of(2, 1e9, 0);
  topology.links[3].bandwidth = 0;
  EXPECT_EQ(
      refusal(header + send + receive, topology),
      "the nvlink link 3 from \"switch\" (node 3) to \"gpu 1\" (node 2) carries messages but its bandwidth is unknown: say it, or give a "
      "default bandwidth");
}

TEST(Refusal, AnUnknownBandwidthWhereNothingGoesIsFine) {
  Topology topology = test::switch_of(2, 1e9, 0);
  topology.links[1].bandwidth = topology.links[2].bandwidth = 0;
  EXPECT_TRUE(test::try_simulate(schedule_from(header + send + receive), topology, {.bytes = 8}).ok());
}

TEST(Refusal, ALinkWithoutSenseNamesItself) {
  Topology topology = test::switch_of(2, 1e9, 0);
  topology.links[0].latency = -1;
  EXPECT_THAT(refusal(header + send + receive, topology), HasSubstr("link 0 from \"gpu 0\""));
}

TEST(Refusal, RanksWithNoWayBetweenThem) {
  EXPECT_EQ(refusal(header + send + receive, test::accelerators(2)), "the schedule sends from rank 0 to rank 1, but no links lead there");
}

TEST(Refusal, MoreRanksThanThereAre) {
  EXPECT_EQ(refusal(header + send + receive, test::accelerators(1)), "the schedule is for 2 ranks, but the topology places 1");
}

TEST(Refusal, ASendWithoutReceiveAndTheOtherWayRound) {
  const Topology topology = test::switch_of(2, 1e9, 0);
  EXPECT_EQ(refusal(header + send, topology),
            "step 0 of rank 0, a send to rank 1 on channel 0 has no receive to meet: 0 messages are received from rank 0 to rank 1 on "
            "channel 0");
  EXPECT_EQ(
      refusal(header + receive, topology),
      "step 0 of rank 1, a recv from rank 0 on channel 0 has no send to meet: 0 messages are sent from rank 0 to rank 1 on channel 0");
}

TEST(Refusal, EndsThatAreAboutDifferentChunks) {
  EXPECT_THAT(refusal(header + send + "rank 1\n 0: recv -> scratch[1] from 0 channel 0 lane 0\n", test::switch_of(2, 1e9, 0)),
              HasSubstr("meets step 0 of rank 0, a send to rank 1 on channel 0, which is about other chunks"));
}

TEST(Refusal, AScheduleThatIsNotWellFormed) {
  Schedule schedule = schedule_from(header + send + receive);
  schedule.programs[0].steps[0].peer = 9;
  const Result<Simulation> result = test::try_simulate(schedule, test::switch_of(2, 1e9, 0), {.bytes = 8});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(std::string(result.status().text()), HasSubstr("the schedule is not well formed"));
}

TEST(Refusal, OptionsThatAreNoNumbers) {
  const Topology topology = test::switch_of(2, 1e9, 0);
  const std::string text = header + send + receive;
  EXPECT_EQ(refusal(text, topology, {.bytes = 8, .step_overhead = -1}), "step_overhead is -1; expected a number from 0 up");
  EXPECT_THAT(refusal(text, topology, {.bytes = 8, .reduce_seconds_per_byte = std::nan("")}), HasSubstr("reduce_seconds_per_byte is nan"));
  EXPECT_THAT(refusal(text, topology, {.bytes = 8, .copy_seconds_per_byte = INFINITY}), HasSubstr("copy_seconds_per_byte is inf"));
  EXPECT_THAT(refusal(text, topology, {.bytes = 8, .default_bandwidth = -2}), HasSubstr("default_bandwidth is -2"));
  EXPECT_THAT(refusal(text, topology, {.bytes = 8, .element = 0}), HasSubstr("an element has 0 bytes"));
}

// Rank 0 receives only over what it still sends and rank 1 does the same: each waits for the other.
TEST(Refusal, AnExchangeInWhichBothOverwriteWhatTheySend) {
  EXPECT_THAT(refusal("all_reduce ranks 2 chunks 1 scratch 0 fifo 0 channels 1 lanes 2\n"
                      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: recv_reduce in[0] -> out[0] from 1 channel 0 lane 1 after 0\n"
                      "rank 1\n 0: send in[0] to 0 channel 0 lane 0\n 1: recv_reduce in[0] -> out[0] from 0 channel 0 lane 1 after 0\n",
                      test::switch_of(2, 1e9, 0)),
              HasSubstr("does not end: 4 of its 4 steps remain"));
}

}  // namespace
}  // namespace toric
