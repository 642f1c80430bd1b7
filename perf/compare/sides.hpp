// The two sides of the comparison on one set of buffers.
#pragma once

#include "toric/toric.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace toric::compare {

class Sides {
 public:
  Sides() = default;
  Sides(const Sides&) = delete;
  Sides& operator=(const Sides&) = delete;
  ~Sides();

  /// Collective. Empty on success, else what went wrong here.
  std::string open(int rank, int ranks, std::size_t max_bytes, bool huge_pages);

  /// One call of each side and a look at both results: float sums of small integers are exact in any order.
  /// Empty, or the first difference.
  std::string check(std::uint64_t bytes);

  /// Mean microseconds a call over `loops` calls, the slowest rank's, on every rank. After an error on any
  /// rank, failure() says so on all of them.
  double time_ours(std::uint64_t bytes, int loops);
  double time_peer(std::uint64_t bytes, int loops);
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  using Buffer = std::unique_ptr<float, Free>;
  static Buffer make(std::size_t bytes, bool huge_pages);
  void ours(std::uint64_t bytes);
  void peer(std::uint64_t bytes);
  template <class Call>
  double time(int loops, const Call& call);

  toricComm_t comm_ = nullptr;
  int rank_ = 0;
  Buffer send_, receive_;
  std::string failure_;
};

}  // namespace toric::compare
