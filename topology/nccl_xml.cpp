// NCCL's and RCCL's topology XML: what is around the hosts and their links.
#include "toric/topology/nccl_gpu_links.hpp"
#include "toric/topology/nccl_hosts.hpp"
#include "toric/topology/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace toric {

namespace {

Status check_root(const nccl::Document& document) {
  const pugi::xml_node root = document.root();
  const std::string_view name = root.name();
  if (name != "system") {
    const bool fragment = name == "cpu" || name == "pci" || name == "gpu";
    return document.wrong(root, fmt::format("expected <system version=\"1\"> outermost, found <{}>{}", name,
                                            fragment ? ": a part of a topology; what is around it is missing" : ""));
  }
  const pugi::xml_attribute version = root.attribute("version");
  if (!version) return document.wrong(root, "expected version 1 (NCCL) or 2 (RCCL) in <system>, found none");
  const auto number = nccl::integer(version.value());
  if (number != 1 && number != 2)
    return document.wrong(root, fmt::format("expected version 1 (NCCL) or 2 (RCCL) in <system>, found '{}'", version.value()));
  return {};
}

struct Placed {
  std::size_t host = 0;
  long long rank = 0;
  NodeId node = no_node;
};

/// By the ranks in the file, if these are different; in a file merged from several hosts, each may count for itself.
void place(nccl::Machine& machine, nccl::Warnings& warnings, std::size_t line) {
  machine.topology.rank_everything();
  std::vector<Placed> placed;
  for (const nccl::Gpu& gpu : machine.gpus)
    if (const auto rank = nccl::integer(gpu.element.attribute("rank").value()); rank && *rank >= 0)
      placed.push_back({machine.cpus[gpu.cpu].host, *rank, gpu.node});
  if (machine.gpus.empty()) return;
  if (placed.size() != machine.gpus.size()) {
    warnings.add("not every <gpu> has a rank; ranks follow the order of the file", line);
    return;
  }
  const auto same_rank = [](const Placed& a, const Placed& b) { return a.rank == b.rank; };
  const auto same_both = [](const Placed& a, const Placed& b) { return a.rank == b.rank && a.host == b.host; };
  std::ranges::stable_sort(placed, {}, &Placed::rank);
  if (std::ranges::adjacent_find(placed, same_rank) != placed.end()) {
    std::ranges::stable_sort(placed, {}, [](const Placed& one) { return std::pair(one.host, one.rank); });
    const bool of_hosts = std::ranges::adjacent_find(placed, same_both) == placed.end();
    warnings.add(of_hosts ? "each host counts its ranks from the same number; they are counted on from host to host"
                          : "two GPUs have one rank; ranks follow the order of the file",
                 line);
    if (!of_hosts) return;
  }
  std::ranges::transform(placed, machine.topology.ranks.begin(), &Placed::node);
}

/// One host's NICs lead nowhere in the file; of several they are what joins them.
void join_hosts(nccl::Machine& machine, nccl::Warnings& warnings, std::size_t line) {
  if (machine.hosts.size() < 2 || machine.nics.empty()) return;
  TopologyNode node;
  node.kind = NodeKind::network_switch;
  node.name = "network";
  const NodeId network = machine.topology.add(std::move(node));
  for (const nccl::Nic& nic : machine.nics) machine.topology.join(nic.node, network, LinkKind::network, nic.bandwidth);
  warnings.add("the file does not tell what is between the NICs of several hosts; taken as one switch", line);
}

}  // namespace

Result<Imported> read_nccl_xml(std::string_view text, std::string_view name) {
  nccl::Document document;
  TORIC_TRY(document.parse(text, name));
  TORIC_TRY(check_root(document));
  nccl::Machine machine;
  nccl::Warnings warnings;
  TORIC_TRY(nccl::Hosts(document, warnings, machine).build());
  nccl::GpuLinks(document, warnings, machine).build();
  const std::size_t line = document.line_of(document.root());
  join_hosts(machine, warnings, line);
  place(machine, warnings, line);
  return Imported{std::move(machine.topology), warnings.lines(name)};
}

}  // namespace toric
