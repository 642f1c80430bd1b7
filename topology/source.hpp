// Where topologies come from besides discovery: files of several formats, and specs that generators understand.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/topology.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace toric {

/// A topology and what had to be assumed to read it: one line a default taken, for people.
struct Imported {
  Topology topology;
  std::vector<std::string> warnings;
};

// Each reader takes the whole text and the name to put before messages ("file:line: expected ..."). A text that is not of
// its format, is broken, or describes no machine is refused with invalid_argument and a reason a person can act on. No
// text, however damaged, makes a reader crash, hang or take more memory than a small multiple of its size.

/// NCCL's and RCCL's topology XML (system version 1 and 2).
Result<Imported> read_nccl_xml(std::string_view text, std::string_view name);
/// hwloc's XML, versions 1 to 3.
Result<Imported> read_hwloc_xml(std::string_view text, std::string_view name);
/// What `nvidia-smi topo -m` prints.
Result<Imported> read_nvidia_smi(std::string_view text, std::string_view name);
/// Toric's own text form (text_form.hpp).
Result<Imported> read_topology_text(std::string_view text, std::string_view name);

/// Any of the above, told apart by content, not by the name.
Result<Imported> read_topology(std::string_view text, std::string_view name);
Result<Imported> load_topology(const std::string& path);

/// "torus:4x4x8:50GB/s:1us", "dgx-h100*16", "rail:16x8": see docs/topology.md.
Result<Topology> topology_from_spec(std::string_view spec);

}  // namespace toric
