// Every transport, once. To add one: its folder, one line in registry.cpp, one line in CMakeLists.txt.
#pragma once

#include "toric/transport.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace toric {

/// What is known about the ranks that a transport shall join, the same on every rank.
struct TransportScope {
  bool one_process = false;  // all ranks are threads of one process
  bool one_host = false;     // all ranks share memory with one another
};

struct TransportEntry {
  std::string_view name;
  /// Empty when it can join these ranks, else why not.
  std::string (*why_not)(const TransportScope&);
  /// Collective over the exchange's ranks. Errors name what is missing and the remedy.
  Result<std::unique_ptr<Transport>> (*make)(const TransportConfig&, Exchange&);
};

/// In order of preference.
[[nodiscard]] std::span<const TransportEntry> transports();

}  // namespace toric
