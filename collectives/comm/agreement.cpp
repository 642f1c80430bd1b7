#include "toric/comm/agreement.hpp"

#include "toric/comm/selection.hpp"
#include "toric/transports/registry.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>

namespace toric {
namespace {

constexpr std::size_t most_cpus = CPU_SETSIZE;
constexpr std::size_t most_text = 1024;

/// What one rank says: plain bytes, the same build on both sides (the meeting has compared versions).
struct Proposal {
  std::uint64_t memory_bytes, segment_bytes, window_bytes;
  std::int32_t problem_code;
  std::array<char, most_text> problem, algorithm;
  std::array<std::uint64_t, most_cpus / 64> cpus;
};

void put(std::array<char, most_text>& target, std::string_view text) {
  target.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), most_text - 1), target.begin());
}

std::array<std::uint64_t, most_cpus / 64> allowed_cpus() {
  std::array<std::uint64_t, most_cpus / 64> mask{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) CPU_SET(0, &set);
  for (std::size_t cpu = 0; cpu < most_cpus; ++cpu)
    if (CPU_ISSET(cpu, &set)) mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
  return mask;
}

Proposal propose(const Config& config, const Status& problem) {
  Proposal mine{};
  mine.memory_bytes = config.memory_bytes;
  mine.segment_bytes = config.segment_bytes;
  mine.window_bytes = config.window_bytes;
  mine.problem_code = static_cast<std::int32_t>(problem.code());
  put(mine.problem, problem.text());
  put(mine.algorithm, config.algorithm);
  if (problem.ok() && config.algorithm.size() >= most_text) {
    mine.problem_code = static_cast<std::int32_t>(Code::invalid_argument);
    put(mine.problem, fmt::format("the algorithm wish is longer than {} bytes: shorten it", most_text - 1));
  }
  mine.cpus = allowed_cpus();
  return mine;
}

Result<std::vector<Proposal>> exchange(Membership& members, const Proposal& mine) {
  auto gathered = members.all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!gathered.ok()) return gathered.status();
  std::vector<Proposal> proposals(gathered->size());
  for (std::size_t r = 0; r < proposals.size(); ++r) {
    if ((*gathered)[r].size() != sizeof(Proposal))
      return Status(Code::internal_error,
                    fmt::format("rank {} proposes {} bytes of settings, {} were expected: use one build of Toric everywhere", r,
                                (*gathered)[r].size(), sizeof(Proposal)));
    std::memcpy(&proposals[r], (*gathered)[r].data(), sizeof(Proposal));
  }
  return proposals;
}

Status first_problem(const std::vector<Proposal>& proposals, const Membership& members) {
  for (std::size_t r = 0; r < proposals.size(); ++r)
    if (proposals[r].problem_code != 0)
      return {static_cast<Code>(proposals[r].problem_code),
              fmt::format("rank {} ({}): {}", r, members.members()[r].host, std::string_view(proposals[r].problem.data()))};
  return {};
}

void log_difference(std::string_view what, const std::string& mine, const std::string& in_force, Rank rank) {
  if (mine != in_force)
    log(LogLevel::warn, fmt::format("rank {}: {} is \"{}\" here; rank 0's \"{}\" is in force", rank, what, mine, in_force));
}

void log_differences(const Config& mine, const Agreement& agreed, Rank rank) {
  log_difference("the algorithm wish", mine.algorithm, agreed.algorithm, rank);
  log_difference("TORIC_MEMORY", format_size(mine.memory_bytes), format_size(agreed.transport.memory_budget), rank);
  log_difference("TORIC_SEGMENT", format_size(mine.segment_bytes), format_size(agreed.transport.segment_bytes), rank);
  log_difference("TORIC_WINDOW", std::to_string(mine.window_bytes), std::to_string(agreed.window_setting), rank);
}

/// Ranks of this host, and the CPUs that they may use together: ranks pinned apart each bring their own.
void count_cpus(const std::vector<Proposal>& proposals, const Membership& members, Agreement& agreed) {
  const std::uint32_t here = members.members()[static_cast<std::size_t>(members.rank())].host_index;
  std::array<std::uint64_t, most_cpus / 64> together{};
  agreed.ranks_here = 0;
  for (std::size_t r = 0; r < proposals.size(); ++r) {
    if (members.members()[r].host_index != here) continue;
    ++agreed.ranks_here;
    for (std::size_t w = 0; w < together.size(); ++w) together[w] |= proposals[r].cpus[w];
  }
  std::size_t cpus = 0;
  for (const std::uint64_t word : together) cpus += std::bitset<64>(word).count();
  agreed.cpus_here = static_cast<int>(std::max<std::size_t>(cpus, 1));
}

/// Whether `mine` is ok everywhere; else the first rank's reason.
Status ok_everywhere(Membership& members, const Status& mine) {
  Proposal report{};
  report.problem_code = static_cast<std::int32_t>(mine.code());
  put(report.problem, mine.text());
  const auto reports = exchange(members, report);
  return reports.ok() ? first_problem(*reports, members) : reports.status();
}

}  // namespace

Result<Agreement> agree(Membership& members, const Config& config, const Status& problem) {
  const auto proposals = exchange(members, propose(config, problem));
  if (!proposals.ok()) return proposals.status();
  TORIC_TRY(first_problem(*proposals, members));
  const Proposal& first = proposals->front();
  Agreement agreed;
  agreed.algorithm = first.algorithm.data();
  agreed.window_setting = first.window_bytes;
  agreed.transport.segment_bytes = first.segment_bytes;
  agreed.transport.memory_budget = first.memory_bytes;
  if (agreed.transport.segment_bytes <= agreed.transport.small_bytes) agreed.transport.small_bytes = agreed.transport.small_slots = 0;
  log_differences(config, agreed, members.rank());
  count_cpus(*proposals, members, agreed);
  TORIC_TRY(check_wish(agreed.algorithm, members.ranks()));
  return agreed;
}

Result<std::unique_ptr<Transport>> make_transport(Membership& members, const TransportConfig& config) {
  const TransportScope scope{members.one_process(), members.one_host()};
  std::string reasons;
  for (const TransportEntry& entry : transports()) {
    std::string why = entry.why_not(scope);
    if (why.empty()) {
      Result<std::unique_ptr<Transport>> made = entry.make(config, members);
      const Status all = ok_everywhere(members, made.status());
      if (all.ok()) return made;
      why = all.text();
    }
    if (members.rank() == 0) log(LogLevel::info, fmt::format("transport {} is not used: {}", entry.name, why));
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", entry.name, why);
  }
  return Status(Code::system_error, "no transport can join these ranks: " + reasons);
}

}  // namespace toric
