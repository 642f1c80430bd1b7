// The text form: what golden files, `toric verify --file` and people read. Round-trips exactly.
#pragma once

#include "toric/ir/schedule.hpp"

#include <string>
#include <string_view>

namespace toric {

[[nodiscard]] std::string to_text(const Schedule& schedule);
/// Errors give the line and what was expected there. The result has passed check_structure.
Result<Schedule> from_text(std::string_view text);

}  // namespace toric
