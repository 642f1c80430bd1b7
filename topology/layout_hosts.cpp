#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "toric/topology/layout.hpp"
#include "toric/topology/layout_parts.hpp"

namespace toric {

namespace {

using picture::Part;

constexpr double widest_picture = 2700, host_gap = 40, switch_width = 130, switch_height = 40;
constexpr std::size_t most_hosts = 4, most_small_hosts = 16, most_switches = 16;

std::string plural(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : one.ends_with("ch") ? "es" : "s");
}

bool is_leaf(const Part& part) { return part.inside.empty() && part.above.empty() && part.below.empty(); }

class HostsPlacer {
 public:
  HostsPlacer(const Topology& topology, const Shape& shape, bool room_for_messages)
      : topology_(topology),
        shape_(shape),
        room_for_messages_(room_for_messages),
        ranks_(ranks_of_nodes(topology)),
        place_of_(topology.nodes.size(), -1) {}

  Layout take() {
    layout_.heading = fmt::format("{}: {} on {}", shape_.levels.empty() ? "no ranks" : shape_.text(),
                                  plural(topology_.ranks.size(), "rank"), plural(topology_.of_kind(NodeKind::host).size(), "host"));
    place_all_hosts();
    place_all_switches();
    give_hidden_nodes_a_place();
    for (const NodeId node : topology_.ranks) layout_.place_of_rank.push_back(drawn_place(node));
    route_links();
    if (!shape_.note.empty()) layout_.notes.push_back(shape_.note);
    return std::move(layout_);
  }

 private:
  // --- hosts ---

  void place_all_hosts() {
    const std::vector<NodeId> hosts = topology_.of_kind(NodeKind::host);
    double x = 0;
    std::size_t drawn = 0;
    for (; drawn < hosts.size(); ++drawn) {
      Part part = picture::parts_of(topology_, hosts[drawn]);
      const bool small = part.inside.size() <= 1 && part.width < 200;
      if (drawn > 0 && (x + part.width > widest_picture || drawn >= (small ? most_small_hosts : most_hosts))) break;
      part.arc_space = arc_space_of(part);
      part.height += part.arc_space;
      put(part, {x, 0, part.width, part.height});
      x += part.width + host_gap;
      bottom_ = std::max(bottom_, part.height);
    }
    right_ = std::max(0.0, x - host_gap);
    if (drawn < hosts.size()) place_left_out({hosts.begin() + static_cast<std::ptrdiff_t>(drawn), hosts.end()}, hosts.front());
  }

  void place_left_out(const std::vector<NodeId>& hosts, NodeId first) {
    const bool alike = std::ranges::all_of(hosts, [&](NodeId host) { return what_is_in(host) == what_is_in(first); });
    PlacedNode more;
    more.label = fmt::format("and {} more", hosts.size());
    more.second_line = alike ? (hosts.size() == 1 ? "host, alike" : "hosts, alike") : (hosts.size() == 1 ? "host" : "hosts");
    more.frame = more.body = {right_ + host_gap, 0, 150, std::max(bottom_, 80.0)};
    left_out_ = static_cast<int>(layout_.places.size());
    layout_.notes.push_back(fmt::format("{} not drawn{}", plural(hosts.size(), "host"), alike ? ", which hold the same as the first" : ""));
    for (const NodeId host : hosts) place_of_[static_cast<std::size_t>(host)] = left_out_;
    layout_.places.push_back(std::move(more));
    right_ += host_gap + 150;
  }

  /// How many nodes of each kind and model.
  const std::map<std::pair<NodeKind, std::string>, int>& what_is_in(NodeId host) {
    if (contents_.empty())
      for (std::size_t i = 0; i < topology_.nodes.size(); ++i)
        if (const NodeId owner = topology_.host_of(static_cast<NodeId>(i)); owner != no_node)
          ++contents_[owner][{topology_.nodes[i].kind, topology_.nodes[i].model}];
    return contents_[host];
  }

  void put(const Part& part, const Rectangle& frame) {
    add_place(part, frame);
    if (is_leaf(part)) return;
    double y = frame.y + picture::padding + picture::bar_height;
    for (const Part& bar : part.above) {
      y += picture::bar_gap;
      put_bar(bar, frame, y);
      y += picture::bar_height;
    }
    double bottom = frame.bottom() - picture::padding;
    for (const Part& bar : part.below) {
      bottom -= picture::bar_height;
      put_bar(bar, frame, bottom);
      bottom -= picture::below_gap;
    }
    put_row(part, frame, bottom - part.arc_space);
  }

  void put_bar(const Part& bar, const Rectangle& frame, double y) {
    add_place(bar, {frame.x + picture::padding, y, frame.width - 2 * picture::padding, picture::bar_height});
  }

