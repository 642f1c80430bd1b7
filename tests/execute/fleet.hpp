// All ranks of a communicator in one test process, polled by one thread in an order drawn from a seed: every schedule
// meets many interleavings, and a failure repeats.
#pragma once

#include "support/thread_exchange.hpp"
#include "toric/algorithms/registry.hpp"
#include "toric/execute/executor.hpp"
#include "toric/transports/registry.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace toric::testing {

struct Fleet {
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<std::unique_ptr<Executor>> without_short_runs;

  Fleet(Rank ranks, std::string_view transport, const TransportConfig& config = {}) {
    const TransportEntry* entry = nullptr;
    for (const TransportEntry& candidate : toric::transports())
      if (candidate.name == transport) entry = &candidate;
    if (entry == nullptr) {
      ADD_FAILURE() << "no transport named " << transport;
      return;
    }
    for (MadeTransport& made : make_all(ranks, entry->make, [&](Rank) { return config; })) {
      if (!made)
        ADD_FAILURE() << made.status().text();
      else
        transports.push_back(std::move(*made));
    }
    for (auto& t : transports) {
      executors.push_back(std::make_unique<Executor>(*t));
      without_short_runs.push_back(std::make_unique<Executor>(*t, false));
    }
  }

  /// Plans of every rank for one schedule.
  std::vector<Plan> bind(const Schedule& schedule, const PlanOptions& options) {
    std::vector<Plan> plans;
    for (std::size_t r = 0; r < transports.size(); ++r) {
      auto plan = bind_plan(schedule, static_cast<Rank>(r), "test", *transports[r], options);
      if (plan)
        plans.push_back(std::move(*plan));
      else
        ADD_FAILURE() << plan.status().text();
    }
    return plans;
  }

  /// Runs one call a rank to its end, short calls on some ranks by the way of long ones. False when nothing moves any more.
  bool run(const std::vector<Plan>& plans, const std::vector<Call>& calls, std::uint64_t seed) {
    std::minstd_rand random(static_cast<std::minstd_rand::result_type>(seed + 1));
    const std::size_t ranks = plans.size();
    std::vector<Executor*> used;
    for (std::size_t r = 0; r < ranks; ++r) {
      used.push_back((random() >> 8) % 2 == 0 ? executors[r].get() : without_short_runs[r].get());
      transports[r]->stamp(seed + 1);
      const Status started = used[r]->start(plans[r], calls[r]);
      EXPECT_TRUE(started.ok()) << started.text();
    }
    std::vector<bool> done(ranks, false);
    std::size_t left = ranks;
    for (std::size_t idle = 0; left > 0 && idle < ranks * 200;) {
      const std::size_t r = random() % ranks;
      if (done[r]) continue;
      const Progress progress = used[r]->poll();
      if (progress == Progress::done) {
        done[r] = true;
        --left;
      }
      idle = progress == Progress::idle ? idle + 1 : 0;
    }
    for (std::size_t r = 0; r < ranks; ++r)
      if (!done[r]) {
        const auto waiting = used[r]->waiting();
        ADD_FAILURE() << "rank " << r << " waits in step " << waiting.step << " for rank " << waiting.peer << " after "
                      << waiting.bytes_done << " of " << waiting.bytes_total << " bytes; transport: " << transports[r]->failed().text();
      }
    return left == 0;
  }
};

}  // namespace toric::testing
