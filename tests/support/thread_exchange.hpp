// An Exchange between threads of one test process, and a helper that runs one thread a rank.
#pragma once

#include "toric/transport.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace toric::testing {

class ThreadExchangeHub {
 public:
  explicit ThreadExchangeHub(Rank ranks) : ranks_(ranks), parts_(static_cast<std::size_t>(ranks)), barrier_(ranks) {}

  class Seat final : public Exchange {
   public:
    Seat(ThreadExchangeHub& hub, Rank rank) : hub_(hub), rank_(rank) {}
    [[nodiscard]] Rank rank() const override { return rank_; }
    [[nodiscard]] Rank ranks() const override { return hub_.ranks_; }
    Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) override {
      hub_.parts_[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
      hub_.barrier_.arrive_and_wait();
      auto all = hub_.parts_;
      hub_.barrier_.arrive_and_wait();
      return all;
    }
    Result<int> share_descriptor(int descriptor, Rank owner) override {
      if (rank_ == owner) hub_.descriptor_ = descriptor;
      hub_.barrier_.arrive_and_wait();
      const int mine = hub_.descriptor_ < 0 ? -1 : fcntl(hub_.descriptor_, F_DUPFD_CLOEXEC, 0);
      hub_.barrier_.arrive_and_wait();
      if (mine < 0) return Status(Code::system_error, "the owner shared no descriptor");
      return mine;
    }

   private:
    ThreadExchangeHub& hub_;
    Rank rank_;
  };

 private:
  Rank ranks_;
  std::vector<std::vector<std::byte>> parts_;
  std::barrier<> barrier_;
  int descriptor_ = -1;
};

/// Runs `body(rank)` on one thread a rank and joins them.
inline void on_each_rank(Rank ranks, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r) threads.emplace_back(body, r);
  for (auto& thread : threads) thread.join();
}

}  // namespace toric::testing
