#include "toric/comm/control.hpp"

#include <fmt/format.h>

namespace toric {

bool CallRecord::same_call(const CallRecord& other) const {
  return sequence == other.sequence && count == other.count && collective == other.collective && type == other.type && op == other.op &&
         root == other.root;
}

std::uint64_t CallRecord::signature() const {
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ (hash >> 32);
  };
  const std::uint64_t what = static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << 8 |
                             static_cast<std::uint64_t>(op) << 16 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
  const std::uint64_t hash = mix(mix(mix(0x2545f4914f6cdd1dULL, sequence), count), what);
  return hash == 0 ? 1 : hash;
}

std::string CallRecord::describe() const {
  std::string text = fmt::format("{} count {} type {}", name_of(collective), count, name_of(type));
  if (is_reduction(collective)) text += fmt::format(" op {}", name_of(static_cast<RedOp>(op)));
  if (is_rooted(collective)) text += fmt::format(" root {}", root);
  return text;
}

}  // namespace toric
