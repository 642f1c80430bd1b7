// Specs: topologies in a few words. Their grammar is in docs/topology.md.
#include "toric/topology/generators.hpp"
#include "toric/topology/presets.hpp"
#include "toric/topology/quantity.hpp"
#include "toric/topology/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

namespace toric {

namespace {

// An H100's NVLink and NIC, and NCCL's latencies of them; PCIe carries what the network does.
constexpr LinkSpeed cluster_nvlink = {450e9, 0.3e-6};
constexpr LinkSpeed cluster_pcie = {0, 0.35e-6};
constexpr LinkSpeed cluster_network = {50e9, 1e-6};
constexpr LinkSpeed chip_link = {50e9, 1e-6};

constexpr std::string_view digits = "0123456789";
constexpr std::string_view name_letters = "abcdefghijklmnopqrstuvwxyz0123456789-";

/// One part between colons: where it goes, and under which key ("" has none).
struct Option {
  std::string_view key;
  std::variant<LinkSpeed*, Rank*, double*, bool*> target;
};

class SpecReader {
 public:
  explicit SpecReader(std::string_view spec) : spec_(spec) {}
  Result<Topology> read();

 private:
  using Maker = Result<Topology> (SpecReader::*)();
  struct Name {
    std::string_view name;
    Maker make;
  };
  static std::span<const Name> names();
  static std::string all_names();

  Status refused(std::size_t position, std::string_view what) const {
    return {Code::invalid_argument, fmt::format("spec '{}', character {}: {}", spec_, position + 1, what)};
  }
  Status expected(std::string_view what) const;
  Result<Topology> placed(std::size_t position, Result<Topology> made) const {
    return made ? std::move(made) : Result<Topology>(refused(position, made.status().text()));
  }
  bool take(char letter);
  std::string_view take_any(std::string_view letters);
  Status take_colon(std::string_view what) { return take(':') ? Status() : expected(fmt::format("':' and {}", what)); }
  Status read_count(Rank& count, std::string_view what);
  Status read_sides(std::vector<Rank>& sides);
  Status read_side(Side& side, bool wraps);
  Status read_options(std::span<const Option> options);
  Status read_option(std::span<const Option> options);
  Status read_value(const Option& option, std::string_view text, std::size_t position);
  Status read_speed(LinkSpeed& speed, std::string_view text, std::size_t position);
  Status read_cluster_size(ClusterPlan& plan);
  Result<Topology> read_cluster(ClusterPlan plan, bool has_leaves);

  Result<Topology> torus() { return grid(true); }
  Result<Topology> mesh() { return grid(false); }
  Result<Topology> grid(bool wraps);
  Result<Topology> twisted();
  Result<Topology> ring() { return row(true); }
  Result<Topology> line() { return row(false); }
  Result<Topology> row(bool wraps);
  Result<Topology> clique() { return group(make_clique); }
  Result<Topology> one_switch() { return group(make_switch); }
  Result<Topology> group(Result<Topology> (*make)(Rank, LinkSpeed));
  Result<Topology> fat_tree();
  Result<Topology> rail();
  Result<Topology> hosts();
  Result<Topology> preset(const Preset& preset);
  Result<Topology> slice(const Preset& preset);

