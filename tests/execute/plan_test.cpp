// What a plan knows beyond its schedule, worked out by hand for small rings and one-shots.
#include "fleet.hpp"

namespace toric::testing {
namespace {

std::vector<Plan> plans_of(std::string_view algorithm, Rank ranks, Fleet& fleet) {
  Request request;
  request.ranks = ranks;
  auto schedule = build_schedule(*find_algorithm(algorithm), request);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return fleet.bind(*schedule, {});
}

struct Marks {
  int fused = 0, dead = 0, final_writes = 0;
};

Marks marks_of(const Plan& plan) {
  Marks marks;
  for (const PlanStep& step : plan.steps) {
    marks.fused += step.fused_with != no_step;
    marks.dead += step.dead_if_fused;
    marks.final_writes += step.final_write;
  }
  return marks;
}

// Of a ring's 2(p-1) receives all but the last are sent on at once; the p-2 partial sums are overwritten later, so they
// need not be written; the other p chunks stay: p-1 that are sent on are read by that send, the last is read by nobody.
TEST(Plan, RingForwardsWhatItReceives) {
  Fleet fleet(4, "local");
  for (const Plan& plan : plans_of("ring", 4, fleet)) {
    const Marks marks = marks_of(plan);
    EXPECT_EQ(marks.fused, 5);
    EXPECT_EQ(marks.dead, 2);
    EXPECT_EQ(marks.final_writes, 1);
    EXPECT_EQ(plan.scratch_used, 0U);
  }
}

// Rank 0 receives straight into output; rank 1 by way of scratch, which the copy makes needless when it can run.
TEST(Plan, OneShotOfTwoSkipsScratchWhereItCan) {
  Fleet fleet(2, "local");
  const auto plans = plans_of("direct", 2, fleet);
  EXPECT_EQ(marks_of(plans[0]).fused, 0);
  EXPECT_EQ(plans[0].scratch_used, 0U);
  EXPECT_EQ(marks_of(plans[1]).fused, 1);
  EXPECT_EQ(marks_of(plans[1]).dead, 1);
  EXPECT_EQ(plans[1].scratch_used, 1U);
}

TEST(Plan, PortsAreCountedByDirection) {
  Fleet fleet(3, "local");
  for (const Plan& plan : plans_of("ring", 3, fleet)) EXPECT_EQ(plan.port_count, 2U);  // one neighbour each way
  for (const Plan& plan : plans_of("direct", 3, fleet)) EXPECT_EQ(plan.port_count, 4U);
}

TEST(Plan, RefusesWhatItCannotRun) {
  Fleet fleet(2, "local");
  Request request;
  request.ranks = 2;
  Schedule schedule = *build_schedule(*find_algorithm("ring"), request);
  EXPECT_EQ(bind_plan(schedule, 2, "ring", *fleet.transports[0], {}).status().code(), Code::invalid_argument);
  PlanOptions odd;
  odd.segment_bytes = 100;
  EXPECT_EQ(bind_plan(schedule, 0, "ring", *fleet.transports[0], odd).status().code(), Code::invalid_argument);
  odd.segment_bytes = 1 << 20;  // more than the transport carries
  EXPECT_EQ(bind_plan(schedule, 0, "ring", *fleet.transports[0], odd).status().code(), Code::invalid_argument);
  schedule.fifo = 1;
  const auto buffered = bind_plan(schedule, 0, "ring", *fleet.transports[0], {});
  EXPECT_NE(buffered.status().text().find("buffering"), std::string_view::npos);
}

TEST(Executor, RefusesASecondCallAndForgetsACancelledOne) {
  Fleet fleet(2, "local");
  const auto plans = plans_of("ring", 2, fleet);
  std::vector<std::int32_t> data(100, 1), result(100);
  const Call call{data.data(), result.data(), 100, DataType::int32, RedOp::sum, {}, MemoryKind::host, -1};
  Executor& executor = *fleet.executors[0];
  ASSERT_TRUE(executor.start(plans[0], call).ok());
  EXPECT_FALSE(executor.start(plans[0], call).ok());
  while (executor.poll() == Progress::moved) {
  }
  const auto waiting = executor.waiting();
  EXPECT_TRUE(waiting.any);
  EXPECT_EQ(waiting.peer, 1);
  executor.cancel();
  EXPECT_FALSE(executor.running());
  Call on_device = call;
  on_device.memory = MemoryKind::cuda;
  EXPECT_EQ(executor.start(plans[0], on_device).code(), Code::invalid_argument);
}

// In place, the result overwrites the input: a partner served from the received bytes waits for the send that reads it.
TEST(Executor, AResultInPlaceWaitsForTheSendOfTheInput) {
  for (const bool short_runs : {false, true}) {
    TransportConfig config;
    config.small_slots = 1;
    Fleet fleet(2, "local", config);
    const auto plans = plans_of("direct", 2, fleet);
    Transport& peer = *fleet.transports[0];
    Transport& mine = *fleet.transports[1];
    const auto send = [](Transport& transport, Port port, std::int32_t value) {
      std::memcpy(transport.reserve(port, sizeof value), &value, sizeof value);
      transport.commit(port, sizeof value, Store::cached, 0);
    };
    const auto receive = [&] {
      const Port port = *peer.in(1, plans[1].program().steps[0].channel);
      std::int32_t value = 0;
      std::memcpy(&value, peer.peek(port, sizeof value), sizeof value);
      peer.release(port, sizeof value);
      return value;
    };
    send(mine, plans[1].steps[0].port, 99);  // takes the only slot
    send(peer, plans[0].steps[0].port, 7);
    std::int32_t data = 5;
    Executor executor(mine, short_runs);
    ASSERT_TRUE(executor.start(plans[1], {&data, &data, 1, DataType::int32, RedOp::sum, {}, MemoryKind::host, -1}).ok());
    while (executor.poll() == Progress::moved) {
    }
    EXPECT_EQ(data, 5) << "short runs " << short_runs;
    EXPECT_EQ(receive(), 99);
    while (executor.poll() == Progress::moved) {
    }
    EXPECT_EQ(receive(), 5) << "short runs " << short_runs;
    EXPECT_EQ(data, 12);
    EXPECT_FALSE(executor.running());
  }
}

}  // namespace
}  // namespace toric::testing
