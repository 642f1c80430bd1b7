#include "toric/topology/nccl_gpu_links.hpp"

#include <algorithm>

namespace toric::nccl {

namespace {

constexpr long long most_links = 1024;  // of one element
// What NCCL writes where the driver does not name the switch: in virtual machines, and where trays share switches.
constexpr std::string_view unnamed_switch = "fffffff:ff:ff.0";

std::string_view text_of(pugi::xml_node element, const char* attribute) { return element.attribute(attribute).value(); }

enum class Target { gpu, nvswitch, processor };

Target target_of(std::string_view kind, std::string_view arch) {
  const bool power = arch.starts_with("ppc64");
  if (kind.starts_with("0x068001") || kind.starts_with("0x0604") || (power && kind.starts_with("0x0680"))) return Target::processor;
  return kind.starts_with("0x0680") ? Target::nvswitch : Target::gpu;
}

}  // namespace

void GpuLinks::build() {
  index_gpus();
  to_switch_.assign(made_.gpus.size(), 0);
  to_processor_.assign(made_.gpus.size(), 0);
  Pairs nvlinks, xgmis;
  for (std::size_t gpu = 0; gpu < made_.gpus.size(); ++gpu) {
    for (const pugi::xml_node element : made_.gpus[gpu].element.children("nvlink")) read(gpu, element, nvlinks);
    for (const pugi::xml_node element : made_.gpus[gpu].element.children("xgmi")) read(gpu, element, xgmis);
    for (const pugi::xml_node element : made_.gpus[gpu].element.children("c2c")) join_processor(gpu, element);
    if (to_processor_[gpu] > 0)
      made_.topology.join(made_.gpus[gpu].node, made_.cpus[made_.gpus[gpu].cpu].package, LinkKind::nvlink,
                          static_cast<double>(to_processor_[gpu]) * bandwidth_of(gpu, LinkKind::nvlink));
  }
  join_pairs(nvlinks, LinkKind::nvlink);
  join_pairs(xgmis, LinkKind::xgmi);
  join_switches();
}

void GpuLinks::index_gpus() {
  gpu_at_.resize(made_.hosts.size());
  for (std::size_t gpu = 0; gpu < made_.gpus.size(); ++gpu)
    if (const std::string& address = made_.topology.node(made_.gpus[gpu].node).address; !address.empty())
      gpu_at_[host_of(gpu)].emplace(address, gpu);
}

long long GpuLinks::count_of(pugi::xml_node element) {
  const auto count = integer(text_of(element, "count"));
  if (count && *count > 0 && *count <= most_links) return *count;
  warn(element, std::string("no count of <") + element.name() + "> from 1 to 1024; taken as 1", text_of(element, "count"));
  return 1;
}

void GpuLinks::read(std::size_t gpu, pugi::xml_node element, Pairs& pairs) {
  if (text_of(element, "target").empty()) {
    warn(element, std::string("no target of <") + element.name() + ">; left out");
    return;
  }
  switch (target_of(text_of(element, "tclass"), made_.cpus[made_.gpus[gpu].cpu].processor.arch)) {
    case Target::processor:
      to_processor_[gpu] += count_of(element);
      return;
    case Target::nvswitch:
      placeholder_ = placeholder_ || address(text_of(element, "target")) == unnamed_switch;
      to_switch_[gpu] += count_of(element);
      return;
    case Target::gpu:
      note(gpu, element, address(text_of(element, "target")), pairs);
  }
}

void GpuLinks::note(std::size_t gpu, pugi::xml_node element, const std::string& target, Pairs& pairs) {
  const auto& known = gpu_at_[host_of(gpu)];
  const auto found = known.find(target);
  if (found == known.end()) {
    warn(element, std::string("target of <") + element.name() + "> is no GPU of this host; left out", text_of(element, "target"));
    return;
  }
  const std::size_t other = found->second;
  if (made_.gpus[other].element.parent() == made_.gpus[gpu].element.parent()) {
    warn(element, std::string("target of <") + element.name() + "> is the GPU itself; left out", text_of(element, "target"));
    return;
  }
  Counts& counts = pairs[{std::min(gpu, other), std::max(gpu, other)}];
  if (counts.line == 0) counts.line = document_.line_of(element);
  (gpu < other ? counts.up : counts.down) += count_of(element);
}

void GpuLinks::join_pairs(const Pairs& pairs, LinkKind kind) {
  for (const auto& [pair, counts] : pairs) {
    long long links = std::min(counts.up, counts.down);
    if (links == 0) {
      links = std::max(counts.up, counts.down);
      warnings_.add("links between two GPUs are listed by one of them only; taken as going both ways", counts.line);
    } else if (counts.up != counts.down) {
      warnings_.add("two GPUs list different numbers of links to one another; the smaller is taken", counts.line);
    }
    const double bandwidth = std::min(bandwidth_of(pair.first, kind), bandwidth_of(pair.second, kind));
    made_.topology.join(made_.gpus[pair.first].node, made_.gpus[pair.second].node, kind, static_cast<double>(links) * bandwidth);
  }
}

void GpuLinks::join_processor(std::size_t gpu, pugi::xml_node element) {
  const auto megabytes = integer(text_of(element, "bw"));
  double bandwidth = 0;
  if (megabytes && *megabytes > 0)
    bandwidth = static_cast<double>(*megabytes) * 1e6 * static_cast<double>(count_of(element));
  else
    warn(element, "no bw of <c2c>; its bandwidth is unknown", text_of(element, "bw"));
  made_.topology.join(made_.gpus[gpu].node, made_.cpus[made_.gpus[gpu].cpu].package, LinkKind::c2c, bandwidth);
}

void GpuLinks::join_switches() {
  const bool shared = placeholder_ && made_.hosts.size() > 1;
  std::vector<NodeId> switch_of(made_.hosts.size(), no_node);
  for (std::size_t gpu = 0; gpu < made_.gpus.size(); ++gpu) {
    if (to_switch_[gpu] == 0) continue;
    NodeId& nvswitch = switch_of[shared ? 0 : host_of(gpu)];
    if (nvswitch == no_node) {
      TopologyNode node;
      node.kind = NodeKind::nvswitch;
      node.name = "NVSwitch";
      node.parent = shared ? no_node : made_.hosts[host_of(gpu)];
      nvswitch = made_.topology.add(std::move(node));
      if (shared)
        warnings_.add("NVSwitches without an address; taken as one that all hosts share", document_.line_of(made_.gpus[gpu].element));
    }
    made_.topology.join(made_.gpus[gpu].node, nvswitch, LinkKind::nvlink,
                        static_cast<double>(to_switch_[gpu]) * bandwidth_of(gpu, LinkKind::nvlink));
  }
}

double GpuLinks::bandwidth_of(std::size_t gpu, LinkKind kind) const {
  const pugi::xml_node element = made_.gpus[gpu].element;
  if (kind == LinkKind::xgmi) return xgmi_bandwidth(text_of(element, "gcn"));
  return nvlink_bandwidth(integer(text_of(element, "sm")).value_or(0));
}

}  // namespace toric::nccl
