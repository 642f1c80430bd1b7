// The model, on schedules of a few steps: every time is worked out by hand.
#include "simulate/machines.hpp"

namespace toric {
namespace {

using test::schedule_from;
using test::simulated;
using test::transfer_of;

constexpr double micro = 1e-6;

const char* const one_message =
    "broadcast ranks 2 root 0 chunks 1 scratch 0 fifo 0 channels 1 lanes 1\n"
    "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n"
    "rank 1\n 0: recv -> out[0] from 0 channel 0 lane 0\n";

// 1 us to the switch at 10 GB/s, 2 us from it at 5: 1 MB takes 3 us + 200 us.
TEST(Model, AMessagePaysTheLatenciesThenGoesAtTheNarrowestLink) {
  Topology topology = test::switch_of(2, 10e9, 1 * micro);
  topology.links[3].bandwidth = 5e9;
  topology.links[3].latency = 2 * micro;
  const Simulation result = simulated(schedule_from(one_message), topology, {.bytes = 1'000'000, .timeline = true});
  EXPECT_NEAR(result.seconds, 203 * micro, 1e-15);
  EXPECT_EQ(result.link_bytes, (std::vector<double>{1e6, 0, 0, 1e6}));
  EXPECT_EQ(result.busiest_link, 3U);
  EXPECT_EQ(result.busiest_bytes, 1e6);
  EXPECT_NEAR(result.busiest_busy_fraction, 200.0 / 203, 1e-12);
  ASSERT_EQ(result.timeline.size(), 2U);
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(transfer_of(result, rank, 0).begin, 0);
    EXPECT_EQ(transfer_of(result, rank, 0).end, result.seconds);
  }
  EXPECT_EQ(result.events, 2U);  // the latency is over, the data is there
}

TEST(Model, WithoutBytesThereIsTheLatencyAndTheOverhead) {
  const Topology topology = test::switch_of(2, 10e9, 1 * micro);
  const Simulation result = simulated(schedule_from(one_message), topology, {.bytes = 0, .step_overhead = 5 * micro});
  EXPECT_NEAR(result.seconds, 7 * micro, 1e-15);
  EXPECT_EQ(result.busiest_link, no_link);
  EXPECT_EQ(result.busiest_busy_fraction, 0);
  EXPECT_TRUE(result.timeline.empty());
}

TEST(Model, RanksOnOneNodeNeedNoLinks) {
  Topology topology = test::accelerators(1);
  topology.ranks.push_back(topology.ranks.front());
  const Simulation result = simulated(schedule_from(one_message), topology, {.bytes = 1000, .step_overhead = 5 * micro});
  EXPECT_NEAR(result.seconds, 5 * micro, 1e-15);
}

TEST(Model, AnUnknownBandwidthIsTheDefaultOne) {
  Topology topology = test::switch_of(2, 10e9, 0);
  topology.links[3].bandwidth = 0;
  const Simulation result = simulated(schedule_from(one_message), topology, {.bytes = 1'000'000, .default_bandwidth = 1e9});
  EXPECT_NEAR(result.seconds, 1e-3, 1e-12);
}

// Ranks 0 and 1 send 3 MB and 1 MB to rank 2. The link to it gives 5 GB/s to each for 200 us; then 1 MB of 3 has arrived and the
// rest has 10 GB/s for 200 us.
TEST(Model, TwoMessagesShareALinkUntilOneEnds) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 3 chunks 4 scratch 8 fifo 0 channels 1 lanes 2\n"
      "rank 0\n 0: send in[0..2] to 2 channel 0 lane 0\n"
      "rank 1\n 0: send in[3] to 2 channel 0 lane 0\n"
      "rank 2\n 0: recv -> scratch[0..2] from 0 channel 0 lane 0\n 1: recv -> scratch[7] from 1 channel 0 lane 1\n");
  const Simulation result = simulated(schedule, test::switch_of(3, 10e9, 0), {.bytes = 4'000'000, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 400 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 400 * micro, 1e-15);
  EXPECT_EQ(result.busiest_link, 5U);
  EXPECT_NEAR(result.busiest_busy_fraction, 1, 1e-12);
}

