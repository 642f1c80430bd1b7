// Text and flat form: exact round trips, and no bytes that can do harm.
#include "statements.hpp"
#include "toric/ir/flat_form.hpp"
#include "toric/ir/passes.hpp"
#include "toric/ir/text_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;

std::vector<Schedule> samples() {
  std::vector<Schedule> schedules;
  for (const Case& c : all_cases(5)) {
    Result<Schedule> built = build(c);
    EXPECT_TRUE(built.ok());
    schedules.push_back(*std::move(built));
  }
  Result<Schedule> pieces = split_into_pieces(*build({"", Collective::all_gather, 3, 6, -1, ring_all_gather}), 2);
  EXPECT_TRUE(pieces.ok());
  schedules.push_back(*std::move(pieces));
  return schedules;
}

TEST(TextForm, RoundTripsExactly) {
  for (const Schedule& s : samples()) {
    const std::string text = to_text(s);
    const Result<Schedule> read = from_text(text);
    ASSERT_TRUE(read.ok()) << read.status().text() << '\n' << text;
    EXPECT_EQ(to_text(*read), text);
    EXPECT_EQ(to_flat(*read), to_flat(s)) << text;
  }
}

TEST(FlatForm, RoundTripsExactly) {
  for (const Schedule& s : samples()) {
    const std::vector<std::byte> bytes = to_flat(s);
    EXPECT_EQ(bytes.size() % 64, 0u);
    const Result<Schedule> read = from_flat(bytes);
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(to_flat(*read), bytes);
    EXPECT_EQ(to_text(*read), to_text(s));
  }
}

TEST(TextForm, CommentsAndBlanksAreFree) {
  const Result<Schedule> read = from_text(
      "# a schedule\n\n toric schedule 1  # version\nall_reduce ranks 1 chunks 2 scratch 4 fifo 0 channels 0 lanes 0\r\n"
      "place 1 0\n\nrank 0\n0: copy in[0..1]->out[0..1] lane 1\n 1 : reduce in[1] -> scratch[3] channel 4 lane 0 src_left after 0 # end");
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(read->place, (std::vector<std::uint32_t>{1, 0}));
  ASSERT_EQ(read->programs[0].steps.size(), 2u);
  EXPECT_EQ(read->programs[0].steps[1].flags, wire_is_left);
  EXPECT_EQ(read->programs[0].steps[1].channel, 4);
}

TEST(TextForm, ErrorsNameTheLine) {
  const std::string head = "toric schedule 1\nall_reduce ranks 2 chunks 2 scratch 2 fifo 0 channels 1 lanes 2\n";
  const auto error = [](const std::string& text) { return std::string(from_text(text).status().text()); };
  EXPECT_THAT(error(""), HasSubstr("expected 'toric schedule 1'"));
  EXPECT_THAT(error("toric schedule 2\n"), HasSubstr("line 1: expected 'toric schedule 1', found 'toric schedule 2'"));
  EXPECT_THAT(error("toric schedule 1\nall_deduce ranks 2"), HasSubstr("line 2: expected the name of a collective, found 'all_deduce"));
  EXPECT_THAT(error("toric schedule 1\nbroadcast ranks 2 chunks"), HasSubstr("expected 'root', found 'chunks'"));
  EXPECT_THAT(error(head + "0: copy"), HasSubstr("line 3: expected 'place' or 'rank'"));
  EXPECT_THAT(error(head + "rank 2"), HasSubstr("a rank below 2"));
  EXPECT_THAT(error(head + "rank 0\n1: copy"), HasSubstr("line 4: expected 'rank', or '0:'"));
  EXPECT_THAT(error(head + "rank 0\n0: jump in[0]"), HasSubstr("'send', 'recv'"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[0] from 1"), HasSubstr("expected 'to', found 'from 1'"));
  EXPECT_THAT(error(head + "rank 0\n0: copy in[0..1] -> out[0] lane 0"), HasSubstr("as many chunks as"));
  EXPECT_THAT(error(head + "rank 0\n0: copy in[1..0] -> out[0] lane 0"), HasSubstr("a chunk after the run's first"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[99999999999] to 1 channel 0 lane 0"), HasSubstr("'[' and a chunk"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[0] to 1 channel 70000 lane 0"), HasSubstr("a number for channel"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[0] to 1 channel 0 lane 0 after 0"), HasSubstr("does not come before it"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[2] to 1 channel 0 lane 0"), HasSubstr("past the end of its buffer"));
  EXPECT_THAT(error(head + "rank 0\n0: send in[0] to 0 channel 0 lane 0"), HasSubstr("not another rank"));
  EXPECT_THAT(error("toric schedule 1\nall_reduce ranks 2000000000 chunks 1 scratch 0 fifo 0 channels 0 lanes 0\n"),
              HasSubstr("2000000000 ranks"));
}

TEST(TextForm, DamageIsAnErrorOrAnotherSchedule) {
  std::mt19937 random(5);
  int accepted = 0;
  for (const Schedule& s : samples()) {
    const std::string text = to_text(s);
    for (int i = 0; i < 40; ++i) {
      std::string damaged = text;
      for (auto flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] = random() % 2 == 0 ? static_cast<char>(random()) : "0123456789[].:->#\n"[random() % 18];
      if (random() % 4 == 0) damaged.resize(random() % damaged.size());
      const Result<Schedule> read = from_text(damaged);
      if (!read.ok()) continue;
      ++accepted;
      EXPECT_TRUE(check_structure(*read).ok());
      const Result<Schedule> again = from_text(to_text(*read));
      EXPECT_TRUE(again.ok()) << again.status().text();
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(FlatForm, EveryTruncationIsAnError) {
  const std::vector<std::byte> bytes = to_flat(*build({"", Collective::all_gather, 3, 3, -1, ring_all_gather}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> part(bytes.begin(),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(size));  // its own block, so that overreading shows
    EXPECT_FALSE(from_flat(part).ok()) << size;
  }
}

TEST(FlatForm, DamageIsAnErrorOrAnotherSchedule) {
  std::mt19937 random(6);
  int accepted = 0, refused = 0;
  const std::uint32_t favourites[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0};
  for (const Schedule& s : samples()) {
    const std::vector<std::byte> bytes = to_flat(s);
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> damaged = bytes;
      if (i % 2 == 0) {
        damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
      } else {
        const std::uint32_t value = favourites[random() % std::size(favourites)];
        std::memcpy(damaged.data() + random() % (damaged.size() / 4) * 4, &value, 4);
      }
      const Result<Schedule> read = from_flat(damaged);
      ++(read.ok() ? accepted : refused);
      if (read.ok()) {
        EXPECT_TRUE(check_structure(*read).ok());
      }
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, accepted);
}

TEST(FlatForm, OthersAreRefused) {
  std::vector<std::byte> bytes = to_flat(*build({"", Collective::all_reduce, 2, 1, -1, one_shot}));
  std::vector<std::byte> other = bytes;
  other[8] = std::byte{2};
  EXPECT_THAT(std::string(from_flat(other).status().text()), HasSubstr("version 2"));
  other = bytes;
  other[0] = std::byte{'X'};
  EXPECT_THAT(std::string(from_flat(other).status().text()), HasSubstr("magic"));
  other = bytes;
  other.resize(other.size() + 64);
  EXPECT_THAT(std::string(from_flat(other).status().text()), HasSubstr("cut off"));
}

}  // namespace
}  // namespace toric::testing
