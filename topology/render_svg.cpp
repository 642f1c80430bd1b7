#include "toric/topology/render_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace toric {

namespace {

struct Look {
  std::string_view fill, edge;
};

Look look_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::host:
      return {"#f7f7f7", "#888888"};
    case NodeKind::package:
      return {"#fdf0d5", "#b58105"};
    case NodeKind::numa:
      return {"#fbf7ea", "#b8a878"};
    case NodeKind::cache:
      return {"#f1f1f1", "#9a9a9a"};
    case NodeKind::core:
      return {"#ffffff", "#666666"};
    case NodeKind::pcie_switch:
      return {"#e3eef8", "#0072b2"};
    case NodeKind::gpu:
      return {"#d5efe4", "#00734f"};
    case NodeKind::nic:
      return {"#f6e1ee", "#a5487f"};
    case NodeKind::nvswitch:
      return {"#c3e5d6", "#00734f"};
    case NodeKind::network_switch:
      return {"#f0d3e4", "#a5487f"};
  }
  return {"#ffffff", "#333333"};
}

std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "#009e73";
    case LinkKind::xgmi:
      return "#d55e00";
    case LinkKind::pcie:
      return "#0072b2";
    case LinkKind::network:
      return "#a5487f";
    case LinkKind::package:
      return "#e69f00";
    case LinkKind::c2c:
      return "#56b4e9";
    case LinkKind::cache:
    case LinkKind::memory:
      break;
  }
  return "#888888";
}

std::string_view title_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "NVLink";
    case LinkKind::xgmi:
      return "xGMI";
    case LinkKind::pcie:
      return "PCIe";
    case LinkKind::network:
      return "network";
    case LinkKind::package:
      return "between packages";
    case LinkKind::c2c:
      return "C2C";
    case LinkKind::cache:
    case LinkKind::memory:
      break;
  }
  return name_of(kind);
}

/// Ten times the bandwidth is 1.5 pixels more.
double thickness(double bandwidth) { return bandwidth <= 0 ? 1 : std::clamp(0.6 + 1.5 * std::log10(bandwidth / 1e9), 1.0, 6.0); }

std::string bandwidth_label(double bandwidth) {
  if (bandwidth <= 0) return "bandwidth unknown";
  if (bandwidth >= 1e12) return fmt::format("{:.3g} TB/s", bandwidth / 1e12);
  if (bandwidth >= 1e9) return fmt::format("{:.3g} GB/s", bandwidth / 1e9);
  return fmt::format("{:.3g} MB/s", bandwidth / 1e6);
}

bool overlap(const Rectangle& a, const Rectangle& b) { return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom(); }

