// NVLink, xGMI and chip-to-chip links of the GPUs of a machine.
#pragma once

#include "toric/topology/nccl_hosts.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toric::nccl {

/// Adds them to a machine that Hosts has built, and the NVSwitches they lead to.
class GpuLinks {
 public:
  GpuLinks(const Document& document, Warnings& warnings, Machine& machine) : document_(document), warnings_(warnings), made_(machine) {}

  void build();

 private:
  /// Two GPUs, as indices of Machine::gpus, the smaller first.
  using Pair = std::pair<std::size_t, std::size_t>;
  struct Counts {
    long long up = 0, down = 0;  // from the first to the second, and back
    std::size_t line = 0;
  };
  using Pairs = std::map<Pair, Counts>;

  void warn(pugi::xml_node where, std::string_view kind, std::string_view found = {}) {
    warnings_.add(kind, document_.line_of(where), found);
  }
  [[nodiscard]] std::size_t host_of(std::size_t gpu) const { return made_.cpus[made_.gpus[gpu].cpu].host; }
  long long count_of(pugi::xml_node element);
  void index_gpus();
  void read(std::size_t gpu, pugi::xml_node element, Pairs& pairs);
  void note(std::size_t gpu, pugi::xml_node element, const std::string& target, Pairs& pairs);
  void join_pairs(const Pairs& pairs, LinkKind kind);
  void join_processor(std::size_t gpu, pugi::xml_node element);
  void join_switches();
  [[nodiscard]] double bandwidth_of(std::size_t gpu, LinkKind kind) const;

  const Document& document_;
  Warnings& warnings_;
  Machine& made_;
  std::vector<std::map<std::string, std::size_t>> gpu_at_;  // of each host, by address
  std::vector<long long> to_switch_, to_processor_;         // links of each GPU
  bool placeholder_ = false;                                // some links lead to an NVSwitch without an address
};

}  // namespace toric::nccl
