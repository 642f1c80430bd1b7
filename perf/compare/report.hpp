// The comparison as text.
#pragma once

#include "regimes.hpp"

#include <string>

namespace toric::compare {

/// "near: ..." heading and one line a size.
[[nodiscard]] std::string table(const RegimeResult& result);

/// The line that scripts read:
///   all_reduce np N regime near|far geomean R worst R at BYTES against PEER
///   all_reduce np N regime near|far unseen           (a size has fewer than `wanted` clean blocks)
[[nodiscard]] std::string last_line(const RegimeResult& result, int ranks, std::size_t wanted, const std::string& peer);

/// "Open MPI 4.1.4" from what MPI_Get_library_version gives; the first line, shortened, for other libraries.
[[nodiscard]] std::string short_version(const std::string& library_version);

}  // namespace toric::compare
