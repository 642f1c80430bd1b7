// `toric verify --mutate`: the verifier's own test, on the schedules of the registry.
#pragma once

#include "campaign.hpp"

#include <cstddef>
#include <cstdint>

namespace toric::tools {

/// Prints how many mutants were caught, by reason, and how many survived and were cleared. Error: a schedule that is wrong to
/// begin with, or a survivor that is not cleared.
Status run_mutation(const Cases& cases, unsigned threads, std::uint64_t seed, std::size_t mutants);

}  // namespace toric::tools