  std::string_view spec_;
  std::size_t position_ = 0;
};

std::span<const SpecReader::Name> SpecReader::names() {
  static constexpr Name known[] = {{"torus", &SpecReader::torus},       {"mesh", &SpecReader::mesh},
                                   {"twisted", &SpecReader::twisted},   {"ring", &SpecReader::ring},
                                   {"line", &SpecReader::line},         {"clique", &SpecReader::clique},
                                   {"switch", &SpecReader::one_switch}, {"fat-tree", &SpecReader::fat_tree},
                                   {"rail", &SpecReader::rail},         {"hosts", &SpecReader::hosts}};
  return known;
}

std::string SpecReader::all_names() {
  std::string all;
  for (const Name& one : names()) all += (all.empty() ? "" : ", ") + std::string(one.name);
  for (const Preset& one : presets()) all += ", " + std::string(one.name);
  return all;
}

Status SpecReader::expected(std::string_view what) const {
  constexpr std::size_t longest = 20;
  const std::string_view rest = spec_.substr(position_);
  const std::string found = rest.empty() ? "the end" : fmt::format("'{}{}'", rest.substr(0, longest), rest.size() > longest ? "..." : "");
  return refused(position_, fmt::format("expected {}, found {}", what, found));
}

bool SpecReader::take(char letter) {
  if (position_ == spec_.size() || spec_[position_] != letter) return false;
  ++position_;
  return true;
}

std::string_view SpecReader::take_any(std::string_view letters) {
  const std::size_t end = std::min(spec_.find_first_not_of(letters, position_), spec_.size());
  const std::string_view taken = spec_.substr(position_, end - position_);
  position_ = end;
  return taken;
}

Status SpecReader::read_count(Rank& count, std::string_view what) {
  const std::size_t start = position_;
  const auto value = parse_whole(take_any(digits), most_generated_ranks);
  if (value && *value > 0) {
    count = static_cast<Rank>(*value);
    return {};
  }
  position_ = start;
  return expected(fmt::format("{} from 1 to {}", what, most_generated_ranks));
}

Status SpecReader::read_side(Side& side, bool wraps) {
  side.wraps = wraps;
  TORIC_TRY(read_count(side.size, "a size"));
  if (take('w'))
    side.wraps = true;
  else if (take('l') || (side.size == 2 && take('s')))
    side.wraps = false;
  return {};
}

Status SpecReader::read_sides(std::vector<Rank>& sides) {
  do {
    TORIC_TRY(read_count(sides.emplace_back(), "a size"));
  } while (take('x'));
  return {};
}

Status SpecReader::read_speed(LinkSpeed& speed, std::string_view text, std::size_t position) {
  for (std::size_t first = 0; first <= text.size();) {
    const std::string_view one = text.substr(first, text.find(',', first) - first);
    const auto bandwidth = parse_bandwidth(one);
    const auto latency = parse_latency(one);
    if (!bandwidth && !latency)
      return refused(position + first, fmt::format("expected a bandwidth (as 50GB/s or 400Gb/s) or a latency (as 1us), found '{}'", one));
    (bandwidth ? speed.bandwidth : speed.latency) = bandwidth ? *bandwidth : *latency;
    first += one.size() + 1;
  }
  return {};
}

Status SpecReader::read_value(const Option& option, std::string_view text, std::size_t position) {
  if (auto* const* speed = std::get_if<LinkSpeed*>(&option.target)) return read_speed(**speed, text, position);
  if (auto* const* count = std::get_if<Rank*>(&option.target)) {
    const auto value = parse_whole(text, most_generated_ranks);
    if (!value || *value < 1)
      return refused(position, fmt::format("expected a number from 1 to {}, found '{}'", most_generated_ranks, text));
    **count = static_cast<Rank>(*value);
    return {};
  }
  // A plain number is read as so many bytes/s, which has the same grammar.
  const auto value = parse_bandwidth(std::string(text) + "B/s");
  if (!value || *value <= 0) return refused(position, fmt::format("expected a number above 0, as 2 or 1.75, found '{}'", text));
  *std::get<double*>(option.target) = *value;
  return {};
}

Status SpecReader::read_option(std::span<const Option> options) {
  const std::size_t start = position_;
  const std::string_view part = spec_.substr(start, spec_.find(':', start) - start);
  const std::size_t equals = part.find('=');
  const std::string_view key = part.substr(0, equals);
  std::string choices;
  for (const Option& option : options) {
    const bool is_flag = std::holds_alternative<bool*>(option.target);
    const bool bare = option.key.empty();
    choices += (choices.empty() ? "" : ", ") + (bare ? "a bandwidth, a latency" : std::string(option.key) + (is_flag ? "" : "="));
    const bool is_quantity = equals == std::string_view::npos && !part.empty() && digits.find(part[0]) != std::string_view::npos;
    if (bare ? !is_quantity : key != option.key || is_flag != (equals == std::string_view::npos)) continue;
    position_ = start + part.size();
    if (is_flag) {
      *std::get<bool*>(option.target) = true;
      return {};
    }
    const std::size_t value = bare ? 0 : equals + 1;
    return read_value(option, part.substr(value), start + value);
  }
  return expected("one of: " + choices);
}

Status SpecReader::read_options(std::span<const Option> options) {
  while (take(':')) TORIC_TRY(read_option(options));
  return position_ == spec_.size() ? Status() : expected("':' or the end");
}

Result<Topology> SpecReader::grid(bool wraps) {
  TORIC_TRY(take_colon("sizes, as 4x4"));
  const std::size_t start = position_;
  std::vector<Side> sides;
  do {
    TORIC_TRY(read_side(sides.emplace_back(), wraps));
  } while (take('x'));
  LinkSpeed speed = chip_link;
  const Option options[] = {{"", &speed}};
  TORIC_TRY(read_options(options));
  return placed(start, make_grid(sides, speed));
}

Result<Topology> SpecReader::twisted() {
  TORIC_TRY(take_colon("sizes, as 4x4x8"));
  const std::size_t start = position_;
  std::vector<Rank> sides;
  TORIC_TRY(read_sides(sides));
  LinkSpeed speed = chip_link;
  const Option options[] = {{"", &speed}};
  TORIC_TRY(read_options(options));
  return placed(start, make_twisted_torus(sides, speed));
}

Result<Topology> SpecReader::row(bool wraps) {
  TORIC_TRY(take_colon("a size, as 8"));
  const std::size_t start = position_;
  Side side;
  TORIC_TRY(read_count(side.size, "a size"));
  side.wraps = wraps && !(side.size == 2 && take('s'));
  LinkSpeed speed = chip_link;
  const Option options[] = {{"", &speed}};
  TORIC_TRY(read_options(options));
  return placed(start, make_grid({&side, 1}, speed, LinkKind::nvlink));
}

Result<Topology> SpecReader::group(Result<Topology> (*make)(Rank, LinkSpeed)) {
  TORIC_TRY(take_colon("a size, as 8"));
  const std::size_t start = position_;
  Rank size = 0;
  TORIC_TRY(read_count(size, "a size"));
  LinkSpeed speed = chip_link;
  const Option options[] = {{"", &speed}};
  TORIC_TRY(read_options(options));
  return placed(start, make(size, speed));
}

Status SpecReader::read_cluster_size(ClusterPlan& plan) {
  TORIC_TRY(take_colon("hosts x gpus, as 16x8"));
  Rank host_count = 0;
  Rank gpus = 0;
  TORIC_TRY(read_count(host_count, "a number of hosts"));
  if (!take('x')) return expected("'x' and the gpus of a host");
  TORIC_TRY(read_count(gpus, "a number of gpus"));
  plan.gpus.assign(static_cast<std::size_t>(host_count), gpus);
  return {};
}

ClusterPlan usual_cluster(Fabric fabric) {
  ClusterPlan plan;
  plan.fabric = fabric;
  plan.nvlink = cluster_nvlink;
  plan.pcie = cluster_pcie;
  plan.network = cluster_network;
  return plan;
}

Result<Topology> SpecReader::read_cluster(ClusterPlan plan, bool has_leaves) {
  bool one_nic = false;
  std::vector<Option> options = {
      {"", &plan.network}, {"nic", &plan.network}, {"nvlink", &plan.nvlink}, {"pcie", &plan.pcie}, {"one-nic", &one_nic}};
  if (has_leaves) options.insert(options.end(), {{"leaf", &plan.hosts_per_leaf}, {"spines", &plan.spines}, {"taper", &plan.taper}});
  TORIC_TRY(read_options(options));
  plan.nic_per_gpu = !one_nic;
  return placed(0, make_cluster(plan));
}

Result<Topology> SpecReader::fat_tree() {
  ClusterPlan plan = usual_cluster(Fabric::leaf_spine);
  TORIC_TRY(read_cluster_size(plan));
  return read_cluster(std::move(plan), true);
}

Result<Topology> SpecReader::rail() {
  ClusterPlan plan = usual_cluster(Fabric::rails);
  TORIC_TRY(read_cluster_size(plan));
  return read_cluster(std::move(plan), false);
}

Result<Topology> SpecReader::hosts() {
  TORIC_TRY(take_colon("the gpus of each host, as 7+8"));
  ClusterPlan plan = usual_cluster(Fabric::one_switch);
  do {
    TORIC_TRY(read_count(plan.gpus.emplace_back(), "a number of gpus"));
  } while (take('+'));
  return read_cluster(std::move(plan), false);
}

Result<Topology> SpecReader::slice(const Preset& preset) {
  TORIC_TRY(take_colon("sizes, as 4x4x4"));
  const std::size_t start = position_;
  std::vector<Rank> sides;
  TORIC_TRY(read_sides(sides));
  auto speed = preset_link(preset.name);
  if (!speed) return speed.status();
  bool is_twisted = false;
  const Option options[] = {{"", &*speed}, {"twisted", &is_twisted}};
  TORIC_TRY(read_options(options));
  return placed(start, preset_slice(preset.name, sides, is_twisted, *speed));
}

Result<Topology> SpecReader::preset(const Preset& preset) {
  if (preset.kind == PresetKind::slice) return slice(preset);
  if (preset.kind == PresetKind::node) {
    if (position_ != spec_.size()) return expected("the end");
    return preset_node(preset.name);
  }
  Rank count = 1;
  const std::size_t start = position_;
  if (take('*')) TORIC_TRY(read_count(count, "how many"));
  auto plan = preset_cluster(preset.name, count);
  if (!plan) return refused(start, plan.status().text());
  return read_cluster(*std::move(plan), false);
}

Result<Topology> SpecReader::read() {
  const std::string_view name = take_any(name_letters);
  for (const Name& one : names())
    if (one.name == name) return (this->*one.make)();
  if (const Preset* found = find_preset(name)) return preset(*found);
  position_ = 0;
  return expected("one of: " + all_names());
}

}  // namespace

Result<Topology> topology_from_spec(std::string_view spec) { return SpecReader(spec).read(); }

}  // namespace toric
