// The table that `nvidia-smi topo -m` prints, checked but not yet understood as a machine.
#pragma once

#include "toric/base.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toric::nvidia {

/// How two devices reach one another: the nearest thing that all traffic between them passes.
enum class Path { self, bridge, bridges, host_bridge, numa_node, system, nvlink };

struct Cell {
  Path path = Path::self;
  int links = 0;  // NVLinks

  friend bool operator==(const Cell&, const Cell&) = default;
};

struct Device {
  std::string name;
  bool gpu = false;
  std::vector<int> cpus;  // empty: not told
  std::vector<int> numa;  // nodes; empty: not told
};

struct Table {
  std::vector<Device> devices;
  std::vector<std::vector<Cell>> cells;  // square, symmetric, self on the diagonal
  std::size_t line = 0;                  // of the header
};

/// invalid_argument with name and line of what is no such table.
Result<Table> read_table(std::string_view text, std::string_view name);

}  // namespace toric::nvidia
