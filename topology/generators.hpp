// Topologies made from numbers: grids of chips, and clusters of hosts.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace toric {

// Every generator puts a rank on each gpu, in order, and refuses with invalid_argument what is empty or larger than this.
inline constexpr Rank most_generated_ranks = 1 << 20;
inline constexpr std::size_t most_generated_links = std::size_t{1} << 24;

/// Of each direction of a link.
struct LinkSpeed {
  double bandwidth = 0;  // bytes/s; 0: unknown
  double latency = 0;    // seconds; 0: unknown
};

/// One dimension of a grid.
struct Side {
  Rank size = 1;
  bool wraps = true;  // the last chip is joined to the first; a side of 2 is then joined by two links, and one of 1 by none
};

/// Chips joined to their neighbours; those of a grid all belong to one host, which stands for the slice. The first side
/// runs fastest: in 4x2, rank 5 has the coordinates (1, 1). Links are in the order of ranks, upward along each side.
Result<Topology> make_grid(std::span<const Side> sides, LinkSpeed speed, LinkKind kind = LinkKind::network);

/// A torus whose wrapping links are shifted along the longer sides: n x n x 2n wraps the first two sides with a shift of n
/// in the third; n x 2n x 2n wraps the first with a shift of n in both others. n is 4 or more, other sizes are refused.
Result<Topology> make_twisted_torus(std::span<const Rank> sides, LinkSpeed speed);

/// Each chip joined to each other.
Result<Topology> make_clique(Rank size, LinkSpeed speed);

/// Each chip joined to one NVSwitch.
Result<Topology> make_switch(Rank size, LinkSpeed speed);

/// How NICs are joined. A single host has no network; where there is a single leaf, it has no spines.
enum class Fabric : std::uint8_t {
  one_switch,  // all NICs to one switch
  rails,       // NIC i of every host to switch i; between rails there is no way but through the hosts
  leaf_spine,  // the NICs of neighbouring hosts to one leaf, each leaf to each spine
};

struct ClusterPlan {
  std::vector<Rank> gpus;  // of each host; hosts may differ
  Fabric fabric = Fabric::one_switch;
  bool nic_per_gpu = true;      // else one a host, behind a PCIe switch that joins it to the gpus
  Rank hosts_per_nvswitch = 1;  // above 1, the switch lies between the hosts and belongs to none
  Rank hosts_per_leaf = 4;
  Rank spines = 0;                               // 0: one for each NIC of the largest host
  double taper = 1;                              // of the fullest leaf: its NICs' bandwidth over its uplinks'; the uplinks share alike
  LinkSpeed nvlink;                              // gpu to NVSwitch; a gpu that is alone has no switch
  LinkSpeed pcie;                                // gpu to NIC; bandwidth 0: that of the network
  LinkSpeed network;                             // NIC to switch; the latency also of leaf to spine
  std::string host_model, gpu_model, nic_model;  // may be empty
};

Result<Topology> make_cluster(const ClusterPlan& plan);

}  // namespace toric
