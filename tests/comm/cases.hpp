// One call of each collective with its data, for tests that run the same cases with threads and with processes.
#pragma once

#include "world.hpp"

namespace toric::testing {

struct Case {
  std::size_t count;
  bool in_place = false;
  std::size_t misalignment = 0;
  int salt = 0;
};

inline std::string all_reduce_case(int rank, int ranks, toricComm_t comm, const Case& c) {
  Buffer input(c.count, c.misalignment), output(c.count, c.misalignment * 3 % 7);
  Buffer& source = c.in_place ? output : input;
  for (std::size_t i = 0; i < c.count; ++i) source.set(i, value_of(rank, i, c.salt));
  if (toricAllReduce(source.data(), output.data(), c.count, toricInt32, toricSum, comm, nullptr) != toricSuccess)
    return toricGetLastError(nullptr);
  if (!c.in_place) {
    const std::string changed = difference(input, c.count, [&](std::size_t i) { return value_of(rank, i, c.salt); });
    if (!changed.empty()) return "sendbuff: " + changed;
  }
  return difference(output, c.count, [&](std::size_t i) { return sum_of(ranks, i, c.salt); });
}

inline std::string all_gather_case(int rank, int ranks, toricComm_t comm, const Case& c) {
  const std::size_t whole = c.count * static_cast<std::size_t>(ranks), first = c.count * static_cast<std::size_t>(rank);
  Buffer input(c.count, c.misalignment), output(whole, c.misalignment * 3 % 7);
  for (std::size_t i = 0; i < c.count; ++i) {
    input.set(i, value_of(rank, i, c.salt));
    if (c.in_place) output.set(first + i, value_of(rank, i, c.salt));
  }
  const void* source = c.in_place ? output.data(first) : input.data();
  if (toricAllGather(source, output.data(), c.count, toricInt32, comm, nullptr) != toricSuccess) return toricGetLastError(nullptr);
  return difference(output, whole, [&](std::size_t i) { return value_of(static_cast<int>(i / c.count), i % c.count, c.salt); });
}

inline std::string reduce_scatter_case(int rank, int ranks, toricComm_t comm, const Case& c) {
  const std::size_t whole = c.count * static_cast<std::size_t>(ranks), first = c.count * static_cast<std::size_t>(rank);
  Buffer input(whole, c.misalignment), output(c.count, c.misalignment * 3 % 7);
  for (std::size_t i = 0; i < whole; ++i) input.set(i, value_of(rank, i, c.salt));
  void* target = c.in_place ? input.data(first) : output.data();
  if (toricReduceScatter(input.data(), target, c.count, toricInt32, toricSum, comm, nullptr) != toricSuccess)
    return toricGetLastError(nullptr);
  const auto expected = [&](std::size_t i) { return sum_of(ranks, first + i, c.salt); };
  if (!c.in_place) {
    const std::string changed = difference(input, whole, [&](std::size_t i) { return value_of(rank, i, c.salt); });
    return changed.empty() ? difference(output, c.count, expected) : "sendbuff: " + changed;
  }
  for (std::size_t i = 0; i < c.count; ++i)
    if (input.get(first + i) != expected(i)) return "element " + std::to_string(i) + " is wrong in place";
  return input.guards_hold() ? "" : "bytes outside the buffer were written";
}

inline std::string broadcast_case(int rank, int ranks, toricComm_t comm, const Case& c) {
  for (const int root : {0, ranks / 2, ranks - 1}) {
    Buffer input(c.count, c.misalignment), output(c.count, c.misalignment * 3 % 7);
    Buffer& source = c.in_place ? output : input;
    for (std::size_t i = 0; i < c.count; ++i) source.set(i, value_of(rank, i, c.salt));
    // Not the root: its sendbuff must not even be looked at.
    const void* sent = rank == root ? source.data() : nullptr;
    const toricResult_t result = c.in_place ? toricBcast(output.data(), c.count, toricInt32, root, comm, nullptr)
                                            : toricBroadcast(sent, output.data(), c.count, toricInt32, root, comm, nullptr);
    if (result != toricSuccess) return toricGetLastError(nullptr);
    const std::string wrong = difference(output, c.count, [&](std::size_t i) { return value_of(root, i, c.salt); });
    if (!wrong.empty()) return "root " + std::to_string(root) + ": " + wrong;
  }
  return "";
}

/// All of them, one after the other; the first thing wrong, or empty.
inline std::string every_case(int rank, int ranks, toricComm_t comm, const Case& c) {
  using Run = std::string (*)(int, int, toricComm_t, const Case&);
  constexpr std::pair<const char*, Run> runs[] = {{"all_reduce", all_reduce_case},
                                                  {"all_gather", all_gather_case},
                                                  {"reduce_scatter", reduce_scatter_case},
                                                  {"broadcast", broadcast_case}};
  for (const auto& [name, run] : runs) {
    const std::string wrong = run(rank, ranks, comm, c);
    if (!wrong.empty())
      return std::string(name) + " count " + std::to_string(c.count) + (c.in_place ? " in place" : "") + " misaligned by " +
             std::to_string(c.misalignment) + " on rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": " + wrong;
  }
  return toricBarrier(comm, nullptr) == toricSuccess ? "" : toricGetLastError(nullptr);
}

}  // namespace toric::testing
