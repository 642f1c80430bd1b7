// Every algorithm, once. To add one: its file, one line in registry.cpp, one line in CMakeLists.txt.
#pragma once

#include "toric/ir/builder.hpp"
#include "toric/ir/schedule.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toric {

class Topology;
struct Shape;

/// What a schedule is wanted for.
struct Request {
  Collective collective = Collective::all_reduce;
  Rank ranks = 1;
  Rank root = -1;                      // rooted collectives: 0 .. ranks-1
  std::uint64_t bytes = 0;             // of the full vector
  const Topology* topology = nullptr;  // null: one host, all ranks alike
  const Shape* shape = nullptr;        // of the topology; null: none that an algorithm could follow
  std::uint16_t max_lanes = 256;
  std::uint32_t pieces = 1;
};

/// What the literature says it costs on one full-duplex port a rank.
struct Cost {
  double rounds = 0;  // messages one after the other
  double bytes = 0;   // on the busiest link (one rank's port, the busier direction), in units of the full vector
};

/// The same for people: p ranks, p' the largest power of two not above p.
struct CostFormula {
  std::string_view rounds, bytes;
};

struct Algorithm {
  std::string_view name;
  std::span<const Collective> collectives;
  std::string_view when;       // for people: when it fits and when it is good
  std::string_view reference;  // where it comes from
  bool (*fits)(const Request&);
  std::uint32_t (*chunks)(const Request&);
  Cost (*cost)(const Request&);
  CostFormula (*formula)(Collective);
  void (*build)(Builder&, const Request&);
  /// Schedule::place; null: the schedule's order is the API's.
  std::vector<std::uint32_t> (*place)(const Request&) = nullptr;
  /// Fits only requests that have a shape; its cost is that of the shape.
  bool follows_shape = false;

  [[nodiscard]] bool offers(Collective collective) const;
};

[[nodiscard]] std::span<const Algorithm> algorithms();
/// Null when there is none of that name.
[[nodiscard]] const Algorithm* find_algorithm(std::string_view name);

/// Builds, splits into pieces, drops implied dependencies. `only`: that rank's program alone, -1: all.
Result<Schedule> build_schedule(const Algorithm& algorithm, const Request& request, Rank only = -1);

}  // namespace toric
