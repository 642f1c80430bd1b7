#include "harness.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>

#include "toric/comm/control_segment.hpp"

#include <atomic>

namespace toric::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ControlChannel& control_of(const std::vector<std::unique_ptr<Membership>>& all, Rank rank) {
  return all[static_cast<std::size_t>(rank)]->control();
}

TEST(Records, TheSignatureDependsOnEveryField) {
  const CallRecord base = call(17);
  std::vector<CallRecord> others(6, base);
  others[0].sequence = 18;
  others[1].count = 101;
  others[2].collective = Collective::broadcast;
  others[3].type = DataType::float64;
  others[4].op = 2;
  others[5].root = 0;
  for (const CallRecord& other : others) {
    EXPECT_NE(base.signature(), other.signature());
    EXPECT_FALSE(base.same_call(other));
  }
  EXPECT_TRUE(base.same_call(call(17)));
  EXPECT_EQ(base.signature(), call(17).signature());
  EXPECT_NE(CallRecord{}.signature(), 0U);
}

TEST(Records, AreDescribedForPeople) {
  EXPECT_EQ(call(1).describe(), "all_reduce count 100 type float op sum");
  CallRecord broadcast = call(1, 5, Collective::broadcast);
  broadcast.root = 3;
  EXPECT_EQ(broadcast.describe(), "broadcast count 5 type float root 3");
}

TEST(Records, TheLastSixteenOfEveryRankAreReadByAll) {
  auto all = met(meet_in_threads(new_id(), 3));
  EXPECT_EQ(control_of(all, 0).last_sequence(1), 0U);
  for (std::uint64_t i = 1; i <= 40; ++i) control_of(all, 1).publish(call(i, i * 10));
  for (const Rank reader : {0, 1, 2}) {
    EXPECT_EQ(control_of(all, reader).last_sequence(1), 40U);
    for (std::uint64_t i = 1; i <= 40; ++i) {
      const auto record = control_of(all, reader).record_of(1, i);
      ASSERT_EQ(record.has_value(), i > 24) << i;
      if (record) {
        EXPECT_TRUE(record->same_call(call(i, i * 10)));
      }
    }
    EXPECT_FALSE(control_of(all, reader).record_of(1, 41));
    EXPECT_FALSE(control_of(all, reader).record_of(2, 1));
  }
}

TEST(Records, AreNeverReadHalfWritten) {
  auto made = ControlSegment::create(2, {1, 2});
  ASSERT_TRUE(made.ok());
  ControlSegment& segment = *made->segment;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      CallRecord record = call(i, i * 3);
      record.root = static_cast<Rank>(i % 1000);
      segment.publish(0, record);
    }
  });
  std::uint64_t seen = 0, torn = 0;
  for (const Deadline end = Clock::now() + 5s; Clock::now() < end && seen < 20000;) {
    const std::uint64_t last = segment.last_sequence(0);
    for (std::uint64_t number = last > 16 ? last - 16 : 1; number <= last; ++number) {
      const auto record = segment.record_of(0, number);
      if (!record) continue;
      ++seen;
      if (record->sequence != number || record->count != number * 3 || record->root != static_cast<Rank>(number % 1000)) ++torn;
    }
  }
  stop = true;
  writer.join();
  EXPECT_GT(seen, 0U);
  EXPECT_EQ(torn, 0U);
}

TEST(Errors, TheFirstOneIsEveryonesForEver) {
  auto all = met(meet_in_threads(new_id(), 4));
  EXPECT_TRUE(control_of(all, 3).error().ok());
  EXPECT_FALSE(control_of(all, 3).failed());
  in_threads(4, [&](Rank rank) {
    control_of(all, rank).raise({Code::timeout, "raised by rank " + std::to_string(rank)});
    ASSERT_TRUE(eventually([&] { return control_of(all, rank).failed(); }));
  });
  const Status first = control_of(all, 0).error();
  EXPECT_EQ(first.code(), Code::timeout);
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(control_of(all, rank).error().text(), first.text());
    EXPECT_EQ(control_of(all, rank).examine(0s).text(), first.text());
  }
  control_of(all, 2).raise({Code::internal_error, "too late"});
  EXPECT_EQ(control_of(all, 1).error().text(), first.text());
}

TEST(Errors, LongTextsAreCut) {
  auto all = met(meet_in_threads(new_id(), 1));
  control_of(all, 0).raise({Code::internal_error, std::string(5000, 'x')});
  const std::string text(control_of(all, 0).error().text());
  EXPECT_EQ(text.size(), error_text_bytes);
  EXPECT_THAT(text, ::testing::EndsWith("xx..."));
}

TEST(Errors, WhoeverIsFirstIsTold) {
  auto made = ControlSegment::create(2, {1, 2});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->segment->raise({Code::timeout, "first"}, 0));
  EXPECT_FALSE(made->segment->raise({Code::timeout, "second"}, 1));
  EXPECT_EQ(made->segment->error().text(), "first");
}

TEST(Errors, EndABlockedExchange) {
  auto all = met(meet_in_threads(new_id(), 3));
  std::thread late([&] {
    std::this_thread::sleep_for(300ms);
    control_of(all, 2).raise({Code::invalid_usage, "rank 2 does not come"});
  });
  const Deadline began = Clock::now();
  in_threads(2, [&](Rank rank) {
    auto everyone = all[static_cast<std::size_t>(rank)]->all_gather({});
    ASSERT_FALSE(everyone.ok());
    EXPECT_EQ(everyone.status().text(), "rank 2 does not come");
  });
  EXPECT_LT(Clock::now() - began, 5s);
  late.join();
}

