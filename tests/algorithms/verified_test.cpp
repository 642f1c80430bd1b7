// Every entry of the registry, for every collective it offers, proven for 1 to 64 ranks.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "every.hpp"
#include "toric/check/verifier.hpp"

namespace toric {
namespace {

constexpr Rank most_ranks = 64;

struct Campaign {
  std::mutex mutex;
  std::map<std::string, int> verified;  // schedules, by entry and collective
  std::vector<std::string> faults;      // the first few
  int skipped = 0;

  void count(const std::string& entry) {
    const std::lock_guard lock(mutex);
    ++verified[entry];
  }
  void blame(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (faults.size() < 5) faults.push_back(text);
  }
  void skip(const std::string& what) {
    const std::lock_guard lock(mutex);
    ++skipped;
    std::printf("[  SKIPPED ] %s: does not fit\n", what.c_str());
  }
};

void verify_one(Campaign& campaign, const Algorithm& algorithm, const Request& request) {
  const std::string what = test::label(algorithm, request);
  if (!algorithm.fits(request)) return campaign.skip(what);
  const Result<Schedule> schedule = build_schedule(algorithm, request);
  if (!schedule.ok()) return campaign.blame(what + ": " + std::string(schedule.status().text()));
  const Verdict verdict = verify_all(*schedule);
  if (!verdict.ok()) return campaign.blame(what + ": " + std::string(name_of(verdict.fault)) + ": " + verdict.text);
  if (schedule->fifo != 0) return campaign.blame(what + ": asks for buffering");
  campaign.count(std::string(algorithm.name) + " " + std::string(name_of(request.collective)));
}

void verify_ranks(Campaign& campaign, Rank ranks) {
  test::for_each_offer([&](const Algorithm& algorithm, Collective collective) {
    for (Rank root : test::roots_of(collective, ranks))
      for (std::uint32_t pieces : {1u, 4u}) verify_one(campaign, algorithm, test::request_for(collective, ranks, root, pieces));
  });
}

TEST(Verified, EveryEntryForOneTo64Ranks) {
  Campaign campaign;
  std::atomic<Rank> next = most_ranks;  // the largest first, so that the threads end together
  const auto work = [&] {
    for (Rank ranks = next--; ranks >= 1; ranks = next--) verify_ranks(campaign, ranks);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();

  for (const std::string& fault : campaign.faults) ADD_FAILURE() << fault;
  test::for_each_offer([&](const Algorithm& algorithm, Collective collective) {
    const std::string entry = std::string(algorithm.name) + " " + std::string(name_of(collective));
    // Rooted: 1 root for one rank, 2 for two, 3 for every other count.
    const int expected = 2 * (is_rooted(collective) ? 3 * most_ranks - 3 : most_ranks);
    EXPECT_EQ(campaign.verified[entry], expected) << entry << " was not verified for all of its cases";
  });
  EXPECT_EQ(campaign.skipped, 0);
}

// What stays in rank order says so; this is the proof, with the operator assumed not to commute.
TEST(Verified, OperandsStayInRankOrderWhereTheFileSaysSo) {
  for (const char* name : {"direct", "binomial_tree", "recursive_doubling"})
    for (Rank ranks = 1; ranks <= 33; ++ranks) {
      const Algorithm* algorithm = find_algorithm(name);
      ASSERT_NE(algorithm, nullptr);
      const Result<Schedule> schedule = build_schedule(*algorithm, test::request_for(Collective::all_reduce, ranks));
      ASSERT_TRUE(schedule.ok()) << schedule.status().text();
      const Verdict verdict = verify_all(*schedule, true);
      EXPECT_TRUE(verdict.ok()) << name << " p=" << ranks << ": " << verdict.text;
    }
  const Verdict ring = verify_all(*build_schedule(*find_algorithm("ring"), test::request_for(Collective::all_reduce, 3)), true);
  EXPECT_EQ(ring.fault, Fault::rank_order) << "a ring reduces in rotated order: if this passes, the check above proves nothing";
}

}  // namespace
}  // namespace toric
