// The plan cache: one plan a range, built once; at most 16 rooted ones, of which the least recently used goes.
#include "toric/comm/plan_cache.hpp"

#include "support/thread_exchange.hpp"
#include "toric/transports/registry.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace toric {
namespace {

class PlanCaches : public ::testing::Test {
 protected:
  PlanCaches() : meeting_(1), seat_(meeting_, 0) {
    auto made = transports().front().make({}, seat_);
    EXPECT_TRUE(made.ok()) << made.status().text();
    transport_ = *std::move(made);
  }
  PlanCache cache(std::string_view wish = "") {
    PlanCache::Settings settings;
    settings.wish = *parse_wish(wish);
    return {std::move(settings), *transport_};
  }
  static const PlanCache::Entry* find(PlanCache& cache, Collective collective, Rank root, std::uint64_t bytes) {
    Status error;
    const PlanCache::Entry* entry = cache.find(collective, root, bytes, error);
    EXPECT_NE(entry, nullptr) << error.text();
    return entry;
  }

  testing::Meeting meeting_;
  testing::ThreadExchange seat_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(PlanCaches, GiveOnePlanForARangeOfSizes) {
  PlanCache plans = cache("all_reduce:0-1k=ring,1k-inf=direct");
  const auto* small = find(plans, Collective::all_reduce, -1, 0);
  EXPECT_EQ(small->plan->algorithm, "ring");
  EXPECT_EQ(find(plans, Collective::all_reduce, -1, 1023), small);
  const auto* large = find(plans, Collective::all_reduce, -1, 1024);
  EXPECT_EQ(large->plan->algorithm, "direct");
  EXPECT_EQ(find(plans, Collective::all_reduce, -1, UINT64_MAX - 1), large);
  const Plan* before = small->plan.get();
  EXPECT_EQ(find(plans, Collective::all_reduce, -1, 5)->plan.get(), before);  // built once
}

TEST_F(PlanCaches, KeepSixteenRootedPlans) {
  // One rank has one root: ranges make the plans.
  std::string wish = "broadcast:0-1=direct";
  for (int i = 1; i < 40; ++i) wish += fmt::format(",{}-{}={}", i, i + 1, i % 2 == 0 ? "direct" : "ring");
  PlanCache plans = cache(wish);
  for (std::uint64_t bytes = 0; bytes < 16; ++bytes) find(plans, Collective::broadcast, 0, bytes);
  EXPECT_EQ(plans.rooted_plans(), 16u);
  const Plan* kept = find(plans, Collective::broadcast, 0, 0)->plan.get();  // used again: plan 1 is the oldest now
  find(plans, Collective::broadcast, 0, 16);
  EXPECT_EQ(plans.rooted_plans(), 16u);
  EXPECT_EQ(find(plans, Collective::broadcast, 0, 0)->plan.get(), kept);
  for (std::uint64_t bytes = 0; bytes < 39; ++bytes)
    EXPECT_EQ(find(plans, Collective::broadcast, 0, bytes)->plan->algorithm, bytes % 2 == 0 ? "direct" : "ring");
  EXPECT_EQ(plans.rooted_plans(), 16u);
}

TEST_F(PlanCaches, SayWhyThereIsNone) {
  PlanCache plans = cache();
  Status error;
  EXPECT_EQ(plans.find(Collective::all_to_all, -1, 8, error), nullptr);
  EXPECT_THAT(std::string(error.text()), ::testing::HasSubstr("all_to_all"));
}

}  // namespace
}  // namespace toric
