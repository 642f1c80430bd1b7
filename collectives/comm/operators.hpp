// Reduction operators that users make for one communicator: pre-multiplied sums. Handles are numbers from
// `first_handle` up; a destroyed operator's handle is not given out again soon, so stale ones are noticed.
#pragma once

#include "toric/execute/reduce.hpp"

#include <cstdint>
#include <vector>

namespace toric {

class Operators {
 public:
  static constexpr std::uint32_t first_handle = 16, slots = 4096;

  struct PreMulSum {
    DataType type = DataType::uint8;
    Scalar factor;
    const void* late_factor = nullptr;  // read when the collective runs instead; null: `factor` counts
  };
  Result<int> add(const PreMulSum& op);
  Status remove(int handle);
  /// Null when there is none of that handle.
  [[nodiscard]] const PreMulSum* find(int handle) const;

 private:
  struct Slot {
    PreMulSum op;
    std::uint32_t generation = 0;
    bool used = false;
  };
  [[nodiscard]] std::size_t index_of(int handle) const;  // slots_.size() when there is none

  std::vector<Slot> slots_;
};

}  // namespace toric
