// What an algorithm says it costs, what its schedule is counted to cost, and what the literature says: three values that
// must agree. The formulas are typed here from the literature and share nothing with the algorithms' own cost().
#include <bit>
#include <cmath>
#include <functional>

#include "every.hpp"
#include "toric/check/verifier.hpp"

namespace toric {
namespace {

double lg_floor(int p) { return std::floor(std::log2(p) + 1e-9); }
double lg_ceil(int p) { return std::ceil(std::log2(p) - 1e-9); }
bool power_of_two(int p) { return std::has_single_bit(static_cast<unsigned>(p)); }
int power_below(int p) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(p))); }

struct Expected {
  const char* name;
  Collective collective;
  std::function<double(int)> rounds;  // p ranks, one port
  std::function<double(int)> bytes;   // by the busiest rank, in the busier direction, in vectors
  std::function<double(int)> chain;   // longest chain of messages, where that is shorter than the rounds of one port
};

double share(int p) { return static_cast<double>(p - 1) / p; }
double hops(int p) { return p - 1; }
double one_round(int p) { return p > 1 ? 1 : 0; }
double whole_vector(int p) { return p > 1 ? 1 : 0; }

// Folding: two more rounds and, for all-reduce, one more vector.
double folded(int p, double unfolded, double more) { return power_of_two(p) ? unfolded : unfolded + more; }

// A chain of messages through one folded doubling or halving. Every message goes to the other end of the exchange, so what
// participant i had before the first round has gone through all rounds when it reaches the participant that differs in every
// bit, p'-1-i. A chain has both extra messages only if both of these stand for two ranks, which takes more than half of them.
double folded_chain(int p) { return folded(p, lg_floor(p), p - power_below(p) > power_below(p) / 2 ? 2 : 1); }

// Participant 0 of a folded doubling stands for ranks 0 and 1, and its group of 2^k participants for twice as many ranks as
// long as there are pairs left: blocks it passes on (doubling) or takes in (halving) over all rounds.
double folded_group_blocks(int p) {
  const int power = power_below(p), pairs = p - power;
  double blocks = 0;
  for (int round = 0; (1 << round) < power; ++round) blocks += (1 << round) + std::min(1 << round, pairs);
  return blocks;
}

std::vector<Expected> literature() {
  using C = Collective;
  const auto twice_share = [](int p) { return 2 * share(p); };
  const auto twice_hops = [](int p) { return 2.0 * (p - 1); };
  const auto folded_rounds = [](int p) { return folded(p, lg_floor(p), 2); };
  const auto twice_folded_rounds = [](int p) { return folded(p, 2 * lg_floor(p), 2); };
  const auto doubled_vectors = [](int p) { return folded(p, lg_floor(p), 1); };
  const auto halved_and_doubled = [](int p) { return folded(p, 2 * share(power_below(p)), 1); };
  const auto gathered = [](int p) { return power_of_two(p) ? share(p) : (folded_group_blocks(p) + p - 1) / p; };
  const auto scattered = [](int p) { return power_of_two(p) ? share(p) : (folded_group_blocks(p) + p) / p; };
  return {
      {"ring", C::all_reduce, twice_hops, twice_share, {}},
      {"ring", C::all_gather, hops, share, {}},
      {"ring", C::reduce_scatter, hops, share, {}},
      {"ring", C::broadcast, hops, whole_vector, {}},
      {"bidirectional_ring", C::all_reduce, twice_hops, twice_share, {}},
      {"bidirectional_ring", C::all_gather, hops, share, {}},
      {"bidirectional_ring", C::reduce_scatter, hops, share, {}},
      {"bidirectional_ring", C::broadcast, hops, whole_vector, {}},
      {"direct", C::all_reduce, one_round, hops, {}},
      {"direct", C::all_gather, one_round, share, {}},
      {"direct", C::reduce_scatter, one_round, share, {}},
      {"direct", C::broadcast, one_round, hops, {}},
      {"two_shot", C::all_reduce, [](int p) { return p > 1 ? 2.0 : 0.0; }, twice_share, {}},
      {"binomial_tree", C::all_reduce, [](int p) { return 2 * lg_ceil(p); }, lg_ceil, [](int p) { return 2 * lg_floor(p); }},
      {"binomial_tree", C::broadcast, lg_ceil, lg_ceil, lg_floor},
      {"recursive_doubling", C::all_reduce, folded_rounds, doubled_vectors, folded_chain},
      {"recursive_doubling", C::all_gather, folded_rounds, gathered, folded_chain},
      {"halving_doubling", C::all_reduce, twice_folded_rounds, halved_and_doubled, {}},
      {"halving_doubling", C::reduce_scatter, folded_rounds, scattered, folded_chain},
      {"dissemination", C::barrier, lg_ceil, lg_ceil, {}},
  };
}

constexpr double exact = 1e-9;

void compare(const Expected& expected, const Algorithm& algorithm, Rank ranks, std::uint32_t pieces) {
  const Request request = test::request_for(expected.collective, ranks, is_rooted(expected.collective) ? ranks / 2 : -1, pieces);
  SCOPED_TRACE(test::label(algorithm, request));
  const Cost stated = algorithm.cost(request);
  EXPECT_NEAR(stated.rounds, expected.rounds(ranks), exact);
  EXPECT_NEAR(stated.bytes, expected.bytes(ranks), exact);

  const Result<Schedule> schedule = build_schedule(algorithm, request);
  ASSERT_TRUE(schedule.ok()) << schedule.status().text();
  const Result<WireCount> counted = count_wire(*schedule);
  ASSERT_TRUE(counted.ok()) << counted.status().text();
  EXPECT_NEAR(counted->rounds, expected.chain ? expected.chain(ranks) : expected.rounds(ranks), exact);
  EXPECT_NEAR(std::max(counted->busiest_rank_out, counted->busiest_rank_in), expected.bytes(ranks), exact);
}

TEST(Cost, StatedCountedAndPublishedAgree) {
  for (const Expected& expected : literature()) {
    const Algorithm* algorithm = find_algorithm(expected.name);
    ASSERT_NE(algorithm, nullptr) << expected.name;
    for (Rank ranks = 1; ranks <= 64; ++ranks) compare(expected, *algorithm, ranks, 1);
    for (Rank ranks : {2, 3, 8, 13}) compare(expected, *algorithm, ranks, 4);
  }
}

TEST(Cost, EveryOfferHasAFormulaHere) {
  const std::vector<Expected> known = literature();
  test::for_each_offer([&](const Algorithm& algorithm, Collective collective) {
    const bool found =
        std::any_of(known.begin(), known.end(), [&](const Expected& e) { return e.name == algorithm.name && e.collective == collective; });
    EXPECT_TRUE(found) << algorithm.name << " " << name_of(collective) << ": type its formulas into this test";
  });
}

}  // namespace
}  // namespace toric
