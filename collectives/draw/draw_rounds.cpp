#include "toric/draw/draw_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "toric/topology/layout.hpp"
#include "toric/topology/render_svg.hpp"
#include "toric/topology/svg.hpp"

namespace toric {

namespace {

/// What one arrow stands for.
struct Bundle {
  int count = 0;
  std::string chunks;
  bool reduces = false, copies = false;
};

using Arrow = std::tuple<Rank, Rank, std::uint16_t>;  // from, to, channel

std::map<Arrow, Bundle> arrows_of(const MessageRounds& all, int round) {
  std::map<Arrow, Bundle> arrows;
  for (const Message& message : all.messages) {
    if (message.round != round) continue;
    Bundle& bundle = arrows[{message.from, message.to, message.channel}];
    ++bundle.count;
    (message.reduces ? bundle.reduces : bundle.copies) = true;
    constexpr int most_listed = 20;
    if (bundle.count > most_listed) continue;
    bundle.chunks += bundle.chunks.empty() ? "" : ", ";
    bundle.chunks +=
        message.count == 1 ? fmt::format("{}", message.first) : fmt::format("{}-{}", message.first, message.first + message.count - 1);
  }
  return arrows;
}

class Arrows {
 public:
  Arrows(Svg& svg, const Layout& layout) : svg_(svg), layout_(layout) {}

  void draw(const std::map<Arrow, Bundle>& arrows) {
    for (const auto& [arrow, bundle] : arrows) {
      const auto [from, to, channel] = arrow;
      channels_.insert(channel);
      ++beside_each_other_[pair_of(from, to)].all;
    }
    for (const auto& [arrow, bundle] : arrows) draw_one(arrow, bundle);
  }

  void draw_legend(double left) {
    double y = svg_.extent().bottom() + 30;
    constexpr std::size_t most = 16, column = 4;
    std::size_t shown = 0;
    for (const std::uint16_t channel : channels_) {
      if (shown == most) break;
      const double x = left + static_cast<double>(shown % column) * 130;
      svg_.begin("legend");
      const Path line = {{{x, y - 4}, {x + 30, y - 4}}};
      svg_.path(line, {palette(channel), 2.5});
      svg_.arrow_head(line.points[0], {x + 32, y - 4}, 8, palette(channel));
      svg_.text({x + 40, y}, fmt::format("channel {}", channel), {.size = 11});
      svg_.end();
      if (++shown % column == 0) y += 18;
    }
    if (channels_.size() > most)
      draw_notes(svg_, left, {fmt::format("and {} more channels, in the same colours again", channels_.size() - most)});
  }

  [[nodiscard]] int left_out() const { return left_out_; }

 private:
  void draw_one(const Arrow& arrow, const Bundle& bundle) {
    const auto [from, to, channel] = arrow;
    const std::vector<Path> paths = ways(layout_, from, to);
    if (paths.empty()) {
      left_out_ += bundle.count;
      return;
    }
    svg_.begin("message",
               {{"data-from", fmt::format("{}", from)},
                {"data-to", fmt::format("{}", to)},
                {"data-channel", fmt::format("{}", channel)},
                {"data-count", fmt::format("{}", bundle.count)}},
               fmt::format("rank {} to rank {}, channel {}, chunks {}{}", from, to, channel, bundle.chunks, meaning(bundle)));
    Share& share = beside_each_other_[pair_of(from, to)];
    constexpr double first = 3.5, furthest = 22;  // still in front of the place they lead to
    const double aside = std::min(5.5, (furthest - first) / share.all) * share.drawn++;
    for (const Path& path : paths) draw_path(is_grid() ? shifted(path, first + aside) : widened(path, aside), palette(channel));
    svg_.end();
  }

  [[nodiscard]] bool is_grid() const { return !layout_.sides.empty(); }

  /// Whose arrows lie beside each other: in grids each direction has its side of the link, other arcs lie around each other.
  [[nodiscard]] std::pair<Rank, Rank> pair_of(Rank from, Rank to) const {
    return is_grid() ? std::pair(from, to) : std::pair(std::min(from, to), std::max(from, to));
  }

  static std::string_view meaning(const Bundle& bundle) {
    if (bundle.reduces && bundle.copies) return ", some to be reduced";
    return bundle.reduces ? ", to be reduced" : "";
  }

  /// The line ends inside its head, so that the tip is a tip.
  void draw_path(Path path, std::string_view colour) {
    constexpr double head = 7;
    const Point tip = path.points.back(), before = path.points[path.points.size() - 2];
    const double length = std::max(std::hypot(tip.x - before.x, tip.y - before.y), 1e-9);
    const double cut = std::min(head * 0.7, length * 0.9) / length;
    path.points.back() = {tip.x + (before.x - tip.x) * cut, tip.y + (before.y - tip.y) * cut};
    svg_.path(path, {colour, 1.8});
    svg_.arrow_head(before, tip, head, colour);
  }

  Svg& svg_;
  const Layout& layout_;
  struct Share {
    int all = 0, drawn = 0;
  };

  std::set<std::uint16_t> channels_;
  std::map<std::pair<Rank, Rank>, Share> beside_each_other_;
  int left_out_ = 0;
};

std::string heading_of(const Schedule& schedule, const MessageRounds& all, int round, std::size_t messages) {
  if (round < 1 || round > all.rounds) return fmt::format("{}: there is no round {}, only {}", name_of(schedule.what), round, all.rounds);
  return fmt::format("{} of {} ranks, round {} of {}: {} message{}", name_of(schedule.what), schedule.ranks, round, all.rounds, messages,
                     messages == 1 ? "" : "s");
}

}  // namespace

std::string draw_rounds(const Schedule& schedule, const Topology& topology, const Shape& shape, int round) {
  const MessageRounds all = message_rounds(schedule);
  const std::map<Arrow, Bundle> arrows = arrows_of(all, round);
  std::size_t messages = 0;
  for (const auto& [arrow, bundle] : arrows) messages += static_cast<std::size_t>(bundle.count);
  Svg svg;
  Layout layout;
  if (!topology.nodes.empty()) layout = place(topology, shape, true);
  layout.heading = heading_of(schedule, all, round, messages);
  Arrows drawer(svg, layout);
  draw_background(svg, layout, topology, [&] { drawer.draw(arrows); });
  const double left = svg.extent().x;
  drawer.draw_legend(left);
  std::vector<std::string> notes = layout.notes;
  if (drawer.left_out() > 0)
    notes.push_back(
        fmt::format("{} messages of this round are not drawn: they are from or to ranks left out, or within one place", drawer.left_out()));
  if (all.unplaced > 0) notes.push_back(fmt::format("{} sends and receives have no partner, or wait for ever", all.unplaced));
  draw_notes(svg, left, notes);
  return svg.finish();
}

}  // namespace toric