// A message of 2 MB is under way when one of 1 MB joins it after 100 us: 1 MB is left of the first, so both end together 200 us
// later. The second waits for a copy of its 1 MB that takes 100 us.
TEST(Model, AMessageThatJoinsLaterSlowsTheOther) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 3 chunks 3 scratch 6 fifo 0 channels 1 lanes 2\n"
      "rank 0\n 0: send in[0..1] to 2 channel 0 lane 0\n"
      "rank 1\n 0: copy in[2] -> out[2] lane 0\n 1: send out[2] to 2 channel 0 lane 1 after 0\n"
      "rank 2\n 0: recv -> scratch[0..1] from 0 channel 0 lane 0\n 1: recv -> scratch[5] from 1 channel 0 lane 1\n");
  const Simulation result =
      simulated(schedule, test::switch_of(3, 10e9, 0), {.bytes = 3'000'000, .copy_seconds_per_byte = 1e-10, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 1).begin, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 300 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 1).end, 300 * micro, 1e-15);
}

// A chain: rank 0 sends to 1 (1 us + 100 us), where it is reduced (50 us) and sent on (101 us) and copied in place (20 us).
TEST(Model, AStepWaitsForThoseItNames) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 3 chunks 1 scratch 1 fifo 0 channels 1 lanes 3\n"
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n"
      "rank 1\n 0: recv_reduce in[0] -> scratch[0] from 0 channel 0 lane 1\n 1: copy scratch[0] -> out[0] lane 2 after 0\n"
      " 2: send scratch[0] to 2 channel 0 lane 0 after 0\n"
      "rank 2\n 0: recv -> out[0] from 1 channel 0 lane 1\n");
  const SimulationOptions options{.bytes = 1'000'000, .reduce_seconds_per_byte = 5e-11, .copy_seconds_per_byte = 2e-11, .timeline = true};
  const Simulation result = simulated(schedule, test::ring_of(3, 10e9, 1 * micro), options);
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 151 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 151 * micro, 1e-15);  // nothing is buffered: the send ends with its receive
  EXPECT_NEAR(transfer_of(result, 1, 1).end, 171 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 2).begin, 151 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 252 * micro, 1e-15);
}

// Rank 0 sends 3 chunks on channel 0, then 1 on channel 1; rank 1 has the second receive first in program order. Had the messages
// met in program order whatever the channel, chunks would not match. One lane each: one after the other.
TEST(Model, MessagesMeetByChannelInOrder) {
  const std::string senders =
      "all_reduce ranks 2 chunks 4 scratch 8 fifo 0 channels 2 lanes 2\n"
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: send in[1] to 1 channel 1 lane 1\n 2: send in[2..3] to 1 channel 0 lane 0\n";
  const Schedule schedule =
      schedule_from(senders +
                    "rank 1\n 0: recv -> scratch[1] from 0 channel 1 lane 1\n"
                    " 1: recv -> scratch[0] from 0 channel 0 lane 0\n 2: recv -> scratch[2..3] from 0 channel 0 lane 0\n");
  const Simulation result = simulated(schedule, test::ring_of(3, 10e9, 0), {.bytes = 4'000'000, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 1).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 2).begin, 200 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 400 * micro, 1e-15);
}

// Rank 1 wants the second message first. With no buffering nothing ever moves; with room for one the first waits in the
// buffer and is received when the second has been.
std::string crossed(const std::string& fifo) {
  return "all_reduce ranks 2 chunks 2 scratch 2 fifo " + fifo +
         " channels 2 lanes 1\n"
         "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: send in[1] to 1 channel 1 lane 0\n"
         "rank 1\n 0: recv -> scratch[1] from 0 channel 1 lane 0\n 1: recv -> scratch[0] from 0 channel 0 lane 0\n";
}

TEST(Model, WithRoomASendDoesNotWaitForItsReceive) {
  const Simulation result = simulated(schedule_from(crossed("1")), test::ring_of(3, 10e9, 0), {.bytes = 2'000'000, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 1).begin, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 1).begin, 200 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 200 * micro, 1e-15);
}

