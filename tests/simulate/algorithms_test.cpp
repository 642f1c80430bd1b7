// Whole algorithms against the formulas of the literature: a is a message's latency, m the vector's bytes, b the seconds a byte
// takes on one link.
#include <array>

#include "simulate/machines.hpp"
#include "toric/algorithms/registry.hpp"

namespace toric {
namespace {

constexpr double latency = 1e-6, bandwidth = 10e9;
constexpr double a = latency, b = 1 / bandwidth;

Schedule built(const std::string& name, Rank ranks, Collective collective = Collective::all_reduce, const Shape* shape = nullptr,
               std::uint32_t pieces = 1) {
  const Algorithm* algorithm = find_algorithm(name);
  EXPECT_NE(algorithm, nullptr) << name;
  const Request request{
      .collective = collective, .ranks = ranks, .root = is_rooted(collective) ? 0 : -1, .bytes = 1 << 20, .shape = shape, .pieces = pieces};
  const Result<Schedule> schedule = build_schedule(*algorithm, request);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return schedule.ok() ? *schedule : Schedule{};
}

void expect_seconds(const Simulation& result, double expected) { EXPECT_NEAR(result.seconds, expected, expected * 1e-9); }

// 2(p-1) rounds, each with 1/p of the vector to the next on the ring.
TEST(Algorithms, RingOnARing) {
  for (const Rank p : {3, 4, 7, 16}) {
    const double m = 1000.0 * p * 4, blocks = m / p;
    const auto bytes = static_cast<std::uint64_t>(m);
    const Topology topology = test::ring_of(p, bandwidth, latency);
    expect_seconds(test::simulated(built("ring", p), topology, {.bytes = bytes}), 2 * (p - 1) * (a + blocks * b));
    expect_seconds(test::simulated(built("ring", p, Collective::all_gather), topology, {.bytes = bytes}), (p - 1) * (a + blocks * b));
    const double c = 3e-11;  // for each reduced byte: once for each block but one
    expect_seconds(test::simulated(built("ring", p), topology, {.bytes = bytes, .step_overhead = a, .reduce_seconds_per_byte = c}),
                   2 * (p - 1) * (2 * a + blocks * b) + (p - 1) * blocks * c);
  }
}

TEST(Algorithms, RingLoadsEachLinkWithWhatEachRankSends) {
  const Rank p = 5;
  const double m = 5000 * 4;
  const Simulation result = test::simulated(built("ring", p), test::ring_of(p, bandwidth, latency), {.bytes = 20000});
  for (std::size_t link = 0; link < 2 * p; ++link) EXPECT_EQ(result.link_bytes[link], link % 2 == 0 ? 2 * m * (p - 1) / p : 0) << link;
  EXPECT_EQ(result.busiest_link, 0U);
  EXPECT_NEAR(result.busiest_busy_fraction, 2 * m * (p - 1) / p * b / result.seconds, 1e-12);
}

// The same rounds with half of it each way, on links of their own.
TEST(Algorithms, BidirectionalRingOnARing) {
  for (const Rank p : {3, 4, 9}) {
    const double m = 2000.0 * p * 4;
    expect_seconds(
        test::simulated(built("bidirectional_ring", p), test::ring_of(p, bandwidth, latency), {.bytes = static_cast<std::uint64_t>(m)}),
        2 * (p - 1) * a + m * (p - 1) / p * b);
  }
}

// On a switch the hop is two links long and each rank has one port: p-1 rounds of one block each.
TEST(Algorithms, DirectAllGatherOnASwitch) {
  const Rank p = 6;
  const double m = 6000 * 4;
  expect_seconds(test::simulated(built("direct", p, Collective::all_gather), test::switch_of(p, bandwidth, latency), {.bytes = 24000}),
                 (p - 1) * (2 * a + m / p * b));
}

// Every rank sends and receives in rank order, one message at a time. Of 4 ranks, by who sends to whom in which round:
// 0: 01 10; 1: 02 20; 2: 03 30 12 21; 3: 13 31; 4: 23 32. Two ranks exchange in one round.
TEST(Algorithms, OneShotOnASwitchIsAWavefront) {
  const Topology topology = test::switch_of(4, bandwidth, latency);
  expect_seconds(test::simulated(built("direct", 2), topology, {.bytes = 4000}), 2 * a + 4000 * b);
  expect_seconds(test::simulated(built("direct", 4), topology, {.bytes = 4000}), 5 * (2 * a + 4000 * b));
}

// Partners 1, 2 and 4 apart on a ring of 8. 1 apart: a link each. 2 apart: 0 to 2 and 1 to 3 meet on the link from 1 to 2.
// 4 apart: four messages go up 4 links each, on 8 links: two a link; as many go down. The whole vector every time.
TEST(Algorithms, RecursiveDoublingOnARingIsCongested) {
  const double m = 80000;
  expect_seconds(test::simulated(built("recursive_doubling", 8), test::ring_of(8, bandwidth, latency), {.bytes = 80000}, torus_shape({8})),
                 (1 + 2 + 4) * a + (1 + 2 + 2) * m * b);
}

TEST(Algorithms, RecursiveDoublingOnASwitchIsNot) {
  for (const auto& [p, rounds] : std::vector<std::pair<Rank, int>>{{2, 1}, {4, 2}, {8, 3}, {16, 4}, {512, 9}})
    expect_seconds(test::simulated(built("recursive_doubling", p), test::switch_of(p, bandwidth, latency), {.bytes = 4000}),
                   rounds * (2 * a + 4000 * b));
}

// 2 log2(p) rounds; half, a quarter, ... of the vector and back: 2 (p-1)/p of it.
TEST(Algorithms, HalvingAndDoublingOnASwitch) {
  const Rank p = 8;
  const double m = 32000;
  expect_seconds(test::simulated(built("halving_doubling", p), test::switch_of(p, bandwidth, latency), {.bytes = 32000}),
                 2 * 3 * 2 * a + 2 * m * (p - 1) / p * b);
}

// From the root to 1, 2, 4, ... others: log2(p) rounds of the whole vector.
TEST(Algorithms, BinomialBroadcastOnASwitch) {
  expect_seconds(test::simulated(built("binomial_tree", 8, Collective::broadcast), test::switch_of(8, bandwidth, latency), {.bytes = 4000}),
                 3 * (2 * a + 4000 * b));
}

// All 2D ports at work on equal sides: 2 sum(d-1) rounds and (m/D)(p-1)/p on each link. Sides of 2 are doubled, and the parts that
// go up and down them take the two links.
TEST(Algorithms, TorusTakesTheBoundOfAllPorts) {
  for (const std::vector<Rank>& sides :
       std::vector<std::vector<Rank>>{{4, 4}, {2, 2}, {3, 3}, {5}, {3, 3, 3}, {2, 2, 2}, {4, 4, 4}, {8, 8, 8}}) {
    Rank p = 1;
    int rounds = 0;
    for (const Rank side : sides) {
      p *= side;
      rounds += 2 * (side - 1);
    }
    const auto dimensions = static_cast<double>(sides.size());
    const Shape shape = torus_shape(sides);
    const Schedule schedule = built("torus", p, Collective::all_reduce, &shape);
    const double m = schedule.chunks * 400.0;
    const Simulation result =
        test::simulated(schedule, test::torus_of(sides, bandwidth, latency), {.bytes = static_cast<std::uint64_t>(m)}, shape);
    expect_seconds(result, rounds * a + m / dimensions * (p - 1) / p * b);
    EXPECT_NEAR(result.busiest_bytes, m / dimensions * (p - 1) / p, 1e-6 * m);
  }
}

// 4 x 2. Parts A begin on the long side with 1/12 of the vector each, parts B on the short one with 5/12. In 96ths of the vector,
// reduce-scatter and then back: A: 3 rounds of 2 on long links, 1 of 1 on short ones; B: 1 of 20 on short links, 3 of 5 on long ones.
// All at once: A is at the short links at 6, shares them with B for 2 and 2 more, so that B is there until 22, on long links until
// 22 + 2*15 and done 20 later: 72. However many pieces: all of them go on alike.
// One at a time, the earlier stage first: B holds the short links until 20, A has them until 22. B's second and third stage take the
// long links from 20 to 50; A, whose fourth stage has been waiting since 22, until 56, while B's fourth takes short ones until 70.
// The bound of all ports, (m/2)(7/8), is 42. In pieces some message is always ready for each port, so that it is reached.
TEST(Algorithms, PiecesOverlapOnAnUnequalTorusWhereMessagesLeaveInOrder) {
  const Shape shape = torus_shape({4, 2});
  const Topology topology = test::torus_of({4, 2}, bandwidth, 0);
  const auto seconds = [&](std::uint32_t pieces, std::uint32_t at_a_time) {  // in 96ths of a vector's time on a link
    const Schedule schedule = built("torus", 8, Collective::all_reduce, &shape, pieces);
    const double m = schedule.chunks * 400.0;
    const SimulationOptions options{.bytes = static_cast<std::uint64_t>(m), .messages_per_port = at_a_time};
    return test::simulated(schedule, topology, options, shape).seconds / (m * b) * 96;
  };
  EXPECT_NEAR(seconds(1, 0), 72, 1e-6);
  EXPECT_NEAR(seconds(16, 0), 72, 1e-6);
  EXPECT_NEAR(seconds(1, 1), 70, 1e-6);
  EXPECT_NEAR(seconds(16, 1), 42, 1e-6);
  EXPECT_NEAR(seconds(32, 1), 42, 1e-6);
}

// Halving begins with the farthest: partners 4, 2 and 1 apart on a ring of 8 exchange 1/2, 1/4 and 1/8 of the vector over links
// that 2, 2 and 1 messages share; and back.
TEST(Algorithms, HalvingAndDoublingOnARingIsCongested) {
  const double m = 80000;
  expect_seconds(test::simulated(built("halving_doubling", 8), test::ring_of(8, bandwidth, latency), {.bytes = 80000}, torus_shape({8})),
                 2 * ((4 + 2 + 1) * a + (2 * m / 2 + 2 * m / 4 + m / 8) * b));
}

// Swing's packet simulation (De Sensi et al., NSDI 2024): 32 bytes on tori with links of 400 Gb/s, 100 ns and 300 ns more at each hop.
// The time a step takes besides, 0.515 us, is what fits their figures. Expected: the published microseconds, to 7 %.
TEST(Algorithms, SmallVectorsTakeThePublishedTimesOnTori) {
  struct Published {
    std::string algorithm;
    std::vector<Rank> sides;
    double microseconds;
  };
  for (const Published& it : std::vector<Published>{{"recursive_doubling", {8, 8}, 8.7},
                                                    {"recursive_doubling", {8, 8, 8}, 13},
                                                    {"recursive_doubling", {8, 8, 8, 8}, 17},
                                                    {"recursive_doubling", {64, 64}, 57},
                                                    {"recursive_doubling", {128, 8}, 59},
                                                    {"torus", {8, 8}, 25},
                                                    {"torus", {8, 8, 8}, 38}}) {
    Rank ranks = 1;
    for (const Rank side : it.sides) ranks *= side;
    const Shape shape = torus_shape(it.sides);
    const Simulation result = test::simulated(built(it.algorithm, ranks, Collective::all_reduce, &shape),
                                              test::torus_of(it.sides, 50e9, 400e-9), {.bytes = 32, .step_overhead = 515e-9}, shape);
    EXPECT_NEAR(result.seconds * 1e6, it.microseconds, it.microseconds * 0.07) << it.algorithm << " on " << ranks;
  }
}

// Nothing repeats itself differently: same bits of every figure.
TEST(Algorithms, TheSameGivesTheSame) {
  const Topology topology = test::torus_of({4, 3}, bandwidth, latency);
  const Schedule schedule = built("halving_doubling", 12);
  const SimulationOptions options{.bytes = 123456, .reduce_seconds_per_byte = 1e-11, .timeline = true};
  const Simulation one = test::simulated(schedule, topology, options, torus_shape({4, 3}));
  const Simulation other = test::simulated(schedule, topology, options, torus_shape({4, 3}));
  EXPECT_EQ(one.seconds, other.seconds);
  EXPECT_EQ(one.timeline, other.timeline);
  EXPECT_EQ(one.events, other.events);
}

// Every step of a schedule is in the timeline once, ends not before it begins, and not before what it waits for.
TEST(Algorithms, TimelinesKeepTheOrderOfTheSchedule) {
  const Topology topology = test::ring_of(12, bandwidth, latency);
  int seen = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const Collective collective : algorithm.collectives) {
      if (algorithm.follows_shape) continue;
      for (const std::uint32_t pieces : {1U, 2U}) {
        const Schedule schedule = built(std::string(algorithm.name), 12, collective, nullptr, pieces);
        const Simulation result = test::simulated(schedule, topology, {.bytes = 480000, .copy_seconds_per_byte = 1e-12, .timeline = true});
        std::vector<std::vector<Transfer>> done(12);
        for (Rank rank = 0; rank < 12; ++rank)
          done[static_cast<std::size_t>(rank)].resize(schedule.programs[static_cast<std::size_t>(rank)].steps.size());
        for (const Transfer& one : result.timeline) {
          Transfer& place = done[static_cast<std::size_t>(one.rank)][one.step];
          EXPECT_EQ(place, Transfer{}) << "twice";
          EXPECT_LE(one.begin, one.end);
          place = one;
          ++seen;
        }
        std::size_t steps = 0;
        for (const Program& program : schedule.programs) steps += program.steps.size();
        EXPECT_EQ(result.timeline.size(), steps);
        for (std::size_t rank = 0; rank < done.size(); ++rank) {
          const Program& program = schedule.programs[rank];
          std::vector<double> lane_end(256, 0);
          for (std::size_t i = 0; i < program.steps.size(); ++i) {
            const Step& step = program.steps[i];
            EXPECT_GE(done[rank][i].begin, lane_end[step.lane]);
            lane_end[step.lane] = done[rank][i].end;
            for (const Dep dep : program.deps_of(step)) EXPECT_GE(done[rank][i].end, done[rank][dep.step].end);
          }
        }
      }
    }
  EXPECT_GT(seen, 5000);
}

}  // namespace
}  // namespace toric
