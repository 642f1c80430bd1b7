// Schedules for the tests of this folder: built by the builder, or written down step by step where the test is about a step.
#pragma once

#include "toric/ir/builder.hpp"
#include "toric/ir/schedule.hpp"
#include "toric/ir/text_form.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace toric::test {

inline Schedule finished(Builder builder) {
  Result<Schedule> schedule = builder.finish();
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return schedule.ok() ? *std::move(schedule) : Schedule{};
}

inline Schedule parsed(const std::string& text) {
  Result<Schedule> schedule = from_text(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return schedule.ok() ? *std::move(schedule) : Schedule{};
}

inline Builder builder_for(Collective what, Rank ranks, std::uint32_t chunks, Rank root = -1) {
  Builder::Options options;
  options.what = what;
  options.ranks = ranks;
  options.root = root;
  options.chunks = chunks;
  return Builder(std::move(options));
}

/// Reduce-scatter and all-gather round a ring, whole: `pieces` rings at once, each on a channel and chunks of its own.
inline Schedule ring_all_reduce(Rank ranks, std::uint16_t pieces = 1) {
  Builder builder = builder_for(Collective::all_reduce, ranks, static_cast<std::uint32_t>(ranks) * pieces);
  const auto chunk = [ranks](std::uint16_t piece, int i) { return piece * ranks + ((i % ranks) + ranks) % ranks; };
  for (std::uint16_t piece = 0; piece < pieces; ++piece) {
    builder.channel(piece);
    for (int step = 0; step < ranks - 1; ++step)
      for (Rank i = 0; i < ranks; ++i) builder.send_reduce(i, (i + 1) % ranks, chunk(piece, i - step));
    for (int step = 0; step < ranks - 1; ++step)
      for (Rank i = 0; i < ranks; ++i) builder.send(i, (i + 1) % ranks, chunk(piece, i + 1 - step));
  }
  return finished(std::move(builder));
}

inline Schedule ring_all_gather(Rank ranks) {
  Builder builder = builder_for(Collective::all_gather, ranks, static_cast<std::uint32_t>(ranks));
  for (int step = 0; step < ranks - 1; ++step)
    for (Rank i = 0; i < ranks; ++i) builder.send(i, (i + 1) % ranks, ((i - step) % ranks + ranks) % ranks);
  return finished(std::move(builder));
}

inline Schedule ring_reduce_scatter(Rank ranks) {
  Builder builder = builder_for(Collective::reduce_scatter, ranks, static_cast<std::uint32_t>(ranks));
  for (int step = 0; step < ranks - 1; ++step)
    for (Rank i = 0; i < ranks; ++i) builder.send_reduce(i, (i + 1) % ranks, ((i - step - 1) % ranks + ranks) % ranks);
  return finished(std::move(builder));
}

/// A power of two of ranks, `chunks` chunks whole in each message.
inline Schedule recursive_doubling(Rank ranks, std::uint32_t chunks = 1) {
  Builder builder = builder_for(Collective::all_reduce, ranks, chunks);
  for (Rank distance = 1; distance < ranks; distance *= 2) {
    builder.begin_round();
    for (Rank i = 0; i < ranks; ++i) builder.send_reduce(i, i ^ distance, 0, chunks);
    builder.end_round();
  }
  return finished(std::move(builder));
}

inline Schedule one_shot(Rank ranks) {
  Builder builder = builder_for(Collective::all_reduce, ranks, 1);
  builder.begin_round();
  for (Rank from = 0; from < ranks; ++from)
    for (Rank to = 0; to < ranks; ++to) builder.send_reduce(from, to, 0);
  builder.end_round();
  return finished(std::move(builder));
}

inline Schedule chain_broadcast(Rank ranks, Rank root, std::uint32_t chunks) {
  Builder builder = builder_for(Collective::broadcast, ranks, chunks, root);
  for (Rank i = 0; i + 1 < ranks; ++i) builder.send(rotate(i, root, ranks), rotate(i + 1, root, ranks), 0, chunks);
  return finished(std::move(builder));
}

inline Schedule star_reduce(Rank ranks, Rank root) {
  Builder builder = builder_for(Collective::reduce, ranks, 1, root);
  for (Rank i = 0; i < ranks; ++i) builder.send_reduce(i, root, 0);
  return finished(std::move(builder));
}

inline Schedule star_gather(Rank ranks, Rank root) {
  Builder builder = builder_for(Collective::gather, ranks, static_cast<std::uint32_t>(ranks), root);
  for (Rank i = 0; i < ranks; ++i) builder.send(i, root, i);
  return finished(std::move(builder));
}

inline Schedule star_scatter(Rank ranks, Rank root) {
  Builder builder = builder_for(Collective::scatter, ranks, static_cast<std::uint32_t>(ranks), root);
  for (Rank i = 0; i < ranks; ++i) builder.send(root, i, i);
  return finished(std::move(builder));
}

inline Schedule dissemination_barrier(Rank ranks) {
  Builder builder = builder_for(Collective::barrier, ranks, 1);
  for (Rank distance = 1; distance < ranks; distance *= 2) {
    builder.begin_round();
    for (Rank i = 0; i < ranks; ++i) builder.send_reduce(i, (i + distance) % ranks, 0);
    builder.end_round();
  }
  return finished(std::move(builder));
}

}  // namespace toric::test
