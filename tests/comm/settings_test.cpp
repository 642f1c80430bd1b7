// Settings and small parts of the communicator that need no second rank: sizes, operators, the call log, waiting.
#include "toric/comm/call_log.hpp"
#include "toric/comm/config.hpp"
#include "toric/comm/operators.hpp"
#include "toric/comm/waiter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>
#include <sstream>

namespace toric {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Sets variables for one test.
class Settings : public ::testing::Test {
 protected:
  void set(const char* name, const char* value) {
    names_.insert(name);
    ::setenv(name, value, 1);
  }
  void SetUp() override {
    for (const SettingRow& row : describe_settings()) ::unsetenv(row.name.c_str());
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  }
  void TearDown() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  static SettingRow row(std::string_view name) {
    for (SettingRow& row : rows())
      if (row.name == name) return row;
    return {};
  }
  static std::vector<SettingRow>& rows() {
    static std::vector<SettingRow> kept;
    kept = describe_settings();
    return kept;
  }

 private:
  std::set<std::string> names_;
};

TEST_F(Settings, AreAtMostADozenAndDescribed) {
  const auto all = describe_settings();
  EXPECT_LE(all.size(), 12u);
  EXPECT_GE(all.size(), 5u);
  for (const SettingRow& each : all) {
    EXPECT_TRUE(each.name.starts_with("TORIC_")) << each.name;
    EXPECT_FALSE(each.meaning.empty() || each.standard.empty()) << each.name;
    EXPECT_EQ(each.value, each.standard) << each.name;
    EXPECT_EQ(each.source, "default") << each.name;
  }
}

TEST_F(Settings, TellTheirValueInForceAndItsSource) {
  set("TORIC_TIMEOUT", "2.5");
  set("TORIC_SEGMENT", "128k");
  set("TORIC_LOG", "");  // empty: as if it were not set
  EXPECT_EQ(row("TORIC_TIMEOUT").value, "2.5");
  EXPECT_EQ(row("TORIC_TIMEOUT").source, "environment");
  EXPECT_EQ(row("TORIC_SEGMENT").value, "128k");
  EXPECT_EQ(row("TORIC_LOG").source, "default");
  const ConfigReading reading = read_config();
  EXPECT_TRUE(reading.problem.ok());
  EXPECT_EQ(reading.config.timeout_seconds, 2.5);
  EXPECT_EQ(reading.config.segment_bytes, 131072u);
}

TEST_F(Settings, ReportWhatCannotBeUsedAndKeepTheDefault) {
  const std::pair<const char*, const char*> wrong[] = {
      {"TORIC_TIMEOUT", "-1"},  {"TORIC_TIMEOUT", "soon"}, {"TORIC_TIMEOUT", "nan"}, {"TORIC_INIT_TIMEOUT", "0"},
      {"TORIC_LOG", "loud"},    {"TORIC_PORT", "0"},       {"TORIC_PORT", "65536"},  {"TORIC_MEMORY", "1k"},
      {"TORIC_SEGMENT", "100"}, {"TORIC_SEGMENT", "0"},    {"TORIC_WINDOW", "63"},   {"TORIC_MEMORY", "99999999999999999999G"}};
  for (const auto& [name, value] : wrong) {
    set(name, value);
    const ConfigReading reading = read_config();
    EXPECT_EQ(reading.problem.code(), Code::invalid_argument) << name << "=" << value;
    EXPECT_THAT(std::string(reading.problem.text()), AllOf(HasSubstr(name), HasSubstr(value), HasSubstr("it takes")));
    EXPECT_EQ(row(name).value, row(name).standard);
    EXPECT_EQ(row(name).source, "default");
    EXPECT_THAT(row(name).problem, HasSubstr(value));
    ::unsetenv(name);
  }
}

TEST_F(Settings, OfALauncherAreReadAndChecked) {
  EXPECT_THAT(std::string(read_launch_environment().status().text()), HasSubstr("WORLD_SIZE"));
  set("WORLD_SIZE", "4");
  set("RANK", "4");
  EXPECT_THAT(std::string(read_launch_environment().status().text()), AllOf(HasSubstr("RANK"), HasSubstr("0 to 3")));
  set("RANK", "3");
  EXPECT_THAT(std::string(read_launch_environment().status().text()), HasSubstr("MASTER_ADDR"));
  set("MASTER_ADDR", "host");
  EXPECT_THAT(std::string(read_launch_environment().status().text()), HasSubstr("MASTER_PORT"));
  set("MASTER_PORT", "2000");
  EXPECT_EQ((*read_launch_environment()).port, 2000);
  set("TORIC_PORT", "3000");
  const auto launch = read_launch_environment();
  ASSERT_TRUE(launch.ok());
  EXPECT_EQ((*launch).port, 3000);
  EXPECT_EQ((*launch).rank, 3);
  EXPECT_EQ((*launch).ranks, 4);
  EXPECT_EQ((*launch).address, "host");
}

TEST(Bytes, AreReadAndWritten) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("4k"), 4096u);
  EXPECT_EQ(parse_size("4K"), 4096u);
  EXPECT_EQ(parse_size("3M"), 3u << 20);
  EXPECT_EQ(parse_size("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("inf"), UINT64_MAX);
  for (const char* wrong : {"", "k", "-1", "4kk", "1.5k", "0x10", " 1", "18446744073709551616", "17179869184G"})
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  for (const char* text : {"0", "1", "1000", "4k", "5M", "7G", "inf"}) EXPECT_EQ(format_size(*parse_size(text)), text);
}

TEST(Operators, AreFoundUntilDestroyedAndNeverMistaken) {
  Operators operators;
  const int first = *operators.add({DataType::float32, {}, nullptr});
  const int second = *operators.add({DataType::float64, {}, nullptr});
  EXPECT_GE(first, 5);
  EXPECT_NE(first, second);
  ASSERT_NE(operators.find(first), nullptr);
  EXPECT_EQ(operators.find(first)->type, DataType::float32);
  EXPECT_TRUE(operators.remove(first).ok());
  EXPECT_EQ(operators.find(first), nullptr);
  EXPECT_EQ(operators.remove(first).code(), Code::invalid_argument);
  const int third = *operators.add({DataType::int8, {}, nullptr});  // takes the free place under another handle
  EXPECT_NE(third, first);
  EXPECT_EQ(operators.find(first), nullptr);
  EXPECT_EQ(operators.find(second)->type, DataType::float64);
  for (const int none : {-1, 0, 4, 5, 15, third + 1, 0x7fffffff}) EXPECT_EQ(operators.find(none), nullptr) << none;
}

TEST(Operators, EndWithAnErrorThatSaysWhatToDo) {
  Operators operators;
  for (std::uint32_t i = 0; i < Operators::slots; ++i) ASSERT_TRUE(operators.add({}).ok());
  EXPECT_THAT(std::string(operators.add({}).status().text()), HasSubstr("toricRedOpDestroy"));
}

TEST(CallLog, KeepsTheLastCallsInOrder) {
  CallLog calls;
  EXPECT_EQ(calls.describe(), "");
  for (std::uint64_t sequence = 1; sequence <= 1500; ++sequence) {
    calls.begin({sequence, sequence, Collective::all_reduce, DataType::float32, 0, -1}, "ring");
    if (sequence < 1500) calls.end(CallLog::State::done);
  }
  const std::string text = calls.describe();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1024);
  EXPECT_TRUE(text.starts_with("#477 ")) << text.substr(0, 100);
  EXPECT_THAT(text, AllOf(HasSubstr("#1500 "), HasSubstr("running"), HasSubstr("algorithm ring"), Not(HasSubstr("#476 "))));
  const std::string two = calls.describe(2);
  EXPECT_TRUE(two.starts_with("#1499 "));
}

