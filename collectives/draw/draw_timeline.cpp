#include "toric/draw/draw_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "toric/topology/svg.hpp"

namespace toric {

namespace {

constexpr std::size_t most_rows = 48;
constexpr double plot_width = 1200, row_height = 22, box_height = 17;

struct Look {
  std::string_view fill, edge, title;
};

Look look_of(Op op) {
  switch (op) {
    case Op::send:
      return {"#bcd9ee", "#0072b2", "send"};
    case Op::recv:
      return {"#b9e3d3", "#00734f", "receive"};
    case Op::recv_reduce:
      return {"#fbd9a0", "#b06f00", "receive and reduce"};
    case Op::copy:
      return {"#e4e4e4", "#666666", "copy"};
    case Op::reduce:
      return {"#ecc9dd", "#a5487f", "reduce"};
  }
  return {"#ffffff", "#333333", "unknown"};
}

/// A unit in which `seconds` is a number of one to three digits.
struct Unit {
  double seconds;
  std::string_view name;
};

Unit unit_for(double seconds) {
  if (seconds >= 1) return {1, "s"};
  if (seconds >= 1e-3) return {1e-3, "ms"};
  if (seconds >= 1e-6) return {1e-6, "us"};
  return {1e-9, "ns"};
}

/// 1, 2 or 5 times a power of ten: the smallest that needs no more than about ten of it.
double tick_for(double span) {
  const double least = span / 10;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * 0.999) return factor * power;
  return 10 * power;
}

class Timeline {
 public:
  Timeline(const Schedule& schedule, const Simulation& simulation) : schedule_(schedule), simulation_(simulation) {
    for (const Transfer& transfer : simulation.timeline) {
      if (step_of(transfer) == nullptr || !std::isfinite(transfer.begin) || !std::isfinite(transfer.end)) continue;
      end_ = std::max(end_, transfer.end);
      rows_[{transfer.rank, step_of(transfer)->lane}].push_back(&transfer);
    }
  }

  std::string draw() {
    draw_heading();
    if (rows_.empty()) {
      svg_.text({0, 0}, "no timeline was recorded", {.size = 12});
      return svg_.finish();
    }
    shown_ = std::min(rows_.size(), most_rows);
    draw_axis();
    std::size_t row = 0;
    for (const auto& [place, transfers] : rows_) {
      if (row == shown_) break;
      draw_row(place, transfers, row_top(row++));
    }
    draw_legend();
    return svg_.finish();
  }

 private:
  using Place = std::pair<Rank, std::uint16_t>;  // rank, lane

  [[nodiscard]] const Step* step_of(const Transfer& transfer) const {
    const auto rank = static_cast<std::size_t>(transfer.rank);
    if (transfer.rank < 0 || rank >= schedule_.programs.size() || transfer.step >= schedule_.programs[rank].steps.size()) return nullptr;
    return &schedule_.programs[rank].steps[transfer.step];
  }

  static double row_top(std::size_t row) { return static_cast<double>(row) * row_height; }
  [[nodiscard]] double x_of(double seconds) const { return end_ > 0 ? seconds / end_ * plot_width : 0; }

  void draw_heading() {
    const Unit unit = unit_for(simulation_.seconds);
    svg_.text(
        {left, -44},
        fmt::format("{} of {} ranks: {:.4g} {}", name_of(schedule_.what), schedule_.ranks, simulation_.seconds / unit.seconds, unit.name),
        {.size = 16, .bold = true});
  }

  void draw_axis() {
    const double bottom = row_top(shown_);
    const Unit unit = unit_for(end_);
    const double tick = end_ > 0 ? tick_for(end_ / unit.seconds) : 1;
    const int ticks = end_ > 0 ? static_cast<int>(end_ / unit.seconds / tick + 1e-9) : 0;
    for (int i = 0; i <= ticks; ++i) {
      const double x = x_of(i * tick * unit.seconds);
      svg_.begin("tick");
      svg_.path({{{x, -6}, {x, bottom}}}, {"#dddddd", 1});
      svg_.text({x, -11}, fmt::format("{:.4g} {}", i * tick, unit.name), {.size = 10, .anchor = Anchor::middle, .colour = "#555555"});
      svg_.end();
    }
  }

