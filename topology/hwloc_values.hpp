// What the attributes of hwloc's XML stand for.
#pragma once

#include "toric/topology/nccl_document.hpp"
#include "toric/topology/topology.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toric::hwloc_xml {

/// Numbers of set bits, ascending, from hexadecimal words of 32 bits, the most significant first; empty words are 0. An
/// endless set ("0xf...f") counts as unknown: empty. Nothing: not such words, or a number of 2^20 or more.
std::optional<std::vector<int>> bits(std::string_view words);

/// One device of the operating system, whatever the version calls it.
struct SystemDevice {
  std::string name;
  bool graphics = false, compute = false, net = false, fabrics = false;
};
/// `version` 1, 2: osdev_type is one number of a list; from 3 on, it is a mask.
SystemDevice system_device(pugi::xml_node element, int version);

/// What one PCI function is to us; other: storage, displays of management controllers, whatever carries no traffic of ours.
enum class Role { other, gpu, nic };

struct Function {
  Role role = Role::other;
  std::string address;             // empty: none, or none that can be read
  std::vector<std::string> names;  // of nic nodes; one or more where it is a nic
  int gpu_number = -1;             // the driver's number; -1: it told none
  std::string gpu_model;           // what its driver calls it; empty: it did not tell
};
Function function_of(pugi::xml_node element, int version);

/// The value of an `info` child; empty: there is none.
std::string info(pugi::xml_node element, std::string_view name);

/// What becomes of an object that is no device; nothing: its children take its parent.
std::optional<NodeKind> kind_of(pugi::xml_node element);
/// 1 to 5 for caches that hold data; 0 for all other objects, caches of instructions too.
int cache_level(pugi::xml_node element);

inline std::string_view type_of(pugi::xml_node element) { return element.attribute("type").value(); }
inline bool is_object(pugi::xml_node element) { return std::string_view(element.name()) == "object"; }
inline bool is_device(pugi::xml_node element) {
  const std::string_view type = type_of(element);
  return type == "Bridge" || type == "PCIDev" || type == "OSDev";
}
inline bool is_memory(pugi::xml_node element) { return type_of(element) == "NUMANode" || type_of(element) == "MemCache"; }

}  // namespace toric::hwloc_xml
