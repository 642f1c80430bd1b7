// The matrices of hwloc's XML that tell how GPUs, NVSwitches and processors are wired.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/nccl_document.hpp"

#include <string>
#include <vector>

namespace toric::hwloc_xml {

/// values[from * objects.size() + to], in MB/s; 0: no link.
struct Bandwidths {
  pugi::xml_node element;
  std::vector<std::string> objects;  // gp_index of each
  std::vector<double> values;
};

/// All matrices of NVLinks; invalid_argument with the line of one that is not square or holds no numbers.
Result<std::vector<Bandwidths>> nvlink_bandwidths(const nccl::Document& document);

}  // namespace toric::hwloc_xml
