// Making communicators: from a unique id, for all ranks of one process, or from what a launcher left in the environment.
#pragma once

#include "toric/comm/communicator.hpp"

#include <memory>
#include <vector>

namespace toric {

Result<UniqueIdBytes> start_unique_id();

Result<std::unique_ptr<Communicator>> start_rank(const UniqueIdBytes& id, Rank ranks, Rank rank, const Communicator::Options& options);

/// All ranks here; one thread each while they start. The caller's thread counts as the maker of all.
Result<std::vector<std::unique_ptr<Communicator>>> start_all(Rank ranks, Communicator::Options options);

Result<std::unique_ptr<Communicator>> start_from_environment(const Communicator::Options& options);

}  // namespace toric
