// A writer of plain SVG 1.1: shapes in the order they are drawn, escaped text, and a view that encloses all of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace toric {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] Point centre() const { return {x + width / 2, y + height / 2}; }
  friend bool operator==(const Rectangle&, const Rectangle&) = default;
};

/// A chain of straight lines, or, if curved, one cubic Bézier curve of four points.
struct Path {
  std::vector<Point> points;
  bool curved = false;
};

/// What a line looks like. Lengths are in the units of the picture, CSS pixels.
struct Pen {
  std::string_view colour = "#333333";
  double width = 1;
  bool dashed = false;
};

enum class Anchor { start, middle, end };

struct Lettering {
  double size = 11;
  Anchor anchor = Anchor::start;
  bool bold = false;
  std::string_view colour = "#222222";
};

class Svg {
 public:
  using Attributes = std::vector<std::pair<std::string, std::string>>;

  Svg();
  ~Svg();
  Svg(const Svg&) = delete;
  Svg& operator=(const Svg&) = delete;

  /// Opens a group; what is drawn until its end() is in it. `tooltip` is what a browser shows under the pointer.
  void begin(std::string_view name, const Attributes& attributes = {}, std::string_view tooltip = {});
  void end();

  void rectangle(const Rectangle& where, std::string_view fill, const Pen& outline, double radius = 0);
  void path(const Path& path, const Pen& pen);
  void polygon(std::span<const Point> corners, std::string_view fill);
  /// A triangle whose tip is `tip`, seen from `from`.
  void arrow_head(Point from, Point tip, double length, std::string_view fill);
  /// `at` is on the base line. Control characters and what is no UTF-8 appear as "?".
  void text(Point at, std::string_view text, const Lettering& lettering);

  /// What has been drawn so far.
  [[nodiscard]] Rectangle extent() const;
  /// The whole picture, on white, with `margin` around what was drawn. Call once, with all groups ended.
  [[nodiscard]] std::string finish(double margin = 16);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// No less than what common sans-serif fonts need.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// `text`, or as much of its beginning as fits into `width`, with an ellipsis; empty if not even two letters fit.
[[nodiscard]] std::string fit_text(std::string_view text, double width, double size, bool bold = false);

/// The path moved sideways, to the right of who travels along it, by `distance`.
[[nodiscard]] Path shifted(const Path& path, double distance);

/// An arc with its ends moved apart and its belly moved out, so that it lies around the one it was; straight lines as they are.
[[nodiscard]] Path widened(const Path& path, double distance);

}  // namespace toric
