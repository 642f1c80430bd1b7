// Tests the verifier: changes one field of a correct schedule at a time and sees whether the change is noticed.
#pragma once

#include "toric/check/verifier.hpp"
#include "toric/ir/schedule.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace toric {

/// Random interleavings that a mutant which the verifier lets pass must survive, each at the schedule's capacity and one
/// more, in both alias models.
inline constexpr std::uint32_t interleavings_to_clear = 1000;

struct MutationReport {
  std::uint64_t possible = 0;                       // single-field mutants there are
  std::uint64_t tried = 0;                          // all of them, or a sample chosen by the seed
  std::array<std::uint64_t, fault_count> caught{};  // by Fault
  std::uint64_t cleared = 0;                        // let pass, and right in every interleaving tried
  std::vector<std::string> not_cleared;             // let pass, yet an interleaving went wrong: a hole in the verifier

  [[nodiscard]] bool ok() const { return not_cleared.empty(); }
  MutationReport& operator+=(const MutationReport& other);
};

/// `schedule` must verify; if it does not, not_cleared says so. Same seed, same report.
[[nodiscard]] MutationReport mutate(const Schedule& schedule, std::uint64_t seed, std::uint64_t max_mutants,
                                    std::uint32_t interleavings = interleavings_to_clear);

/// The single-field mutants of a schedule, by number. The schedule must outlive this.
class Mutants {
 public:
  explicit Mutants(const Schedule& schedule);
  [[nodiscard]] std::uint64_t size() const { return changes_.size(); }
  /// `copy` is a copy of the schedule; undo() makes it one again.
  void apply(std::uint64_t number, Schedule& copy) const;
  void undo(std::uint64_t number, Schedule& copy) const;
  [[nodiscard]] std::string describe(std::uint64_t number) const;

 private:
  enum class Field : std::uint8_t {
    op,
    src_buf,
    dst_buf,
    flags,
    lane,
    channel,
    peer,
    src_first,
    dst_first,
    count,
    dep_begin,
    dep_count,
    dep,
    no_dep,
    place
  };
  struct Change {
    Field field;
    std::uint32_t rank, at;  // rank and step; for place: nothing and the first of two neighbours
    std::uint32_t nth;       // of the step's dependencies
    std::int64_t value;
  };

  [[nodiscard]] static std::string_view name_of(Field field);
  void add_fields(std::uint32_t rank, std::uint32_t at);
  void add_routes(std::uint32_t rank, std::uint32_t at);
  void add_deps(std::uint32_t rank, std::uint32_t at);
  void add(Field field, std::uint32_t rank, std::uint32_t at, std::int64_t old, std::int64_t value, std::int64_t limit);

  const Schedule& schedule_;
  std::vector<std::uint16_t> lanes_, channels_;  // the numbers that occur, and one that does not
  std::vector<Change> changes_;
};

}  // namespace toric
