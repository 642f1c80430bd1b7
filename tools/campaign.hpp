// A campaign is many schedules, each built, passed through all passes and then handed to a check, on several threads.
#pragma once

#include "toric/algorithms/registry.hpp"
#include "toric/topology/grid_shape.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace toric::tools {

/// What of the registry to take; an empty name means all.
struct Selection {
  std::vector<std::uint32_t> ranks, pieces;
  std::string algorithm, collective;
};

struct Case {
  const Algorithm* algorithm = nullptr;
  Request request;
  std::size_t row = 0;  // into Cases::rows
};

/// One line of the table: an algorithm and one collective it offers.
struct Row {
  const Algorithm* algorithm = nullptr;
  Collective collective = Collective::all_reduce;
  std::size_t unfit = 0;  // cases left out because `fits` says no
};

struct Cases {
  std::vector<Row> rows;
  std::vector<Case> cases;                    // the largest first, so that the threads end together
  std::map<Rank, std::vector<Shape>> shapes;  // those that algorithms which follow one are tried on, by ranks
};

/// "1-64", "1,4", "2,8-16": ascending, each once.
Result<std::vector<std::uint32_t>> parse_numbers(const std::string& text);

/// Algorithms that follow a shape get every torus of up to three sides and divisions into hosts. Each rooted collective with the first, the
/// middle and the last root. An unknown name is an error that lists those there are.
Result<Cases> select_cases(const Selection& selection);

[[nodiscard]] std::string describe(const Case& one);

/// Calls check(case, schedule) for every case on that many threads (0: one a core). After the first error no new case
/// is begun, and that error is returned. `check` runs on several threads at a time.
Status run_cases(const Cases& cases, unsigned threads, const std::function<Status(const Case&, const Schedule&)>& check);

}  // namespace toric::tools