TEST(Waiting, NeverSpinsWithMoreRanksThanCpus) {
  EXPECT_EQ(policy_for(3, 2).spins, 0);
  EXPECT_GT(policy_for(3, 2).yields, 0);
  EXPECT_GT(policy_for(2, 2).spins, 0);
  Backoff backoff({1, 2});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(backoff.stay_awake());
    EXPECT_TRUE(backoff.stay_awake());
    EXPECT_TRUE(backoff.stay_awake());
    EXPECT_FALSE(backoff.stay_awake());
    EXPECT_FALSE(backoff.stay_awake());
    backoff.moved();
  }
}

TEST(Log, GoesToTheFileWithHostAndProcess) {
  const std::string pattern = ::testing::TempDir() + "toric_log_test.%p";
  const std::string name = ::testing::TempDir() + "toric_log_test." + std::to_string(::getpid());
  set_log(LogLevel::info, pattern);
  log(LogLevel::info, "an {} information");
  log(LogLevel::debug, "too fine");
  set_log(LogLevel::warn, "");
  std::stringstream text;
  text << std::ifstream(name).rdbuf();
  EXPECT_THAT(text.str(), AllOf(HasSubstr("info: an {} information"), Not(HasSubstr("too fine"))));
  ::remove(name.c_str());
}

}  // namespace
}  // namespace toric
