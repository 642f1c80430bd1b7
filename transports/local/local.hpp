// The transport between threads of one process: rings in ordinary memory.
#pragma once

#include "toric/transport.hpp"

#include <memory>

namespace toric {

/// Collective over the exchange's ranks, which have to be threads of one process.
Result<std::unique_ptr<Transport>> make_local(const TransportConfig& config, Exchange& exchange);

}  // namespace toric
