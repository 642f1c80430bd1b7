// The vocabulary every part of Toric shares: status, rank, collective, data type, operator, memory kind.
// Depends on the standard library only. Enum values equal NCCL's where NCCL has the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace toric {

using Rank = std::int32_t;

/// What a call ended with; the numbers are those of `toricResult_t` (and of `ncclResult_t`).
enum class Code : int {
  success = 0,
  unhandled_device_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
  timeout = 8,
};

/// Success, or a code and a text that a person can act on. Success costs one null pointer.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text)
      : detail_(code == Code::success ? nullptr : std::make_shared<const Detail>(Detail{code, std::move(text)})) {}

  [[nodiscard]] bool ok() const noexcept { return detail_ == nullptr; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] Code code() const noexcept { return detail_ ? detail_->code : Code::success; }
  [[nodiscard]] std::string_view text() const noexcept { return detail_ ? std::string_view(detail_->text) : std::string_view(); }

 private:
  struct Detail {
    Code code;
    std::string text;
  };
  std::shared_ptr<const Detail> detail_;
};

/// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (std::get<1>(state_).ok()) state_.template emplace<1>(Code::internal_error, "a Result was made from a success without a value");
  }

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<1>(state_); }

 private:
  std::variant<T, Status> state_;
};

/// Returns early with the error of `expression` (a Status). The only kind of macro in the project: error propagation.
#define TORIC_TRY(expression)                            \
  do {                                                   \
    ::toric::Status toric_try_status = (expression);     \
    if (!toric_try_status.ok()) return toric_try_status; \
  } while (false)

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  barrier,
};
inline constexpr int collective_count = 9;

enum class DataType : std::uint8_t {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8e4m3 = 10,
  float8e5m2 = 11,
};
inline constexpr int data_type_count = 12;

enum class RedOp : std::uint8_t {
  sum = 0,
  prod = 1,
  max = 2,
  min = 3,
  avg = 4,          // sum, then one division of the complete value on each rank's output
  pre_mul_sum = 5,  // each rank's input is multiplied by that rank's scalar, then summed
};
inline constexpr int red_op_count = 6;

enum class MemoryKind : std::uint8_t { host, cuda };

[[nodiscard]] constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      return 1;
    case DataType::float16:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 0;
}

[[nodiscard]] constexpr std::string_view name_of(Collective collective) {
  constexpr std::string_view names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                        "all_to_all", "gather",     "scatter",        "barrier"};
  return static_cast<std::size_t>(collective) < std::size(names) ? names[static_cast<std::size_t>(collective)] : "unknown";
}

/// The names that nccl-tests prints and takes.
[[nodiscard]] constexpr std::string_view name_of(DataType type) {
  constexpr std::string_view names[] = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                        "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
  return static_cast<std::size_t>(type) < std::size(names) ? names[static_cast<std::size_t>(type)] : "unknown";
}

[[nodiscard]] constexpr std::string_view name_of(RedOp op) {
  constexpr std::string_view names[] = {"sum", "prod", "max", "min", "avg", "mulsum"};
  return static_cast<std::size_t>(op) < std::size(names) ? names[static_cast<std::size_t>(op)] : "unknown";
}

[[nodiscard]] inline std::optional<Collective> collective_from(std::string_view name) {
  for (int i = 0; i < collective_count; ++i)
    if (name_of(static_cast<Collective>(i)) == name) return static_cast<Collective>(i);
  return std::nullopt;
}

[[nodiscard]] constexpr bool is_reduction(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter || collective == Collective::reduce ||
         collective == Collective::barrier;
}

[[nodiscard]] constexpr bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce || collective == Collective::gather ||
         collective == Collective::scatter;
}

}  // namespace toric