  void put_row(const Part& part, const Rectangle& frame, double bottom) {
    double x = frame.x + picture::padding;
    const double top = bottom - picture::row_height(part);
    for (std::size_t i = 0; i < part.inside.size(); ++i) {
      const Part& each = part.inside[i];
      const bool core = each.kind == NodeKind::core;
      if (part.columns > 0) {
        const auto column = static_cast<double>(i % static_cast<std::size_t>(part.columns));
        const auto row = static_cast<double>(i / static_cast<std::size_t>(part.columns));
        put(each, {x + column * (each.width + picture::core_gap), top + row * (each.height + picture::core_gap), each.width, each.height});
        continue;
      }
      const double height = is_leaf(each) ? each.height : bottom - top;  // so that the bars of a row are level
      put(each, {x, bottom - height, each.width, height});
      x += each.width + (core ? picture::core_gap : picture::row_gap);
    }
  }

  void add_place(const Part& part, const Rectangle& frame) {
    PlacedNode placed;
    placed.nodes = part.nodes;
    placed.kind = part.kind;
    placed.frame = placed.body = frame;
    if (!is_leaf(part))
      placed.body = {frame.x + picture::padding, frame.y + picture::padding, frame.width - 2 * picture::padding, picture::bar_height};
    placed.label = label_of(part);
    placed.second_line = rank_text(part);
    for (const NodeId node : part.nodes) place_of_[static_cast<std::size_t>(node)] = static_cast<int>(layout_.places.size());
    layout_.places.push_back(std::move(placed));
  }

  [[nodiscard]] std::string label_of(const Part& part) const {
    const TopologyNode& node = topology_.node(part.nodes.front());
    if (part.nodes.size() > 1)
      return plural(part.nodes.size(), node.kind == NodeKind::nvswitch ? "NVSwitch" : node.kind == NodeKind::nic ? "NIC" : "switch");
    const std::string name = node.name.empty() ? std::string(name_of(node.kind)) : node.name;
    const bool roomy = part.kind == NodeKind::host || part.kind == NodeKind::package;
    return roomy && !node.model.empty() ? name + "  " + node.model : name;
  }

  [[nodiscard]] std::string rank_text(const Part& part) const {
    std::string text;
    for (const NodeId node : part.nodes)
      for (const Rank rank : ranks_[static_cast<std::size_t>(node)]) text += fmt::format("{}{}", text.empty() ? "rank " : ",", rank);
    return text;
  }

  // --- room for arcs ---

  static void find_centres(const Part& part, double x, std::map<NodeId, double>& centres) {
    if (is_leaf(part))
      for (const NodeId node : part.nodes) centres[node] = x + part.width / 2;
    x += picture::padding;
    if (part.columns > 0) return;
    for (const Part& each : part.inside) {
      find_centres(each, x, centres);
      x += each.width + picture::row_gap;
    }
  }

  /// What the arcs between devices of one host need under them.
  [[nodiscard]] double arc_space_of(const Part& part) {
    std::map<NodeId, double> centres;
    find_centres(part, 0, centres);
    double widest = 0;
    if (room_for_messages_) {
      for (const NodeId node : topology_.ranks)
        if (const auto found = centres.find(node); found != centres.end()) widest = std::max(widest, found->second);
      layout_.arc_limit = std::max(layout_.arc_limit, arc_depth(widest));
      constexpr double many_messages = 40;  // each further one of a pair hangs lower
      return widest > 0 ? arc_depth(widest) + many_messages : 0;
    }
    for (const TopologyLink& link : topology_.links) {
      const auto from = centres.find(link.from), to = centres.find(link.to);
      if (from == centres.end() || to == centres.end()) continue;
      const double distance = std::abs(from->second - to->second);
      if (distance > adjacent) widest = std::max(widest, distance);
    }
    return widest > 0 ? arc_depth(widest) : 0;
  }

  // --- switches between hosts ---

  void place_all_switches() {
    std::vector<std::vector<NodeId>> rows = switch_rows();
    double y = bottom_ + 110 + right_ / 25;
    for (const std::vector<NodeId>& row : rows) {
      place_switches(row, y);
      y += switch_height + 110;
    }
  }

  /// Rows by the number of links to the nearest host.
  [[nodiscard]] std::vector<std::vector<NodeId>> switch_rows() const {
    std::vector<std::vector<NodeId>> rows;
    std::vector<int> level(topology_.nodes.size(), -1);
    for (std::size_t i = 0; i < topology_.nodes.size(); ++i)
      if (topology_.host_of(static_cast<NodeId>(i)) != no_node) level[i] = 0;
    bool again = true;
    for (int next = 1; again; ++next) {
      std::set<NodeId> found;
      for (const TopologyLink& link : topology_.links)
        if (level[static_cast<std::size_t>(link.from)] == next - 1 && level[static_cast<std::size_t>(link.to)] == -1) found.insert(link.to);
      for (const NodeId node : found) level[static_cast<std::size_t>(node)] = next;
      again = !found.empty();
      if (again) rows.emplace_back(found.begin(), found.end());
    }
    std::vector<NodeId> rest;
    for (std::size_t i = 0; i < topology_.nodes.size(); ++i)
      if (level[i] == -1 && topology_.nodes[i].parent == no_node) rest.push_back(static_cast<NodeId>(i));
    if (!rest.empty()) rows.push_back(std::move(rest));
    return rows;
  }