TEST(Model, WithoutRoomCrossedMessagesWaitForEver) {
  const auto result = test::try_simulate(schedule_from(crossed("0")), test::ring_of(3, 10e9, 0), {.bytes = 8});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
  EXPECT_EQ(result.status().text(),
            "the schedule does not end: 4 of its 4 steps remain, step 0 of rank 0, a send to rank 1 on channel 0 among them, which waits "
            "for ever");
}

// Room for one message: the third send waits until the receiver, busy copying for 1000 us, has taken the first out.
TEST(Model, RoomIsForAsManyMessagesAsTheScheduleSays) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 2 chunks 2 scratch 2 fifo 1 channels 1 lanes 1\n"
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: send in[1] to 1 channel 0 lane 0\n"
      "rank 1\n 0: copy in[0..1] -> out[0..1] lane 0\n 1: recv -> scratch[0] from 0 channel 0 lane 0\n"
      " 2: recv -> scratch[1] from 0 channel 0 lane 0\n");
  const Simulation result =
      simulated(schedule, test::ring_of(3, 10e9, 0), {.bytes = 2'000'000, .copy_seconds_per_byte = 5e-10, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 0, 0).end, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 1).end, 1000 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 1).begin, 1000 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 1100 * micro, 1e-15);
}

// The first message is received at once and makes room for the second, which travels while the receiver copies for 1000 us.
TEST(Model, AReceiveMakesRoomForTheNextMessage) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 2 chunks 2 scratch 2 fifo 1 channels 1 lanes 1\n"
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: send in[1] to 1 channel 0 lane 0\n"
      "rank 1\n 0: recv -> scratch[0] from 0 channel 0 lane 0\n 1: copy in[0..1] -> out[0..1] lane 0\n"
      " 2: recv -> scratch[1] from 0 channel 0 lane 0\n");
  const Simulation result =
      simulated(schedule, test::ring_of(3, 10e9, 0), {.bytes = 2'000'000, .copy_seconds_per_byte = 5e-10, .timeline = true});
  EXPECT_NEAR(transfer_of(result, 1, 0).end, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 0, 1).end, 200 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(result, 1, 2).begin, 1100 * micro, 1e-15);
  EXPECT_NEAR(result.seconds, 1100 * micro, 1e-15);
}

// A receive that overwrites what a send reads goes on beside it, but ends no sooner: rank 0 sends 1 MB to rank 1 at 10 GB/s
// while 1 MB comes from rank 2 over a link of 20 GB/s.
TEST(Model, AReceiveOverASendsSourceGoesOnBesideIt) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 3 chunks 1 scratch 1 fifo 0 channels 1 lanes 2\n"
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n 1: recv -> out[0] from 2 channel 0 lane 1 after 0\n"
      "rank 1\n 0: recv -> scratch[0] from 0 channel 0 lane 1\n"
      "rank 2\n 0: send in[0] to 0 channel 0 lane 0\n");
  Topology topology = test::ring_of(3, 10e9, 0);
  for (const std::size_t link : {4U, 5U}) topology.links[link].bandwidth = 20e9;
  const Simulation beside = simulated(schedule, topology, {.bytes = 1'000'000, .timeline = true});
  EXPECT_EQ(transfer_of(beside, 0, 1).begin, 0);
  EXPECT_NEAR(transfer_of(beside, 0, 1).end, 100 * micro, 1e-15);
  EXPECT_NEAR(transfer_of(beside, 2, 0).end, 100 * micro, 1e-15);
  EXPECT_NEAR(beside.seconds, 100 * micro, 1e-15);
}

// Four ranks on each of two leaves, four spines. Each rank of one leaf sends to one of the other, all over a spine of its own: four
// links of 1 us, then 1 MB at the full 10 GB/s.
TEST(Model, RanksOfALeafUseAllSpines) {
  Topology topology = test::accelerators(8);
  std::vector<NodeId> leaves, spines;
  for (int leaf = 0; leaf < 2; ++leaf) leaves.push_back(test::add_node(topology, NodeKind::network_switch, "leaf"));
  for (int spine = 0; spine < 4; ++spine) spines.push_back(test::add_node(topology, NodeKind::network_switch, "spine"));
  for (std::size_t rank = 0; rank < 8; ++rank) topology.join(topology.ranks[rank], leaves[rank / 4], LinkKind::network, 10e9, 1 * micro);
  for (const NodeId leaf : leaves)
    for (const NodeId spine : spines) topology.join(leaf, spine, LinkKind::network, 10e9, 1 * micro);
  std::string text = "all_reduce ranks 8 chunks 1 scratch 1 fifo 0 channels 1 lanes 1\n";
  for (int rank = 0; rank < 8; ++rank)
    text += "rank " + std::to_string(rank) +
            (rank < 4 ? "\n 0: send in[0] to " + std::to_string(rank + 4) : "\n 0: recv -> scratch[0] from " + std::to_string(rank - 4)) +
            " channel 0 lane 0\n";
  EXPECT_NEAR(simulated(schedule_from(text), topology, {.bytes = 1'000'000}).seconds, 104 * micro, 1e-15);
}

