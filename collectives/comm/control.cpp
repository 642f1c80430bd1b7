#include "toric/comm/control.hpp"

#include <fmt/format.h>

namespace toric {

bool CallRecord::same_call(const CallRecord& other) const {
  return sequence == other.sequence && count == other.count && collective == other.collective && type == other.type && op == other.op &&
         root == other.root;
}

std::string CallRecord::describe() const {
  std::string text = fmt::format("{} count {} type {}", name_of(collective), count, name_of(type));
  if (is_reduction(collective)) text += fmt::format(" op {}", name_of(static_cast<RedOp>(op)));
  if (is_rooted(collective)) text += fmt::format(" root {}", root);
  return text;
}

}  // namespace toric
