// An Exchange between threads, and what makes the transports of several ranks in one process.
#pragma once

#include "toric/transport.hpp"

#include <unistd.h>

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace toric::testing {

/// What the ranks of one ThreadExchange share.
class Meeting {
 public:
  explicit Meeting(Rank ranks) : bytes_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(bytes_.size()); }

  std::vector<std::vector<std::byte>> meet(Rank rank, std::span<const std::byte> mine) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !leaving_; });
    bytes_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
    if (++here_ == ranks()) leaving_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return leaving_; });
    auto all = bytes_;
    if (--here_ == 0) leaving_ = false;
    changed_.notify_all();
    return all;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> bytes_;
  Rank here_ = 0;
  bool leaving_ = false;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Meeting& meeting, Rank rank) : meeting_(meeting), rank_(rank) {}
  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] Rank ranks() const override { return meeting_.ranks(); }
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine) override { return meeting_.meet(rank_, mine); }
  Result<int> share_descriptor(int descriptor, Rank owner) override {
    const auto all = meeting_.meet(rank_, std::as_bytes(std::span(&descriptor, 1)));
    int theirs = -1;
    std::memcpy(&theirs, all[static_cast<std::size_t>(owner)].data(), sizeof theirs);
    const int mine = dup(theirs);
    meeting_.meet(rank_, {});  // the owner may close its own only now
    if (mine < 0) return Status(Code::system_error, "dup failed");
    return mine;
  }

 private:
  Meeting& meeting_;
  Rank rank_;
};

/// Runs `body(rank)` on a thread for each rank and waits for all.
inline void on_threads(Rank ranks, const std::function<void(Rank)>& body) {
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
}

using MadeTransport = Result<std::unique_ptr<Transport>>;
using Make = std::function<MadeTransport(const TransportConfig&, Exchange&)>;

/// One result a rank; `config_of` may give ranks different configurations.
inline std::vector<MadeTransport> make_all(Rank ranks, const Make& make, const std::function<TransportConfig(Rank)>& config_of) {
  Meeting meeting(ranks);
  std::vector<std::optional<MadeTransport>> made(static_cast<std::size_t>(ranks));
  on_threads(ranks, [&](Rank rank) {
    ThreadExchange exchange(meeting, rank);
    made[static_cast<std::size_t>(rank)].emplace(make(config_of(rank), exchange));
  });
  std::vector<MadeTransport> all;
  for (auto& one : made) all.push_back(std::move(*one));
  return all;
}

}  // namespace toric::testing
