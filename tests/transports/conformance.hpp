// The transports under test: each of the registry's as it is, without views, and with the smallest rings there are.
#pragma once

#include "staged_transport.hpp"
#include "support/thread_exchange.hpp"
#include "toric/transports/registry.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace toric::testing {

struct Variant {
  std::string name;
  Make make;
  TransportConfig config;
};

inline void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

inline TransportConfig tiny_config() {
  TransportConfig config;
  config.segment_bytes = 64;
  config.small_bytes = 0;
  config.slots = 2;
  return config;
}

/// Those that can join threads of one process; the others are named as skipped.
inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const TransportEntry& entry : transports()) {
    const std::string why_not = entry.why_not({.one_process = true, .one_host = true});
    if (!why_not.empty()) {
      std::printf("skipped: transport %s: %s\n", std::string(entry.name).c_str(), why_not.c_str());
      continue;
    }
    const std::string name(entry.name);
    const Make staged = [make = entry.make](const TransportConfig& config, Exchange& exchange) -> MadeTransport {
      auto made = make(config, exchange);
      if (!made) return made.status();
      return std::unique_ptr<Transport>(std::make_unique<StagedTransport>(*std::move(made)));
    };
    all.push_back({name, entry.make, {}});
    all.push_back({name + "_staged", staged, {}});
    all.push_back({name + "_tiny", entry.make, tiny_config()});
  }
  return all;
}

/// The transports of all ranks, made together.
class Ranks {
 public:
  Ranks(Rank count, const Variant& variant) : Ranks(count, variant.make, variant.config) {}
  Ranks(Rank count, const Make& make, const TransportConfig& config) {
    for (auto& made : make_all(count, make, [&](Rank) { return config; })) {
      EXPECT_TRUE(made.ok()) << made.status().text();
      all_.push_back(made ? *std::move(made) : nullptr);
    }
  }
  Transport& operator[](Rank rank) { return *all_[static_cast<std::size_t>(rank)]; }
  void destroy(Rank rank) { all_[static_cast<std::size_t>(rank)].reset(); }

 private:
  std::vector<std::unique_ptr<Transport>> all_;
};

/// Byte i of message `number` on a path: different for neighbours in each of the three.
[[nodiscard]] inline std::byte pattern(std::uint64_t path, std::uint64_t number, std::size_t i) {
  return static_cast<std::byte>((path * 31 + number * 7 + i * 3 + (i >> 8)) & 0xff);
}

inline bool try_send(Transport& transport, Port out, std::size_t bytes, std::uint64_t path, std::uint64_t number,
                     Store how = Store::cached) {
  std::byte* room = transport.reserve(out, bytes);
  if (room == nullptr) return false;
  for (std::size_t i = 0; i < bytes; ++i) room[i] = pattern(path, number, i);
  transport.commit(out, bytes, how, 0);
  transport.flush();
  return true;
}

/// False when nothing is there; a wrong byte is a test failure.
inline bool try_receive(Transport& transport, Port in, std::size_t bytes, std::uint64_t path, std::uint64_t number) {
  const std::byte* view = transport.peek(in, bytes);
  if (view == nullptr) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (view[i] == pattern(path, number, i)) continue;
    ADD_FAILURE() << "byte " << i << " of message " << number << " (" << bytes << " bytes) on path " << path << " is wrong";
    break;
  }
  transport.release(in, bytes);
  transport.flush();
  return true;
}

/// Polls with yields until `done`, at most 30 s.
inline bool until(const std::function<bool()>& done) {
  const auto give_up = Clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (Clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace toric::testing
