// The first word between the ranks of a memory transport: all have the same version and configuration, or all refuse.
#pragma once

#include "toric/ring/shape.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace toric::ring {

inline constexpr std::uint64_t agreement_magic = 0x544f524943524e47;  // "TORICRNG"
inline constexpr std::uint32_t agreement_version = 1;

/// What one rank says. Plain bytes: it crosses processes.
struct Statement {
  std::uint64_t magic = agreement_magic;
  std::uint32_t version = agreement_version;
  std::uint32_t refuses = 0;  // 1: this rank cannot take part; `reason` says why
  RingConfig config;
  std::uint64_t process[2] = {0, 0};  // equal for threads of one process, and for them only
  std::uint64_t token = 0;            // rank 0's, to find shared state
  char reason[256] = {};

  void refuse(const Status& status);
};

/// Collective. Everyone's statements, by rank; fails only as the exchange does.
Result<std::vector<Statement>> gather(std::string_view transport, const Statement& mine, Exchange& exchange);

/// The same on every rank: ok, or what is wrong with the lowest rank that refuses, has another version or another
/// configuration than rank 0 (naming both).
Status check(std::string_view transport, const std::vector<Statement>& all);

/// Collective. Ok when every rank's status is ok; otherwise the error of the lowest rank that has one, on every rank.
Status all_ok(std::string_view transport, const Status& mine, Exchange& exchange);

}  // namespace toric::ring
