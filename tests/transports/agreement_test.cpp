// Starting a transport: what the registry says, what ranks must have alike, and the memory budget.
#include "conformance.hpp"
#include "cores.hpp"

#include <set>

namespace toric::testing {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TEST(Registry, PrefersLocalThenShmAndSaysWhyNot) {
  const auto all = transports();
  ASSERT_GE(all.size(), 2U);
  EXPECT_EQ(all[0].name, "local");
  EXPECT_EQ(all[1].name, "shm");
  std::set<std::string_view> names;
  for (const auto& entry : all) EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " is there twice";
  EXPECT_EQ(all[0].why_not({.one_process = true, .one_host = true}), "");
  EXPECT_TRUE(contains(all[0].why_not({.one_process = false, .one_host = true}), "one process"));
  EXPECT_EQ(all[1].why_not({.one_process = false, .one_host = true}), "");
  EXPECT_TRUE(contains(all[1].why_not({.one_process = false, .one_host = false}), "one host"));
}

class Starting : public ::testing::TestWithParam<Variant> {
 protected:
  static constexpr Rank count = 3;
  std::vector<MadeTransport> make(const std::function<void(Rank, TransportConfig&)>& change) {
    return make_all(count, GetParam().make, [&](Rank rank) {
      TransportConfig config = GetParam().config;
      change(rank, config);
      return config;
    });
  }
};

TEST_P(Starting, DifferentConfigurationsAreRefusedByAllNamingBoth) {
  for (const auto& made : make([](Rank rank, TransportConfig&config) { config.slots = rank == 2 ? 8 : 3; })) {
    ASSERT_FALSE(made.ok());
    const Status status = made.status();
    EXPECT_EQ(status.code(), Code::invalid_usage);
    for (const char* part : {"rank 2", "slots 8", "rank 0", "slots 3"}) EXPECT_TRUE(contains(status.text(), part)) << status.text();
  }
}

TEST_P(Starting, NodeAndDeviceMayDiffer) {
  for (const auto& made : make([](Rank rank, TransportConfig&config) { config.numa_node = config.device = rank; }))
    EXPECT_TRUE(made.ok()) << made.status().text();
}

TEST_P(Starting, OneRanksImpossibleConfigurationIsEveryonesError) {
  for (const Rank wrong : {0, 1})
    for (const auto& made : make([&](Rank rank, TransportConfig&config) { config.segment_bytes = rank == wrong ? 100 : 128; })) {
      ASSERT_FALSE(made.ok());
      EXPECT_TRUE(contains(made.status().text(), "rank " + std::to_string(wrong))) << made.status().text();
      EXPECT_TRUE(contains(made.status().text(), "segment_bytes is 100")) << made.status().text();
    }
}

TEST_P(Starting, RingsEndWithTheBudgetAndTheTextSaysHowMuch) {
  TransportConfig config = GetParam().config;
  config.memory_budget = 1 << 20;
  Ranks ranks(2, GetParam().make, config);
  std::uint16_t channel = 0;
  Result<Port> port = ranks[0].out(1, channel);
  while (port.ok() && channel < 60000) {
    ++channel;
    port = ranks[channel % 2].out(1 - channel % 2, channel);
  }
  ASSERT_FALSE(port.ok());
  const std::size_t used = ranks[0].memory_bytes() + ranks[1].memory_bytes();
  EXPECT_LE(used, config.memory_budget);
  EXPECT_EQ(used % channel, 0U) << "each ring made so far takes the same";
  EXPECT_GT(used + used / channel, config.memory_budget);
  const std::string_view text = port.status().text();
  for (const std::string& part :
       {"needs " + std::to_string(used / channel), "use " + std::to_string(used), "budget of " + std::to_string(config.memory_budget),
        std::string("raise the budget"), "channel " + std::to_string(channel)})
    EXPECT_TRUE(contains(text, part)) << part << " is not in: " << text;
  // The other end's view of rings that exist needs nothing new, and an error here is no failure of the transport.
  EXPECT_TRUE(ranks[1].in(0, 0).ok());
  EXPECT_EQ(ranks[0].memory_bytes() + ranks[1].memory_bytes(), used);
  EXPECT_TRUE(ranks[0].failed().ok());
  EXPECT_FALSE(ranks[0].in(1, 65535).ok());
}

TEST_P(Starting, MemoryIsCountedOnceWhoeverAsksFirst) {
  Ranks ranks(2, GetParam());
  EXPECT_EQ(ranks[0].memory_bytes() + ranks[1].memory_bytes(), 0U);
  ASSERT_TRUE(ranks[1].in(0, 0).ok());
  const std::size_t one = ranks[1].memory_bytes();
  EXPECT_GT(one, 0U);
  ASSERT_TRUE(ranks[0].out(1, 0).ok());
  EXPECT_EQ(ranks[0].memory_bytes(), 0U);
  ASSERT_TRUE(ranks[0].out(1, 1).ok());
  EXPECT_EQ(ranks[0].memory_bytes(), one);
}

// Both ends of many rings at the same moment: each must end up with one ring that both see.
TEST_P(Starting, RacesForARingHaveOneWinner) {
  TransportConfig config = tiny_config();
  config.memory_budget = 16 << 20;
  constexpr std::uint16_t channels = 600;
  Ranks ranks(2, GetParam().make, config);
  std::vector<Port> ports[2];
  std::atomic<int> ready = 0;
  const auto in_step_until = Clock::now() + std::chrono::seconds(1);  // on a busy machine, the rest goes without
  on_threads(2, [&](Rank rank) {
    stay_on_core(rank);
    for (std::uint16_t channel = 0; channel < channels; ++channel) {
      ++ready;
      for (int spins = 0; ready < 2 * (channel + 1) && Clock::now() < in_step_until; ++spins)
        if (spins > 2000) std::this_thread::yield();
      const auto port = rank == 0 ? ranks[0].out(1, channel) : ranks[1].in(0, channel);
      EXPECT_TRUE(port.ok()) << port.status().text();
      ports[rank].push_back(port ? *port : 0);
    }
  });
  for (std::uint16_t channel = 0; channel < channels; ++channel) ASSERT_TRUE(try_send(ranks[0], ports[0][channel], 40, channel, 0));
  for (std::uint16_t channel = 0; channel < channels; ++channel) ASSERT_TRUE(try_receive(ranks[1], ports[1][channel], 40, channel, 0));
  Ranks single(2, GetParam().make, config);
  ASSERT_TRUE(single[0].out(1, 0).ok());
  EXPECT_EQ(ranks[0].memory_bytes() + ranks[1].memory_bytes(), channels * single[0].memory_bytes());
}

INSTANTIATE_TEST_SUITE_P(All, Starting, ::testing::ValuesIn(variants()), [](const auto& about) { return about.param.name; });

}  // namespace
}  // namespace toric::testing
