#include "toric/simulate/sharing.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace toric {

Sharing::Sharing(std::span<const double> capacities) : links_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void Sharing::add(FlowId flow, std::span<const LinkId> route) {
  if (flow >= flows_.size()) flows_.resize(flow + std::size_t{1});
  flows_[flow].route = route;
  flows_[flow].rate = 0;
  for (const LinkId link : route) {
    links_[link].flows.push_back(flow);
    touched_.push_back(link);
  }
}

void Sharing::remove(FlowId flow) {
  for (const LinkId link : flows_[flow].route) {
    std::vector<FlowId>& users = links_[link].flows;
    *std::ranges::find(users, flow) = users.back();
    users.pop_back();
    touched_.push_back(link);
  }
  flows_[flow].route = {};
}

std::span<const FlowId> Sharing::settle() {
  changed_.clear();
  ++settling_;
  for (const LinkId link : touched_) {
    if (links_[link].seen == settling_ || links_[link].flows.empty()) continue;
    collect_component(link);
    fill_component();
    for (const FlowId flow : component_flows_)
      if (flows_[flow].rate != flows_[flow].rate_before) changed_.push_back(flow);
  }
  touched_.clear();
  return changed_;
}

void Sharing::visit(LinkId link) {
  Link& it = links_[link];
  if (it.seen == settling_) return;
  it.seen = settling_;
  it.left = it.capacity;
  it.waiting = static_cast<std::uint32_t>(it.flows.size());
  component_links_.push_back(link);
}

void Sharing::collect_component(LinkId start) {
  component_links_.clear();
  component_flows_.clear();
  visit(start);
  std::size_t looked_at = 0;
  while (looked_at < component_links_.size())  // visiting adds to them
    for (const FlowId id : links_[component_links_[looked_at++]].flows) {
      Flow& flow = flows_[id];
      if (flow.seen == settling_) continue;
      flow.seen = settling_;
      flow.rate_before = flow.rate;
      flow.found = false;
      component_flows_.push_back(id);
      for (const LinkId link : flow.route) visit(link);
    }
}

// Progressive filling: all rates rise together; where a link is full, its flows have what they get. A link's share never
// falls while others fill up, so an entry of the heap that is behind sinks to where it belongs when it comes up.
void Sharing::fill_component() {
  shares_.clear();
  for (const LinkId link : component_links_) shares_.push_back({links_[link].capacity / links_[link].waiting, link});
  std::ranges::make_heap(shares_, std::greater<>(), &Share::each);
  std::size_t found = 0;
  while (found < component_flows_.size()) {
    const auto [share, id] = shares_.front();
    const Link& link = links_[id];
    const double share_now = link.waiting > 0 ? link.left / link.waiting : std::numeric_limits<double>::infinity();
    if (share_now > share) {
      sink_first(share_now);
      continue;
    }
    found += link.waiting;
    saturate(id, share_now);
  }
}

void Sharing::sink_first(double share) {
  const Share entry{share, shares_.front().link};
  std::size_t at = 0;
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= shares_.size()) break;
    if (child + 1 < shares_.size() && shares_[child + 1].each < shares_[child].each) ++child;
    if (shares_[child].each >= share) break;
    shares_[at] = shares_[child];
    at = child;
  }
  shares_[at] = entry;
}

void Sharing::saturate(LinkId full, double share) {
  for (const FlowId id : links_[full].flows) {
    Flow& flow = flows_[id];
    if (flow.found) continue;
    flow.found = true;
    flow.rate = share;
    for (const LinkId link : flow.route) {
      links_[link].left -= share;
      --links_[link].waiting;
    }
  }
}

}  // namespace toric