  void place_switches(const std::vector<NodeId>& row, double y) {
    const std::size_t drawn = row.size() > most_switches ? most_switches - 1 : row.size();
    const std::size_t boxes = std::min(row.size(), most_switches);
    const double step = std::max(switch_width + 24, right_ / static_cast<double>(boxes));
    const double width = std::clamp(0.6 * step, switch_width, 4 * switch_width);
    const double left = right_ / 2 - step * static_cast<double>(boxes) / 2 + (step - width) / 2;
    for (std::size_t i = 0; i < boxes; ++i) {
      Part part;
      part.nodes = {row[i]};
      part.kind = topology_.node(row[i]).kind;
      const Rectangle frame = {left + step * static_cast<double>(i), y, width, switch_height};
      if (i < drawn) {
        add_place(part, frame);
        continue;
      }
      PlacedNode more;
      more.kind = part.kind;
      more.frame = more.body = frame;
      more.label = fmt::format("and {} more", row.size() - drawn);
      for (std::size_t j = drawn; j < row.size(); ++j)
        place_of_[static_cast<std::size_t>(row[j])] = static_cast<int>(layout_.places.size());
      layout_.places.push_back(std::move(more));
    }
  }

  // --- links ---

  void give_hidden_nodes_a_place() {
    for (std::size_t i = 0; i < topology_.nodes.size(); ++i)
      if (const NodeId parent = topology_.nodes[i].parent; place_of_[i] < 0 && parent != no_node)
        place_of_[i] = place_of_[static_cast<std::size_t>(parent)];
  }

  [[nodiscard]] int drawn_place(NodeId node) const {
    const int place = place_of_[static_cast<std::size_t>(node)];
    return place >= 0 && layout_.places[static_cast<std::size_t>(place)].nodes.empty() ? -1 : place;
  }

  void route_links() {
    std::map<std::pair<int, int>, int> parallel;
    for (PlacedLink& link : joined_links(topology_, place_of_)) {
      if (link.kind == LinkKind::cache || link.kind == LinkKind::memory) continue;
      const PlacedNode& from = layout_.places[static_cast<std::size_t>(link.from)];
      const PlacedNode& to = layout_.places[static_cast<std::size_t>(link.to)];
      const int before = parallel[{link.from, link.to}]++;
      link.to_left_out = from.nodes.empty() || to.nodes.empty();
      link.paths = {shifted(route(from, to), 8.0 * before)};
      layout_.links.push_back(std::move(link));
    }
  }

  [[nodiscard]] Path route(const PlacedNode& from, const PlacedNode& to) const {
    const Rectangle &one = from.body, &other = to.body;
    const bool one_row = one.y < other.bottom() && other.y < one.bottom();
    if (one_row) {
      const double gap = std::max(other.x - one.right(), one.x - other.right());
      const double distance = std::abs(one.centre().x - other.centre().x);
      const bool bars = one.height == picture::bar_height && other.height == picture::bar_height;
      if (gap <= 2 * host_gap && (bars || distance <= adjacent)) return joining_path(one, other, 0);
      return joining_path(one, other, bars ? -std::min(24.0, 8 + distance / 80) : arc_depth(distance));
    }
    const bool leaves_host = (one.y > bottom_) != (other.y > bottom_);
    return leaves_host ? down_out_of_the_host(one.y < other.y ? one : other, one.y < other.y ? other : one) : joining_path(one, other, 0);
  }

  /// Straight down to under the host first: slanting lines there would cross what is beside.
  [[nodiscard]] Path down_out_of_the_host(const Rectangle& device, const Rectangle& below) const {
    // Lines out of the place for what is left out spread over it, in the order of where they go.
    const bool spread = device.height > 3 * picture::bar_height && right_ > 0;
    const double aside = spread ? (below.centre().x / right_ - 0.5) * 0.8 * device.width : 0;
    const Point begin = {device.centre().x + aside, device.bottom()};
    const Point end = {below.centre().x + (right_ > 0 ? begin.x / right_ - 0.5 : 0) * 0.85 * below.width, below.y};
    return {{begin, {begin.x, bottom_ + 8}, end}};
  }

  static constexpr double adjacent = 90;  // between the centres of devices that stand side by side

  const Topology& topology_;
  const Shape& shape_;
  const bool room_for_messages_;
  const std::vector<std::vector<Rank>> ranks_;
  std::vector<int> place_of_;
  std::map<NodeId, std::map<std::pair<NodeKind, std::string>, int>> contents_;
  Layout layout_;
  double right_ = 0, bottom_ = 0;
  int left_out_ = -1;
};

}  // namespace

Layout place_hosts(const Topology& topology, const Shape& shape, bool room_for_messages) {
  return HostsPlacer(topology, shape, room_for_messages).take();
}

}  // namespace toric