bool crosses(const Path& path, const Rectangle& area) {
  for (std::size_t i = 1; i < path.points.size(); ++i) {
    const Point a = path.points[i - 1], b = path.points[i];
    constexpr int steps = 40;
    for (int step = 0; step <= steps; ++step) {
      const double t = static_cast<double>(step) / steps;
      const Point at = {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
      if (at.x > area.x && at.x < area.right() && at.y > area.y && at.y < area.bottom()) return true;
    }
  }
  return false;
}

class Drawer {
 public:
  Drawer(Svg& svg, const Layout& layout, const Topology& topology, bool faint)
      : svg_(svg), layout_(layout), topology_(topology), faint_(faint) {}

  void draw(const std::function<void()>& over_links) {
    const bool grid = !layout_.sides.empty();  // there, links end at cells at any angle: cells cover their ends
    if (grid) draw_links(over_links);
    for (std::size_t i = 0; i < layout_.places.size(); ++i) draw_place(static_cast<int>(i));
    if (!grid) draw_links(over_links);
    for (const auto& [at, text] : layout_.captions) svg_.text(at, text, {.size = 13, .bold = true});
    constexpr std::size_t most_labelled = 48;
    if (!faint_ && layout_.links.size() <= most_labelled)
      for (const PlacedLink& link : layout_.links) draw_link_label(link);
  }

 private:
  [[nodiscard]] static std::string ids(const PlacedNode& place) { return fmt::format("{}", fmt::join(place.nodes, " ")); }

  void draw_links(const std::function<void()>& over_links) {
    for (const PlacedLink& link : layout_.links) draw_link(link);
    if (over_links) over_links();
  }

  [[nodiscard]] bool has_links(int place) const {
    return std::ranges::any_of(layout_.links, [place](const PlacedLink& link) { return link.from == place || link.to == place; });
  }

  void draw_place(int index) {
    const PlacedNode& place = layout_.places[static_cast<std::size_t>(index)];
    const Look look = look_of(place.kind);
    svg_.begin(place.nodes.empty() ? "left-out" : "node", {{"data-node", ids(place)}, {"data-kind", std::string(name_of(place.kind))}},
               tooltip(place));
    svg_.rectangle(place.frame, look.fill, {look.edge, 1, place.nodes.empty()}, 4);
    if (place.frame == place.body)
      draw_lines(place);
    else
      draw_bar(place, place.kind != NodeKind::host || has_links(index));
    svg_.end();
  }

  void draw_lines(const PlacedNode& place) {
    const Point middle = place.frame.centre();
    const double room = place.frame.width - 6, size = size_for(place.label, room, layout_.sides.empty() ? 11 : 14);
    const bool two = !place.second_line.empty() && place.frame.height > 30;
    const std::string label = !two && !place.second_line.empty() ? place.label + "  " + place.second_line : place.label;
    svg_.text({middle.x, middle.y + (two ? -3 : size * 0.36)}, fit_text(label, room, size, true),
              {.size = size, .anchor = Anchor::middle, .bold = true});
    const double small = text_width(place.second_line, 10) <= room ? 10 : 8.5;
    if (two) svg_.text({middle.x, middle.y + 12}, fit_text(place.second_line, room, small), {.size = small, .anchor = Anchor::middle});
  }

  /// What contains others: a bar at the top is itself, and where its links end.
  void draw_bar(const PlacedNode& place, bool visible) {
    const Look look = look_of(place.kind);
    const bool host = place.kind == NodeKind::host;
    if (visible) svg_.rectangle(place.body, "#ffffff", {look.edge, 1}, 3);
    const double room = place.body.width - 12, size = size_for(place.label, room, host ? 13 : 11);
    svg_.text({place.body.x + (visible ? 7 : 2), place.body.y + 16}, fit_text(place.label, room, size, true), {.size = size, .bold = true});
  }

  /// Smaller where the text would be cut.
  [[nodiscard]] static double size_for(std::string_view text, double room, double size) {
    constexpr double smallest = 8.5;
    return text_width(text, size, true) <= room ? size : smallest;
  }

  [[nodiscard]] std::string tooltip(const PlacedNode& place) const {
    std::string text = place.label;
    if (!place.second_line.empty()) text += ", " + place.second_line;
    if (place.nodes.empty()) return text;
    const TopologyNode& node = topology_.node(place.nodes.front());
    if (!node.name.empty() && node.name != place.label) text += ", " + node.name;
    if (!node.model.empty()) text += ", " + node.model;
    if (!node.address.empty()) text += ", " + node.address;
    return text;
  }

  void draw_link(const PlacedLink& link) {
    const auto end = [&](int place) { return ids(layout_.places[static_cast<std::size_t>(place)]); };
    std::string tip = fmt::format("{}, {}", title_of(link.kind), bandwidth_label(link.bandwidth));
    if (link.count > 1) tip += fmt::format(", {} links together", link.count);
    if (link.latency > 0) tip += fmt::format(", {:.3g} us", link.latency * 1e6);
    svg_.begin("link",
               {{"data-from", end(link.from)},
                {"data-to", end(link.to)},
                {"data-kind", std::string(name_of(link.kind))},
                {"data-count", fmt::format("{}", link.count)}},
               tip);
    const double width = faint_ || link.to_left_out ? 1.2 : thickness(link.bandwidth);
    for (const Path& path : link.paths) {
      // Where lines cross, one is seen to pass over the other.
      if (!link.to_left_out) svg_.path(path, {"#ffffff", width + 3, false});
      svg_.path(path, {faint_ ? "#bbbbbb" : colour_of(link.kind), width, link.to_left_out});
    }
    svg_.end();
  }

  /// Beside the middle of a straight link, if nothing is there.
  void draw_link_label(const PlacedLink& link) {
    if (link.paths.size() != 1 || link.paths[0].curved || link.paths[0].points.size() != 2 || link.bandwidth <= 0) return;
    const Point a = link.paths[0].points[0], b = link.paths[0].points[1];
    constexpr double size = 8;
    const std::string text = bandwidth_label(link.bandwidth);
    const double width = text_width(text, size), gap = thickness(link.bandwidth) / 2 + 3;
    const Point middle = {(a.x + b.x) / 2, (a.y + b.y) / 2};
    const bool level = std::abs(a.y - b.y) < 0.01;
    if (!level && std::abs(a.x - b.x) > 0.01) return;
    const Rectangle area = level ? Rectangle{middle.x - width / 2, middle.y - gap - size, width, size}
                                 : Rectangle{middle.x + gap, middle.y - size / 2, width, size};
    if (!is_free(area)) return;
    labels_.push_back(area);
    svg_.text({area.x, area.bottom() - 1}, text, {.size = size, .colour = "#444444"});
  }

  [[nodiscard]] bool is_free(const Rectangle& area) const {
    const auto hit = [&](const Rectangle& other) { return overlap(area, other); };
    const auto frame_hit = [&](const PlacedNode& place) {
      const Rectangle& f = place.frame;
      const bool inside = area.x > f.x && area.right() < f.right() && area.y > f.y && area.bottom() < f.bottom();
      return hit(place.body) || (hit(f) && !inside);
    };
    if (std::ranges::any_of(layout_.places, frame_hit) || std::ranges::any_of(labels_, hit)) return false;
    return std::ranges::none_of(layout_.links, [&](const PlacedLink& link) {
      return std::ranges::any_of(link.paths, [&](const Path& path) { return crosses(path, area); });
    });
  }

  Svg& svg_;
  const Layout& layout_;
  const Topology& topology_;
  const bool faint_;
  std::vector<Rectangle> labels_;
};

struct LegendEntry {
  LinkKind kind;
  double bandwidth;
  int drawn = 0, links = 0;
};

void draw_legend(Svg& svg, const Layout& layout, double left) {
  std::map<std::tuple<LinkKind, double>, LegendEntry> entries;
  for (const PlacedLink& link : layout.links) {
    if (link.to_left_out) continue;
    LegendEntry& entry = entries.try_emplace({link.kind, -link.bandwidth}, LegendEntry{link.kind, link.bandwidth}).first->second;
    ++entry.drawn;
    entry.links += link.count;
  }
  double y = svg.extent().bottom() + 30;
  constexpr std::size_t most = 12;
  std::size_t shown = 0;
  for (const auto& [key, entry] : entries) {
    if (shown++ == most) {
      draw_notes(svg, left, {fmt::format("and {} more kinds of links", entries.size() - most)});
      break;
    }
    svg.begin("legend");
    svg.path({{{left, y - 4}, {left + 40, y - 4}}}, {colour_of(entry.kind), thickness(entry.bandwidth)});
    std::string text = fmt::format("{}, {} each way", title_of(entry.kind), bandwidth_label(entry.bandwidth));
    if (entry.bandwidth <= 0) text = fmt::format("{}, bandwidth unknown", title_of(entry.kind));
    text += fmt::format("; {} drawn", entry.drawn);
    if (entry.links > entry.drawn) text += fmt::format(" for {} links", entry.links);
    svg.text({left + 50, y}, text, {.size = 11});
    svg.end();
    y += 18;
  }
}

void draw_heading(Svg& svg, const Layout& layout) {
  const Rectangle extent = svg.extent();
  svg.text({extent.x, extent.y - 22}, layout.heading, {.size = 16, .bold = true});
}

}  // namespace

std::string_view palette(std::size_t index) {
  constexpr std::string_view colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b5a800"};
  return colours[index % std::size(colours)];
}

void draw_notes(Svg& svg, double left, const std::vector<std::string>& notes) {
  double y = svg.extent().bottom() + 24;
  for (const std::string& note : notes) {
    svg.text({left, y}, note, {.size = 11, .colour = "#555555"});
    y += 17;
  }
}

void draw_background(Svg& svg, const Layout& layout, const Topology& topology, const std::function<void()>& over_links) {
  Drawer(svg, layout, topology, true).draw(over_links);
  draw_heading(svg, layout);
}

std::string render_svg(const Topology& topology, const Shape& shape) {
  Svg svg;
  if (topology.nodes.empty()) {
    svg.text({0, 0}, "nothing is known", {.size = 14});
    return svg.finish();
  }
  const Layout layout = place(topology, shape);
  Drawer(svg, layout, topology, false).draw({});
  draw_heading(svg, layout);
  const double left = svg.extent().x;
  draw_legend(svg, layout, left);
  draw_notes(svg, left, layout.notes);
  return svg.finish();
}

}  // namespace toric
