#include "toric/comm/operators.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace toric {
namespace {

constexpr std::uint32_t most_generations = (0x7fffffffu - Operators::first_handle) / Operators::slots;

int handle_for(std::size_t index, std::uint32_t generation) {
  return static_cast<int>(Operators::first_handle + generation * Operators::slots + static_cast<std::uint32_t>(index));
}

}  // namespace

Result<int> Operators::add(const PreMulSum& op) {
  auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.used; });
  if (free == slots_.end()) {
    if (slots_.size() == slots)
      return Status(Code::invalid_usage, fmt::format("this communicator already has {} operators: destroy those no longer needed with "
                                                     "toricRedOpDestroy",
                                                     slots));
    free = slots_.insert(slots_.end(), Slot{});
  }
  free->op = op;
  free->used = true;
  return handle_for(static_cast<std::size_t>(free - slots_.begin()), free->generation);
}

Status Operators::remove(int handle) {
  const std::size_t index = index_of(handle);
  if (index == slots_.size())
    return {Code::invalid_argument,
            fmt::format("operator {} is none of this communicator's: it was never made here, or is destroyed already", handle)};
  slots_[index].used = false;
  slots_[index].generation = (slots_[index].generation + 1) % most_generations;
  return {};
}

const Operators::PreMulSum* Operators::find(int handle) const {
  const std::size_t index = index_of(handle);
  return index == slots_.size() ? nullptr : &slots_[index].op;
}

std::size_t Operators::index_of(int handle) const {
  if (handle < static_cast<int>(first_handle)) return slots_.size();
  const std::uint32_t number = static_cast<std::uint32_t>(handle) - first_handle;
  const std::size_t index = number % slots;
  const bool there = index < slots_.size() && slots_[index].used && slots_[index].generation == number / slots;
  return there ? index : slots_.size();
}

}  // namespace toric
