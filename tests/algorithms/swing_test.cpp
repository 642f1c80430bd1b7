// Swing against its paper: partners, rounds, blocks sent, link loads.
#include <cmath>
#include <set>

#include "every.hpp"
#include "toric/algorithms/swing_steps.hpp"
#include "toric/check/verifier.hpp"
#include "toric/topology/grid_shape.hpp"
#include "torus_links.hpp"

namespace toric {
namespace {

const Algorithm& swing() { return *find_algorithm("swing"); }

Request on(const Shape& shape, Collective collective) {
  Request request = test::request_for(collective, static_cast<Rank>(shape.coordinates.size()));
  request.shape = &shape;
  return request;
}

// Rank 0 of 64 meets those 1, -1, 3, -5, 11, -21 places on; odd ranks go the other way; mirrored instances too.
TEST(Swing, PartnersOfThePaper) {
  const Shape shape = torus_shape({64});
  const SwingSteps plain(shape, 0, false), mirrored(shape, 0, true);
  const std::vector<Rank> distances = {1, -1, 3, -5, 11, -21};
  ASSERT_EQ(plain.count(), distances.size());
  for (std::size_t step = 0; step < distances.size(); ++step)
    for (Rank rank = 0; rank < 64; ++rank) {
      const Rank signed_distance = rank % 2 == 0 ? distances[step] : -distances[step];
      EXPECT_EQ(plain.partner(rank, step), (rank + signed_distance + 64) % 64);
      EXPECT_EQ(mirrored.partner(rank, step), (rank - signed_distance + 64) % 64);
      EXPECT_EQ(plain.partner(plain.partner(rank, step), step), rank);
    }
}

// Every even count up to 128 works, powers of two or not: p-1 blocks sent by each rank.
TEST(Swing, EvenCountsSendEachBlockOnce) {
  for (Rank ranks = 2; ranks <= 128; ranks += 2) {
    const Shape shape = torus_shape({ranks});
    const SwingSteps steps(shape, 0, false);
    EXPECT_EQ(steps.count(), static_cast<std::size_t>(std::ceil(std::log2(ranks) - 1e-9)));
    for (Rank rank = 0; rank < ranks; ++rank) {
      std::set<std::uint32_t> places;
      std::size_t sent = 0;
      for (std::size_t step = 0; step < steps.count(); ++step) {
        const auto handed = steps.handed_over(rank, step);
        sent += handed.size();
        places.insert(handed.begin(), handed.end());
      }
      EXPECT_EQ(sent, static_cast<std::size_t>(ranks - 1));
      EXPECT_EQ(places.size(), sent);
      EXPECT_FALSE(places.contains(steps.place(rank)));
    }
  }
}

TEST(Swing, EvenCountsAreProven) {
  for (Rank ranks = 2; ranks <= 128; ranks += ranks < 40 ? 2 : 22)
    for (const Collective collective : swing().collectives) {
      const Shape shape = torus_shape({ranks});
      const auto schedule = build_schedule(swing(), on(shape, collective));
      ASSERT_TRUE(schedule.ok()) << schedule.status().text();
      const Verdict verdict = verify_all(*schedule);
      EXPECT_TRUE(verdict.ok()) << ranks << " " << name_of(collective) << ": " << verdict.text;
    }
}

// Sides that are powers of two: what is handed over at a time is one run of half of what is left.
TEST(Swing, PowersOfTwoHandOverRuns) {
  for (const auto& sides : std::vector<std::vector<Rank>>{{16}, {8, 8}, {4, 4, 4}, {16, 4}}) {
    const Shape shape = torus_shape(sides);
    for (const bool mirrored : {false, true}) {
      const SwingSteps steps(shape, 0, mirrored);
      for (Rank rank = 0; rank < steps.ranks(); ++rank) {
        std::size_t left = static_cast<std::size_t>(steps.ranks());
        for (std::size_t step = 0; step < steps.count(); ++step) {
          const auto handed = steps.handed_over(rank, step);
          left /= 2;
          ASSERT_EQ(handed.size(), left);
          EXPECT_EQ(handed.back() - handed.front() + 1, left);
        }
      }
    }
  }
}

/// Bytes on the busiest link over the bound of all ports, (p-1)/(pD) for an all-reduce.
double congestion(const std::vector<Rank>& sides) {
  const Shape shape = torus_shape(sides);
  const auto schedule = build_schedule(swing(), on(shape, Collective::all_reduce));
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  const double ranks = static_cast<double>(shape.coordinates.size());
  const double counted = test::count_links(*schedule, shape).busiest;
  EXPECT_NEAR(swing().cost(on(shape, Collective::all_reduce)).bytes, counted, 1e-9);
  return counted / ((ranks - 1) / ranks / static_cast<double>(sides.size()));
}

// Step j of a dimension moves 2^-Dj of the first one's bytes (2^(j+1) + (-1)^j)/3 hops far.
double congestion_of_steps(int dimensions, int steps) {
  double moved = 0, over_links = 0;
  for (int j = 0; j < steps; ++j) {
    const double bytes = std::pow(2.0, -dimensions * j);
    moved += bytes;
    over_links += bytes * (std::pow(2.0, j + 1) + (j % 2 == 0 ? 1 : -1)) / 3;
  }
  return over_links / moved;
}

// The paper's congestion for many ranks, 6/5 on two dimensions, 28/27 on three, 120/119 on four, is where this tends.
TEST(Swing, LinkLoadsOfThePaper) {
  EXPECT_NEAR(congestion_of_steps(2, 30), 6.0 / 5, 1e-6);
  EXPECT_NEAR(congestion_of_steps(3, 30), 28.0 / 27, 1e-6);
  EXPECT_NEAR(congestion_of_steps(4, 30), 120.0 / 119, 1e-6);
  EXPECT_NEAR(congestion({32, 32}), congestion_of_steps(2, 5), 1e-9);
  EXPECT_NEAR(congestion({8, 8}), congestion_of_steps(2, 3), 1e-9);
  EXPECT_NEAR(congestion({8, 8, 8}), congestion_of_steps(3, 3), 1e-9);
  EXPECT_NEAR(congestion({4, 4, 4, 4}), congestion_of_steps(4, 2), 1e-9);
}

TEST(Swing, RoundsOfThePaper) {
  for (const auto& [sides, steps] :
       std::vector<std::pair<std::vector<Rank>, unsigned>>{{{8}, 3}, {{8, 8}, 6}, {{4, 4, 4}, 6}, {{16, 2}, 5}}) {
    const Shape shape = torus_shape(sides);
    EXPECT_EQ(count_wire(*build_schedule(swing(), on(shape, Collective::all_reduce)))->rounds, 2 * steps);
    EXPECT_EQ(count_wire(*build_schedule(swing(), on(shape, Collective::all_gather)))->rounds, steps);
    EXPECT_EQ(swing().cost(on(shape, Collective::all_reduce)).rounds, 2 * steps);
  }
  const Shape six = torus_shape({6}), twelve_by_two = torus_shape({12, 2});
  EXPECT_EQ(swing().cost(on(six, Collective::all_gather)).rounds, 3);
  EXPECT_EQ(swing().cost(on(twelve_by_two, Collective::all_gather)).rounds, 5);
}

TEST(Swing, OddSidesDoNotFit) {
  const Shape odd = torus_shape({5}), mixed = torus_shape({4, 3});
  EXPECT_FALSE(swing().fits(on(odd, Collective::all_reduce)));
  EXPECT_FALSE(swing().fits(on(mixed, Collective::all_reduce)));
}

}  // namespace
}  // namespace toric
