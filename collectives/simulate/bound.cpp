#include "toric/simulate/bound.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

namespace toric {

namespace {

bool is_fabric(LinkKind kind) { return kind == LinkKind::nvlink || kind == LinkKind::xgmi || kind == LinkKind::network; }

/// Bytes/s out of each rank over all its ports, by rank; 0: unknown.
std::vector<double> rank_ports(const Topology& topology) {
  struct Ports {
    double fabric = 0, others = 0;
  };
  std::vector<Ports> of_node(topology.nodes.size());
  for (const TopologyLink& link : topology.links) {
    Ports& ports = of_node[static_cast<std::size_t>(link.from)];
    (is_fabric(link.kind) ? ports.fabric : ports.others) += link.bandwidth;
  }
  std::vector<double> of_rank;
  for (const NodeId rank : topology.ranks) {
    const Ports& ports = of_node[static_cast<std::size_t>(rank)];
    of_rank.push_back(ports.fabric > 0 ? ports.fabric : ports.others);
  }
  return of_rank;
}

/// Of each unit that is meant by "vector", how much a group of `part` of `groups` equal groups has to send.
double share_sent(Collective collective, double groups) {
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (groups - 1) / groups;
    case Collective::broadcast:
    case Collective::reduce:
      return 1;
    case Collective::barrier:
      return 0;
    default:
      return (groups - 1) / groups;
  }
}

/// Links that leave each host, one way, added up; empty where there is one host only.
std::map<NodeId, double> host_ports(const Topology& topology) {
  std::map<NodeId, double> ports;
  for (const NodeId rank : topology.ranks) ports.try_emplace(topology.host_of(rank), 0);
  if (ports.size() < 2) return {};
  for (const TopologyLink& link : topology.links) {
    const auto from = ports.find(topology.host_of(link.from));
    if (from != ports.end() && topology.host_of(link.to) != from->first) from->second += link.bandwidth;
  }
  return ports;
}

std::string gigabytes(double bytes_per_second) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, bytes_per_second / 1e9, std::chars_format::general, 4).ptr;
  return std::string(text, end) + " GB/s";
}

void keep_larger(Bound& bound, double seconds, std::string why) {
  if (seconds > bound.seconds) bound = {seconds, std::move(why)};
}

}  // namespace

Bound lower_bound(const Topology& topology, Collective collective, std::uint64_t bytes) {
  Bound bound;
  const auto ranks = static_cast<double>(topology.ranks.size());
  if (ranks < 2) return bound;
  const std::vector<double> ports = rank_ports(topology);
  double slowest = 0;
  for (const double port : ports)
    if (port > 0) slowest = slowest == 0 ? port : std::min(slowest, port);
  // The average over ranks must send this much, so the bound holds where all have equal ports; else the slowest's is used
  // only for what each single rank must send: an all-reduce's own contribution, once.
  const bool alike = std::all_of(ports.begin(), ports.end(), [&](double port) { return port == slowest; });
  const double share = alike ? share_sent(collective, ranks) : std::min(1.0, share_sent(collective, ranks));
  if (slowest > 0) keep_larger(bound, share * static_cast<double>(bytes) / slowest, "each rank's ports, " + gigabytes(slowest));
  const auto hosts = host_ports(topology);
  if (hosts.empty()) return bound;
  const auto least = std::min_element(hosts.begin(), hosts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool hosts_alike = std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host.second == least->second; });
  const double host_share = share_sent(collective, static_cast<double>(hosts.size()));
  if (least->second > 0)
    keep_larger(bound, (hosts_alike ? host_share : std::min(1.0, host_share)) * static_cast<double>(bytes) / least->second,
                "each host's network ports, " + gigabytes(least->second));
  return bound;
}

}  // namespace toric
