// Real machines by name, with the sources of their numbers.
#pragma once

#include "toric/base.hpp"
#include "toric/topology/generators.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace toric {

enum class PresetKind : std::uint8_t {
  cluster,  // "dgx-h100*16": so many of it, joined by rails
  slice,    // "tpu-v4:4x4x8": chips of a pod
  node,     // "frontier": one, as it is
};

struct Preset {
  std::string_view name;  // in specs
  PresetKind kind = PresetKind::cluster;
  std::string_view what;    // one line for people
  std::string_view source;  // where its numbers come from
};

[[nodiscard]] std::span<const Preset> presets();
/// nullptr: none of that name.
[[nodiscard]] const Preset* find_preset(std::string_view name);

// Of a preset of that kind; invalid_argument for other names.

/// That many machines; the plan may still be changed.
Result<ClusterPlan> preset_cluster(std::string_view name, Rank count);
/// What a link of a slice carries.
Result<LinkSpeed> preset_link(std::string_view name);
/// Refuses sizes that the machine has no slices of. Sides wrap as the machine's do; `twisted` is make_twisted_torus.
Result<Topology> preset_slice(std::string_view name, std::span<const Rank> sides, bool twisted, LinkSpeed speed);
Result<Topology> preset_node(std::string_view name);

}  // namespace toric
