// How much of the bound of all ports the torus algorithm takes by simulation: 64 MiB, links of 50 GB/s.
#include <gtest/gtest.h>

#include <iostream>

#include "toric/algorithms/registry.hpp"
#include "toric/simulate/simulator.hpp"
#include "toric/topology/source.hpp"

namespace toric {
namespace {

constexpr std::uint64_t bytes = std::uint64_t{64} << 20;
constexpr double bandwidth = 50e9;

struct Case {
  std::string sides;
  double dimensions, ranks;
  std::uint32_t pieces;
  double at_least;  // of the bound
};

double simulated_fraction(const Case& it, const std::string& latency) {
  const Result<Topology> topology = topology_from_spec("torus:" + it.sides + ":50GB/s:" + latency);
  EXPECT_TRUE(topology.ok()) << topology.status().text();
  const Shape shape = shape_of(*topology);
  const Request request{
      .collective = Collective::all_reduce, .ranks = static_cast<Rank>(it.ranks), .bytes = bytes, .shape = &shape, .pieces = it.pieces};
  const Result<Schedule> schedule = build_schedule(*find_algorithm("torus"), request);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  const Routes routes(*topology, shape);
  const Result<Simulation> result = simulate(*schedule, *topology, routes, {.bytes = bytes, .messages_per_port = 1});
  EXPECT_TRUE(result.ok()) << result.status().text();
  // (m/D)(p-1)/p beta: N. Jain and Y. Sabharwal, ICS 2010.
  const double bound = static_cast<double>(bytes) / it.dimensions * (it.ranks - 1) / it.ranks / bandwidth;
  EXPECT_GE(result->busiest_bytes, bound * bandwidth * (1 - 1e-5)) << it.sides;  // no link can have less than its share
  return bound / result->seconds;
}

TEST(TorusFractions, WithoutLatency) {
  for (const Case& it : std::vector<Case>{{"4x4", 2, 16, 8, 0.99},
                                          {"8x8", 2, 64, 8, 0.99},
                                          {"4x4x4", 3, 64, 8, 0.99},
                                          {"8x8x8", 3, 512, 1, 0.99},
                                          {"4x2", 2, 8, 16, 0.95},
                                          {"4x8", 2, 32, 16, 0.95},
                                          {"4x4x8", 3, 128, 8, 0.93},
                                          {"128x8", 2, 1024, 4, 0.93}}) {
    const double fraction = simulated_fraction(it, "0s");
    std::cout << "torus:" << it.sides << " in " << it.pieces << " pieces: " << fraction << " of the bound, with 1us "
              << simulated_fraction(it, "1us") << '\n';
    EXPECT_GE(fraction, it.at_least) << it.sides;
    EXPECT_LE(fraction, 1 + 1e-5) << it.sides;
  }
}

}  // namespace
}  // namespace toric
