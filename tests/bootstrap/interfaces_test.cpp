#include "toric/comm/interfaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace toric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SocketAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) { return SocketAddress::ipv4({a, b, c, d}, 0); }

SocketAddress v6(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{};
  bytes[0] = first;
  bytes[1] = second;
  bytes[15] = last;
  return SocketAddress::ipv6(bytes, 0);
}

const std::vector<InterfaceAddress>& typical() {
  static const std::vector<InterfaceAddress> list = {
      {"lo", true, v4(127, 0, 0, 1)},          {"lo", true, v6(0, 0, 1)},
      {"docker0", true, v4(172, 17, 0, 1)},    {"eth0", true, v4(10, 0, 0, 5)},
      {"eth0", true, v6(0xfd, 0, 5)},          {"eth0", true, v6(0xfe, 0x80, 5)},
      {"veth12ab", true, v4(172, 18, 0, 1)},   {"ib0", true, v4(192, 168, 1, 5)},
      {"eth1", false, v4(10, 1, 0, 5)},        {"eth10", true, v4(10, 10, 0, 5)},
      {"tailscale0", true, v4(100, 64, 0, 5)},
  };
  return list;
}

std::vector<std::string> chosen(const std::vector<InterfaceAddress>& list, const std::string& wish) {
  auto choice = choose_addresses(list, wish);
  std::vector<std::string> texts;
  if (!choice.ok()) return {std::string(choice.status().text())};
  for (const SocketAddress& address : choice->addresses) texts.push_back(address.text());
  return texts;
}

TEST(Interfaces, WithoutAWishRealNetworksAreTakenInBothFamilies) {
  EXPECT_THAT(chosen(typical(), ""), ElementsAre("10.0.0.5", "fd00::5", "192.168.1.5", "10.10.0.5"));
}

TEST(Interfaces, AVirtualOneIsTakenWhenThereIsNoOther) {
  EXPECT_THAT(chosen({{"lo", true, v4(127, 0, 0, 1)}, {"docker0", true, v4(172, 17, 0, 1)}}, ""), ElementsAre("172.17.0.1"));
}

TEST(Interfaces, LoopbackIsTakenWhenThereIsNothingElse) {
  EXPECT_THAT(chosen({{"lo", true, v4(127, 0, 0, 1)}, {"eth0", false, v4(10, 0, 0, 5)}, {"eth1", true, v6(0xfe, 0x80, 1)}}, ""),
              ElementsAre("127.0.0.1"));
}

TEST(Interfaces, AWishIsAPrefix) { EXPECT_THAT(chosen(typical(), "eth"), ElementsAre("10.0.0.5", "fd00::5", "10.10.0.5")); }

TEST(Interfaces, AWishMayBeExact) {
  EXPECT_THAT(chosen(typical(), "=eth10"), ElementsAre("10.10.0.5"));
  EXPECT_THAT(chosen(typical(), "=eth0"), ElementsAre("10.0.0.5", "fd00::5"));
}

TEST(Interfaces, AWishMayBeAList) { EXPECT_THAT(chosen(typical(), "ib,=eth10"), ElementsAre("192.168.1.5", "10.10.0.5")); }

TEST(Interfaces, AWishMayExclude) {
  EXPECT_THAT(chosen(typical(), "^eth"), ElementsAre("192.168.1.5"));
  EXPECT_THAT(chosen(typical(), "^=eth0,ib"), ElementsAre("10.10.0.5"));
  EXPECT_THAT(chosen(typical(), "^eth,ib"), ElementsAre("172.17.0.1", "172.18.0.1", "100.64.0.5"));
}

TEST(Interfaces, WhatIsAskedForIsTakenEvenIfVirtualOrLoopback) {
  EXPECT_THAT(chosen(typical(), "docker0"), ElementsAre("172.17.0.1"));
  EXPECT_THAT(chosen(typical(), "lo"), ElementsAre("127.0.0.1", "::1"));
}

TEST(Interfaces, AWishThatFitsNothingNamesWhatThereIs) {
  auto choice = choose_addresses(typical(), "mlx5");
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), Code::invalid_argument);
  EXPECT_THAT(std::string(choice.status().text()), HasSubstr("'mlx5'"));
  EXPECT_THAT(std::string(choice.status().text()), HasSubstr("ib0 192.168.1.5"));
}

TEST(Interfaces, TheReasonSaysWhatWasLeftOutAndWhy) {
  auto choice = choose_addresses(typical(), "");
  ASSERT_TRUE(choice.ok());
  EXPECT_THAT(choice->reason, HasSubstr("docker0 172.17.0.1 (virtual)"));
  EXPECT_THAT(choice->reason, HasSubstr("eth1 10.1.0.5 (down)"));
  EXPECT_THAT(choice->reason, HasSubstr("eth0 fe80::5 (link-local)"));
}

TEST(Interfaces, ThisMachineHasLoopback) {
  auto list = list_interfaces();
  ASSERT_TRUE(list.ok()) << list.status().text();
  EXPECT_TRUE(std::any_of(list->begin(), list->end(), [](const InterfaceAddress& entry) { return entry.address.is_loopback(); }));
}

}  // namespace
}  // namespace toric
