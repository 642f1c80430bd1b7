// The simulator: how long a schedule takes on a modelled machine. See README.md for the model.
#pragma once

#include "toric/base.hpp"
#include "toric/ir/schedule.hpp"
#include "toric/topology/routes.hpp"
#include "toric/topology/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace toric {

struct SimulationOptions {
  std::uint64_t bytes = 0;             // of the full vector; what is no whole element (of each block) is left out
  std::size_t element = 4;             // bytes of one
  double step_overhead = 0;            // seconds that each message waits before its latency, whatever its size
  double reduce_seconds_per_byte = 0;  // of recv_reduce, after the last byte has arrived, and of reduce
  double copy_seconds_per_byte = 0;    // of copy
  double default_bandwidth = 0;        // bytes/s of links whose bandwidth is unknown; 0: such a link is refused
  // How many messages at a time leave by one link; the others wait, and the earliest step of the sender goes first. A step's
  // number orders it by piece, so this is what makes pieces overlap. 0: all share the link at once.
  std::uint32_t messages_per_port = 0;
  bool timeline = false;
};

/// What one step of one rank did. Both ends of a message have one. A receive that finds its message in a buffer begins when it
/// is reached.
struct Transfer {
  Rank rank = 0;
  std::uint32_t step = 0;  // index into the rank's program
  double begin = 0;        // seconds; of a send or receive: both ends are there and the latency begins
  double end = 0;          // seconds; of a send or receive: the data is there, and reduced
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

inline constexpr LinkId no_link = UINT32_MAX;

struct Simulation {
  double seconds = 0;                // until the last step ended
  LinkId busiest_link = no_link;     // the one that its bytes keep busy longest at full bandwidth, the first such; no_link: nothing moved
  double busiest_bytes = 0;          // that went over it
  double busiest_busy_fraction = 0;  // of what it could have carried in `seconds`
  std::vector<double> link_bytes;    // by link
  std::vector<Transfer> timeline;    // in the order of ending; empty unless asked for
  std::uint64_t events = 0;          // that the simulation took
};

/// The variant of a route that a rank's messages of a channel take. Where ways are equally good, two channels of one rank take
/// two, and so do two ranks next to each other: on a fabric of leaves and spines the ranks of a leaf use all of its spines.
[[nodiscard]] std::uint32_t simulation_variant(Rank from, std::uint16_t channel);

/// Ranks are where `topology.ranks` has them. Refused with invalid_argument: a schedule that is not well formed, has a send
/// without its receive or does not end; more ranks than the topology has; ranks with no way between them; a link that is
/// used and has no bandwidth; options that are no numbers from 0 up.
[[nodiscard]] Result<Simulation> simulate(const Schedule& schedule, const Topology& topology, const Routes& routes,
                                          const SimulationOptions& options);

}  // namespace toric
