// The hosts of NCCL's topology XML: processors, and the trees of PCI functions below them with GPUs and NICs.
#pragma once

#include "toric/topology/nccl_document.hpp"
#include "toric/topology/nccl_values.hpp"
#include "toric/topology/topology.hpp"

#include <pugixml.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace toric::nccl {

struct Cpu {
  NodeId package = no_node;
  std::size_t host = 0;
  int numa = -1;
  Processor processor;
};

struct Gpu {
  NodeId node = no_node;
  std::size_t cpu = 0;  // index into Machine::cpus
  pugi::xml_node element;
};

struct Nic {
  NodeId node = no_node;
  double bandwidth = 0;  // bytes/s to the network; 0: unknown
};

struct Machine {
  Topology topology;
  std::vector<NodeId> hosts;
  std::vector<Cpu> cpus;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
};

/// Fills an empty machine from the cpu elements of the root: everything but the links of GPUs among one another.
class Hosts {
 public:
  Hosts(const Document& document, Warnings& warnings, Machine& machine) : document_(document), warnings_(warnings), made_(machine) {}

  Status build();

 private:
  /// Where in the tree of PCI functions we are.
  struct Place {
    NodeId above = no_node;
    double bandwidth = 0;
  };

  void warn(pugi::xml_node where, std::string_view kind, std::string_view found = {}) {
    warnings_.add(kind, document_.line_of(where), found);
  }
  /// The attribute as a number; `otherwise`, silently, where there is none, and with a warning where it is none.
  long long number(pugi::xml_node element, const char* attribute, long long otherwise);
  void add_hosts();
  Status add_cpu(pugi::xml_node element);
  std::vector<int> affinity_of(pugi::xml_node element);
  void add_inside(pugi::xml_node element, NodeId above);
  void add_pci(pugi::xml_node element, NodeId above);
  NodeId add_function(pugi::xml_node element, NodeId above, double bandwidth);
  void add_devices(pugi::xml_node element, Place place, const std::string& address);
  NodeId add_gpu(pugi::xml_node element, Place place, const std::string& address);
  void add_net(pugi::xml_node element, Place place, const std::string& address);
  double network_bandwidth(pugi::xml_node net);
  double pci_bandwidth(pugi::xml_node element);
  std::string address_of(pugi::xml_node element);
  void leave_out(pugi::xml_node element);
  void join_packages();

  const Document& document_;
  Warnings& warnings_;
  Machine& made_;
  std::vector<std::string> hashes_;
  std::vector<std::set<std::string>> addresses_;  // of each host
};

}  // namespace toric::nccl