// Three messages of 1 MB from one rank, ready together in lanes of their own: one by one in the order of the steps, or two at a
// time at half the speed, or all at once.
TEST(Model, MessagesLeaveInTheOrderOfStepsWhereOnlySoManyMayLeave) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 2 chunks 3 scratch 3 fifo 0 channels 3 lanes 3\n"
      "rank 0\n 0: send in[0] to 1 channel 2 lane 0\n 1: send in[1] to 1 channel 1 lane 1\n 2: send in[2] to 1 channel 0 lane 2\n"
      "rank 1\n 0: recv -> scratch[2] from 0 channel 0 lane 0\n 1: recv -> scratch[1] from 0 channel 1 lane 1\n"
      " 2: recv -> scratch[0] from 0 channel 2 lane 2\n");
  const std::vector<std::vector<double>> ends = {{300, 300, 300}, {100, 200, 300}, {200, 200, 300}, {300, 300, 300}};
  for (std::uint32_t at_a_time = 0; at_a_time < ends.size(); ++at_a_time) {
    const Simulation result =
        simulated(schedule, test::ring_of(3, 10e9, 1 * micro), {.bytes = 3'000'000, .messages_per_port = at_a_time, .timeline = true});
    for (std::uint32_t step = 0; step < 3; ++step)
      EXPECT_NEAR(transfer_of(result, 0, step).end, (1 + ends[at_a_time][step]) * micro, 1e-15) << at_a_time << " at a time, step " << step;
  }
}

// 10 elements in 4 chunks: 2, 3, 2 and 3 of them; chunk 1 of 4-byte elements has 12 bytes.
TEST(Model, ChunksHaveTheLengthsOfTheApi) {
  const Schedule schedule = schedule_from(
      "all_reduce ranks 2 chunks 4 scratch 4 fifo 0 channels 1 lanes 1\n"
      "rank 0\n 0: send in[1] to 1 channel 0 lane 0\n"
      "rank 1\n 0: recv -> scratch[1] from 0 channel 0 lane 0\n");
  EXPECT_EQ(simulated(schedule, test::ring_of(3, 1e9, 0), {.bytes = 40}).busiest_bytes, 12);
  EXPECT_EQ(simulated(schedule, test::ring_of(3, 1e9, 0), {.bytes = 43}).busiest_bytes, 12);
  EXPECT_EQ(simulated(schedule, test::ring_of(3, 1e9, 0), {.bytes = 40, .element = 2}).busiest_bytes, 10);  // of 20: 5
}

// All-gather of 2 blocks: 40 bytes are 5 elements a block. With the places swapped chunk 0 is the API's chunk 1, 3 elements long.
TEST(Model, BlocksAndPlacesCount) {
  const std::string text =
      "rank 0\n 0: send in[0] to 1 channel 0 lane 0\n"
      "rank 1\n 0: recv -> scratch[0] from 0 channel 0 lane 0\n";
  const std::string header = "all_gather ranks 2 chunks 4 scratch 4 fifo 0 channels 1 lanes 1\n";
  EXPECT_EQ(simulated(schedule_from(header + text), test::ring_of(3, 1e9, 0), {.bytes = 40}).busiest_bytes, 8);
  EXPECT_EQ(simulated(schedule_from(header + "place 1 0 2 3\n" + text), test::ring_of(3, 1e9, 0), {.bytes = 40}).busiest_bytes, 12);
}

}  // namespace
}  // namespace toric