  void draw_row(const Place& place, const std::vector<const Transfer*>& transfers, double top) {
    const bool first_of_rank = last_rank_ != place.first;
    last_rank_ = place.first;
    if (first_of_rank) svg_.path({{{left, top - 1}, {plot_width, top - 1}}}, {"#cccccc", 1});
    if (first_of_rank) svg_.text({left, top + 15}, fmt::format("rank {}", place.first), {.size = 11, .bold = true});
    svg_.text({-8, top + 15}, fmt::format("lane {}", place.second), {.size = 10, .anchor = Anchor::end, .colour = "#555555"});
    for (const Transfer* transfer : transfers) draw_box(*transfer, *step_of(*transfer), top);
  }

  void draw_box(const Transfer& transfer, const Step& step, double top) {
    const Look look = look_of(step.op);
    const double x = x_of(transfer.begin), width = std::max(x_of(transfer.end) - x, 0.8);
    const Unit unit = unit_for(transfer.end);
    svg_.begin("transfer",
               {{"data-rank", fmt::format("{}", transfer.rank)},
                {"data-step", fmt::format("{}", transfer.step)},
                {"data-begin", fmt::format("{:.9g}", transfer.begin)},
                {"data-end", fmt::format("{:.9g}", transfer.end)}},
               fmt::format("rank {}, step {}: {}{}, {}, channel {}, {:.4g} to {:.4g} {}", transfer.rank, transfer.step, look.title,
                           peer_text(step), chunk_text(step), step.channel, transfer.begin / unit.seconds, transfer.end / unit.seconds,
                           unit.name));
    svg_.rectangle({x, top + 2, width, box_height}, look.fill, {look.edge, width > 3 ? 0.8 : 0.3}, width > 6 ? 2 : 0);
    const std::string label = label_for(step, width - 4);
    svg_.text({x + width / 2, top + 14}, label, {.size = 9, .anchor = Anchor::middle});
    svg_.end();
  }

  static std::string peer_text(const Step& step) {
    if (is_send(step.op)) return fmt::format(" to {}", step.peer);
    if (is_receive(step.op)) return fmt::format(" from {}", step.peer);
    return "";
  }

  [[nodiscard]] std::string chunk_text(const Step& step) const {
    const std::uint32_t first = data_first(step, std::max(schedule_.chunks, 1U));
    return step.count == 1 ? fmt::format("chunk {}", first) : fmt::format("chunks {}-{}", first, first + step.count - 1);
  }

  /// The fullest that fits.
  [[nodiscard]] std::string label_for(const Step& step, double room) const {
    constexpr double size = 9;
    constexpr std::string_view words[] = {"send", "recv", "recv+reduce", "copy", "reduce"};
    const std::string op(words[static_cast<std::size_t>(step.op)]);
    const std::uint32_t first = data_first(step, std::max(schedule_.chunks, 1U));
    const std::string chunks = step.count == 1 ? fmt::format("c{}", first) : fmt::format("c{}-{}", first, first + step.count - 1);
    const std::string peer = is_local(step.op) ? op : fmt::format("{}{}", is_send(step.op) ? "→" : "←", step.peer);
    const std::string start = is_local(step.op) ? op : op + " " + peer;
    const std::string candidates[] = {op + peer_text(step) + ", " + chunk_text(step), start + " " + chunks, peer + " " + chunks, peer};
    for (const std::string& text : candidates)
      if (text_width(text, size) <= room) return text;
    return {};
  }

  void draw_legend() {
    double x = 0;
    const double y = row_top(shown_) + 28;
    for (const Op op : {Op::send, Op::recv, Op::recv_reduce, Op::copy, Op::reduce}) {
      const Look look = look_of(op);
      svg_.begin("legend");
      svg_.rectangle({x, y - 11, 22, 14}, look.fill, {look.edge, 0.8}, 2);
      svg_.text({x + 28, y}, look.title, {.size = 11});
      svg_.end();
      x += 50 + text_width(look.title, 11);
    }
    svg_.text({x, y}, "→ to rank, ← from rank, c chunks", {.size = 11});
    if (rows_.size() > shown_)
      svg_.text({0, y + 24}, fmt::format("{} of {} rows are drawn: {} lanes are left out", shown_, rows_.size(), rows_.size() - shown_),
                {.size = 11, .colour = "#555555"});
  }

  static constexpr double left = -120;

  const Schedule& schedule_;
  const Simulation& simulation_;
  Svg svg_;
  std::map<Place, std::vector<const Transfer*>> rows_;
  double end_ = 0;
  std::size_t shown_ = 0;
  Rank last_rank_ = -1;
};

}  // namespace

std::string draw_timeline(const Schedule& schedule, const Simulation& simulation) { return Timeline(schedule, simulation).draw(); }

}  // namespace toric
