// Max-min fair sharing of links among flows: no flow can have more without one that has no more than it having less.
#pragma once

#include "toric/topology/routes.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace toric {

/// Whoever adds flows numbers them; small numbers, used again after removal, keep this small.
using FlowId = std::uint32_t;

class Sharing {
 public:
  /// Bytes/s of each link, by link number. Links that a flow uses have more than 0.
  explicit Sharing(std::span<const double> capacities);

  /// The flow's rate is 0 until settle(). `route` is not empty, names no link twice and outlives the flow.
  void add(FlowId flow, std::span<const LinkId> route);
  void remove(FlowId flow);

  /// Shares anew the links that flows came to or went from, and all that are joined to these by flows; nothing else is
  /// looked at. The flows whose rate is no longer what it was; valid until the next call.
  std::span<const FlowId> settle();

  /// Bytes/s.
  [[nodiscard]] double rate(FlowId flow) const { return flows_[flow].rate; }

 private:
  struct Link {
    double capacity = 0;
    double left = 0;            // what the flows whose rate is found leave over
    std::uint32_t waiting = 0;  // flows whose rate is not found yet
    std::uint32_t seen = 0;     // the settling that met it last
    std::vector<FlowId> flows;  // those that use it now
  };
  struct Flow {
    std::span<const LinkId> route;
    double rate = 0, rate_before = 0;
    std::uint32_t seen = 0;
    bool found = false;
  };
  struct Share {
    double each;  // what each waiting flow of the link would get
    LinkId link;
  };

  void collect_component(LinkId start);
  void visit(LinkId link);
  void fill_component();
  void sink_first(double share);
  void saturate(LinkId link, double share);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<LinkId> touched_;  // since the last settling
  std::vector<LinkId> component_links_;
  std::vector<FlowId> component_flows_;
  std::vector<Share> shares_;  // a heap, smallest first; entries may be behind
  std::vector<FlowId> changed_;
  std::uint32_t settling_ = 0;
};

}  // namespace toric
