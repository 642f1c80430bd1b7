// An interpreter that shares no code with the verifier: runs a schedule on real 64-bit data in the memory layout of the API,
// in a random legal interleaving, and looks at what comes out. Where two accesses race, some seeds show it: a step reads its
// operands when it begins or when it ends, writes piece by piece, and others run in between.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace toric {

enum class Outcome : std::uint8_t {
  ok,
  deadlock,
  wrong,          // an output, the input or a message is not what the collective says
  uninitialised,  // a step read what nothing had written
};
[[nodiscard]] std::string_view name_of(Outcome outcome);

struct InterpretOptions {
  bool in_place = false;
  bool keep_rank_order = false;  // combine with an operator that does not commute
  std::uint32_t capacity = 0;    // messages of buffering a port has
  std::uint64_t seed = 1;        // of the data and of the interleaving
};

struct Interpretation {
  Outcome outcome = Outcome::ok;
  std::string text;
  [[nodiscard]] bool ok() const { return outcome == Outcome::ok; }
};

/// For many runs of one schedule, which must outlive it and have passed check_structure.
class Interpreter {
 public:
  explicit Interpreter(const Schedule& schedule);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  [[nodiscard]] Interpretation run(const InterpretOptions& options);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] Interpretation interpret(const Schedule& schedule, const InterpretOptions& options = {});

/// The first run that is not ok of `runs` seeds from `seed` on, at the schedule's own capacity and one more, in both alias models.
[[nodiscard]] Interpretation interpret_all(const Schedule& schedule, std::uint64_t seed, std::uint32_t runs, bool keep_rank_order = false);

}  // namespace toric