TEST(Errors, ARankThatDoesNotComeToAnExchangeIsNamed) {
  auto all = met(meet_in_threads(new_id(), 3, 2s));
  in_threads(2, [&](Rank rank) {
    auto everyone = all[static_cast<std::size_t>(rank)]->all_gather({});
    ASSERT_FALSE(everyone.ok());
    EXPECT_EQ(everyone.status().code(), Code::timeout);
    EXPECT_THAT(std::string(everyone.status().text()), HasSubstr("rank 2 ("));
    EXPECT_THAT(std::string(everyone.status().text()), HasSubstr("in time"));
  });
}

TEST(Examine, ADifferentCallIsNamedWithBothSides) {
  for (const Rank finder : {0, 1, 2}) {
    auto all = met(meet_in_threads(new_id(), 3));
    for (Rank rank = 0; rank < 3; ++rank)
      for (std::uint64_t i = 1; i <= 17; ++i) control_of(all, rank).publish(call(i, i == 17 && rank == 2 ? 200 : 100));
    const Status status = control_of(all, finder).examine(100ms);
    EXPECT_EQ(status.code(), Code::invalid_usage);
    const std::string text(status.text());
    EXPECT_THAT(text, HasSubstr("all_reduce #17 on rank " + std::to_string(finder)));
    EXPECT_THAT(text, HasSubstr("rank 2 ("));
    EXPECT_THAT(text, HasSubstr("count 100"));
    EXPECT_THAT(text, HasSubstr("count 200"));
    for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(control_of(all, rank).error().text(), text);
  }
}

TEST(Examine, ARankThatIsBehindIsOnlyLate) {
  auto all = met(meet_in_threads(new_id(), 4));
  for (Rank rank = 0; rank < 4; ++rank)
    for (std::uint64_t i = 1; i <= (rank == 1 || rank == 3 ? 4U : 5U); ++i) control_of(all, rank).publish(call(i));
  EXPECT_TRUE(control_of(all, 0).examine(10s).ok());
  const std::string late = control_of(all, 0).describe_late();
  EXPECT_THAT(late, HasSubstr("ranks 1, 3"));
  EXPECT_THAT(late, HasSubstr("call #4 (all_reduce"));
  EXPECT_THAT(late, Not(HasSubstr("rank 2")));
}

TEST(Examine, ARankThatFinishedBeforeTheCallIsNamed) {
  auto all = met(meet_in_threads(new_id(), 3));
  for (Rank rank = 0; rank < 3; ++rank)
    for (std::uint64_t i = 1; i <= (rank == 1 ? 4U : 5U); ++i) control_of(all, rank).publish(call(i));
  control_of(all, 1).leave(Presence::finished);
  const Status status = control_of(all, 2).examine(100ms);
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(std::string(status.text()), HasSubstr("all_reduce #5 on rank 2"));
  EXPECT_THAT(std::string(status.text()), HasSubstr("rank 1 ("));
  EXPECT_THAT(std::string(status.text()), HasSubstr("has left after 4 calls"));
}

TEST(Examine, ARankThatFinishedAfterTheCallIsNoError) {
  for (const Rank leaver : {0, 1}) {
    auto all = met(meet_in_threads(new_id(), 3));
    for (Rank rank = 0; rank < 3; ++rank) control_of(all, rank).publish(call(1));
    control_of(all, leaver).leave(Presence::finished);
    all[static_cast<std::size_t>(leaver)].reset();
    std::this_thread::sleep_for(200ms);
    EXPECT_TRUE(control_of(all, 2).examine(100ms).ok()) << control_of(all, 2).error().text();
    EXPECT_EQ(control_of(all, 2).presence(leaver), Presence::finished);
  }
}

TEST(Examine, ARankThatAbortedOrVanishedWithoutAWordIsNamed) {
  for (const bool by_word : {true, false}) {
    auto all = met(meet_in_threads(new_id(), 3));
    for (Rank rank = 0; rank < 3; ++rank) control_of(all, rank).publish(call(1));
    if (by_word) control_of(all, 1).leave(Presence::aborted);
    all[1].reset();
    const Status status = wait_for_error(control_of(all, 2));
    EXPECT_EQ(status.code(), Code::remote_error);
    EXPECT_THAT(std::string(status.text()), HasSubstr("rank 1 ("));
    EXPECT_THAT(std::string(status.text()), HasSubstr("has aborted"));
  }
}

TEST(Destruction, IsLocalAndQuickInAnyOrder) {
  for (int turn = 0; turn < 3; ++turn) {
    auto all = met(meet_in_threads(new_id(), 5));
    for (Rank i = 0; i < 5; ++i) {
      const auto rank = static_cast<std::size_t>(turn == 0 ? i : turn == 1 ? 4 - i : (i + 2) % 5);
      const Deadline began = Clock::now();
      all[rank].reset();
      EXPECT_LT(Clock::now() - began, 1s);
    }
  }
}

TEST(Destruction, InAForkedChildOnlyCloses) {
  auto all = met(meet_in_threads(new_id(), 2));
  const pid_t child = ::fork();
  if (child == 0) {
    all.clear();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  std::this_thread::sleep_for(100ms);
  for (Rank rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(control_of(all, rank).presence(1 - rank), Presence::here);
    EXPECT_TRUE(control_of(all, rank).examine(100ms).ok());
  }
}

}  // namespace
}  // namespace toric::testing
