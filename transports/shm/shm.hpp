// The transport between processes of one host: rings in one anonymous shared segment, made by rank 0 and handed over
// as a descriptor. It has no name in any file system, so nothing can be left behind, whoever dies and however.
#pragma once

#include "toric/transport.hpp"

#include <memory>

namespace toric {

/// Collective over the exchange's ranks, which have to be able to share a descriptor.
Result<std::unique_ptr<Transport>> make_shm(const TransportConfig& config, Exchange& exchange);

}  // namespace toric
