// Small algorithms in the builder's statements, for tests of the IR alone.
#pragma once

#include "toric/ir/builder.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace toric::testing {

inline int wrap(int i, int p) { return ((i % p) + p) % p; }

inline void ring_all_reduce(Builder& b) {
  const int p = b.ranks();
  for (int step = 0; step < p - 1; ++step)
    for (int i = 0; i < p; ++i) b.send_reduce(i, wrap(i + 1, p), wrap(i - step, p));
  for (int step = 0; step < p - 1; ++step)
    for (int i = 0; i < p; ++i) b.send(i, wrap(i + 1, p), wrap(i + 1 - step, p));
}

inline void ring_all_gather(Builder& b) {
  const int p = b.ranks(), k = static_cast<int>(b.chunks()) / p;
  for (int step = 0; step < p - 1; ++step)
    for (int i = 0; i < p; ++i) b.send(i, wrap(i + 1, p), wrap(i - step, p) * k, k);
}

/// Rank i ends with chunk i.
inline void ring_reduce_scatter(Builder& b) {
  const int p = b.ranks();
  for (int step = 0; step < p - 1; ++step)
    for (int i = 0; i < p; ++i) b.send_reduce(i, wrap(i + 1, p), wrap(i - 1 - step, p));
}

/// Any number of ranks: those beyond the largest power of two are folded in first and served last.
inline void recursive_doubling(Builder& b) {
  const int p = b.ranks();
  int half = 1;
  while (half * 2 <= p) half *= 2;
  for (int r = half; r < p; ++r) b.send_reduce(r, r - half, 0, b.chunks());
  for (int distance = 1; distance < half; distance *= 2) {
    b.begin_round();
    for (int r = 0; r < half; ++r) b.send_reduce(r, r ^ distance, 0, b.chunks());
    b.end_round();
  }
  for (int r = half; r < p; ++r) b.send(r - half, r, 0, b.chunks());
}

inline void one_shot(Builder& b) {
  b.begin_round();
  for (int from = 0; from < b.ranks(); ++from)
    for (int to = 0; to < b.ranks(); ++to) b.send_reduce(from, to, 0, b.chunks());
  b.end_round();
}

inline void two_shot(Builder& b) {
  b.begin_round();
  for (int from = 0; from < b.ranks(); ++from)
    for (int to = 0; to < b.ranks(); ++to) b.send_reduce(from, to, to);
  b.end_round();
  b.begin_round();
  for (int from = 0; from < b.ranks(); ++from)
    for (int to = 0; to < b.ranks(); ++to) b.send(from, to, from);
  b.end_round();
}

/// Powers of two.
inline void doubling_all_gather(Builder& b) {
  for (int distance = 1; distance < b.ranks(); distance *= 2) {
    b.begin_round();
    for (int r = 0; r < b.ranks(); ++r) b.send(r, r ^ distance, r / distance * distance, distance);
    b.end_round();
  }
}

inline void star_broadcast(Builder& b) {
  for (int r = 0; r < b.ranks(); ++r) b.send(b.root(), r, 0, b.chunks());
}

inline void chain_broadcast(Builder& b) {
  for (int v = 1; v < b.ranks(); ++v)
    for (int c = 0; c < static_cast<int>(b.chunks()); ++c) b.send(rotate(v - 1, b.root(), b.ranks()), rotate(v, b.root(), b.ranks()), c);
}

/// Binomial, relabelled so that the root is 0.
inline void tree_reduce(Builder& b) {
  for (int distance = 1; distance < b.ranks(); distance *= 2)
    for (int v = distance; v < b.ranks(); v += 2 * distance)
      b.send_reduce(rotate(v, b.root(), b.ranks()), rotate(v - distance, b.root(), b.ranks()), 0, b.chunks());
}

inline void direct_gather(Builder& b) {
  for (int r = 0; r < b.ranks(); ++r) b.send(r, b.root(), r);
}

inline void direct_scatter(Builder& b) {
  for (int r = 0; r < b.ranks(); ++r) b.send(b.root(), r, r);
}

/// Through the next rank, which does not keep what passes: its copies live in scratch.
inline void relayed_scatter(Builder& b) {
  const int p = b.ranks(), next = wrap(b.root() + 1, p);
  b.send(b.root(), next, 0, p);
  for (int r = 0; r < p; ++r)
    if (r != b.root()) b.send(next, r, r);
}

struct Case {
  std::string name;
  Collective what;
  Rank ranks;
  std::uint32_t chunks;
  Rank root;
  std::function<void(Builder&)> say;
};

inline Builder builder_for(const Case& c, Rank only = -1) {
  Builder::Options options;
  options.what = c.what;
  options.ranks = c.ranks;
  options.root = c.root;
  options.chunks = c.chunks;
  options.only = only;
  return Builder(options);
}

inline Result<Schedule> build(const Case& c, Rank only = -1) {
  Builder b = builder_for(c, only);
  c.say(b);
  return b.finish();
}

inline std::vector<Case> all_cases(Rank most_ranks) {
  std::vector<Case> cases;
  for (Rank p = 1; p <= most_ranks; ++p) {
    const auto n = static_cast<std::uint32_t>(p);
    cases.push_back({"ring_all_reduce", Collective::all_reduce, p, n, -1, ring_all_reduce});
    cases.push_back({"ring_all_gather", Collective::all_gather, p, n, -1, ring_all_gather});
    cases.push_back({"ring_reduce_scatter", Collective::reduce_scatter, p, n, -1, ring_reduce_scatter});
    cases.push_back({"recursive_doubling", Collective::all_reduce, p, 1, -1, recursive_doubling});
    cases.push_back({"recursive_doubling_3", Collective::all_reduce, p, 3, -1, recursive_doubling});
    cases.push_back({"one_shot", Collective::all_reduce, p, 2, -1, one_shot});
    cases.push_back({"two_shot", Collective::all_reduce, p, n, -1, two_shot});
    if ((p & (p - 1)) == 0) cases.push_back({"doubling_all_gather", Collective::all_gather, p, n, -1, doubling_all_gather});
    for (Rank root = 0; root < p; ++root) {
      cases.push_back({"star_broadcast", Collective::broadcast, p, 1, root, star_broadcast});
      cases.push_back({"chain_broadcast", Collective::broadcast, p, 3, root, chain_broadcast});
      cases.push_back({"tree_reduce", Collective::reduce, p, 2, root, tree_reduce});
      cases.push_back({"direct_gather", Collective::gather, p, n, root, direct_gather});
      cases.push_back({"direct_scatter", Collective::scatter, p, n, root, direct_scatter});
      cases.push_back({"relayed_scatter", Collective::scatter, p, n, root, relayed_scatter});
    }
  }
  return cases;
}

}  // namespace toric::testing
