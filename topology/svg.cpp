#include "toric/topology/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <pugixml.hpp>
#include <sstream>

namespace toric {

namespace {

/// At most two decimals and no zeros at the end: the same on every machine, and short.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string coordinates(Point at) { return number(at.x) + " " + number(at.y); }

/// Bytes of the well-formed UTF-8 character at the start; 0: there is none that XML may hold.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool beyond = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  const bool no_character = first == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;
  return overlong || beyond || no_character ? 0 : length;
}

std::string cleaned(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0)
      clean += '?';
    else
      clean += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

Point on_curve(const std::vector<Point>& p, double t) {
  const double s = 1 - t;
  const double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
  return {a * p[0].x + b * p[1].x + c * p[2].x + d * p[3].x, a * p[0].y + b * p[1].y + c * p[2].y + d * p[3].y};
}

}  // namespace

struct Svg::Impl {
  pugi::xml_document document;
  pugi::xml_node root, current;
  double left = 0, top = 0, right = 0, bottom = 0;
  bool anything = false;

  pugi::xml_node element(const char* name) { return current.append_child(name); }
  static void set(pugi::xml_node node, const char* name, std::string_view value) {
    node.append_attribute(name).set_value(std::string(value).c_str());
  }
  static void set(pugi::xml_node node, const char* name, double value) { set(node, name, number(value)); }
  static void stroke(pugi::xml_node node, const Pen& pen) {
    set(node, "stroke", pen.colour);
    set(node, "stroke-width", pen.width);
    if (pen.dashed) set(node, "stroke-dasharray", "4 3");
  }
  void cover(Point at, double around = 0) {
    left = anything ? std::min(left, at.x - around) : at.x - around;
    top = anything ? std::min(top, at.y - around) : at.y - around;
    right = anything ? std::max(right, at.x + around) : at.x + around;
    bottom = anything ? std::max(bottom, at.y + around) : at.y + around;
    anything = true;
  }
};

Svg::Svg() : impl_(std::make_unique<Impl>()) {
  impl_->root = impl_->document.append_child("svg");
  impl_->current = impl_->root;
}

Svg::~Svg() = default;

void Svg::begin(std::string_view name, const Attributes& attributes, std::string_view tooltip) {
  impl_->current = impl_->element("g");
  Impl::set(impl_->current, "class", name);
  for (const auto& [key, value] : attributes) Impl::set(impl_->current, key.c_str(), cleaned(value));
  if (!tooltip.empty()) impl_->element("title").text().set(cleaned(tooltip).c_str());
}

void Svg::end() { impl_->current = impl_->current.parent(); }

void Svg::rectangle(const Rectangle& where, std::string_view fill, const Pen& outline, double radius) {
  pugi::xml_node node = impl_->element("rect");
  Impl::set(node, "x", where.x);
  Impl::set(node, "y", where.y);
  Impl::set(node, "width", where.width);
  Impl::set(node, "height", where.height);
  if (radius > 0) Impl::set(node, "rx", radius);
  Impl::set(node, "fill", fill);
  if (outline.width > 0) Impl::stroke(node, outline);
  impl_->cover({where.x, where.y}, outline.width / 2);
  impl_->cover({where.right(), where.bottom()}, outline.width / 2);
}

void Svg::path(const Path& path, const Pen& pen) {
  if (path.points.empty()) return;
  std::string text = "M " + coordinates(path.points.front());
  for (std::size_t i = 1; i < path.points.size(); ++i) text += (!path.curved ? " L " : i == 1 ? " C " : ", ") + coordinates(path.points[i]);
  pugi::xml_node node = impl_->element("path");
  Impl::set(node, "d", text);
  Impl::set(node, "fill", "none");
  Impl::stroke(node, pen);
  constexpr int samples = 32;
  if (path.curved)
    for (int i = 0; i <= samples; ++i) impl_->cover(on_curve(path.points, static_cast<double>(i) / samples), pen.width / 2 + 1);
  else
    for (const Point& at : path.points) impl_->cover(at, pen.width / 2);
}

void Svg::polygon(std::span<const Point> corners, std::string_view fill) {
  std::string text;
  for (const Point& at : corners) {
    text += (text.empty() ? "" : " ") + number(at.x) + "," + number(at.y);
    impl_->cover(at);
  }
  pugi::xml_node node = impl_->element("polygon");
  Impl::set(node, "points", text);
  Impl::set(node, "fill", fill);
}

void Svg::arrow_head(Point from, Point tip, double length, std::string_view fill) {
  const double distance = std::max(std::hypot(tip.x - from.x, tip.y - from.y), 1e-9);
  const Point along = {(tip.x - from.x) / distance * length, (tip.y - from.y) / distance * length};
  const double half = 0.45;
  const Point corners[] = {tip,
                           {tip.x - along.x - along.y * half, tip.y - along.y + along.x * half},
                           {tip.x - along.x + along.y * half, tip.y - along.y - along.x * half}};
  polygon(corners, fill);
}

void Svg::text(Point at, std::string_view text, const Lettering& lettering) {
  if (text.empty()) return;
  pugi::xml_node node = impl_->element("text");
  Impl::set(node, "x", at.x);
  Impl::set(node, "y", at.y);
  Impl::set(node, "font-size", lettering.size);
  Impl::set(node, "fill", lettering.colour);
  if (lettering.anchor != Anchor::start) Impl::set(node, "text-anchor", lettering.anchor == Anchor::middle ? "middle" : "end");
  if (lettering.bold) Impl::set(node, "font-weight", "bold");
  node.text().set(cleaned(text).c_str());
  const double width = text_width(text, lettering.size, lettering.bold);
  const double before = lettering.anchor == Anchor::start ? 0 : lettering.anchor == Anchor::middle ? width / 2 : width;
  impl_->cover({at.x - before, at.y - lettering.size});
  impl_->cover({at.x - before + width, at.y + lettering.size * 0.3});
}

Rectangle Svg::extent() const { return {impl_->left, impl_->top, impl_->right - impl_->left, impl_->bottom - impl_->top}; }

std::string Svg::finish(double margin) {
  const Rectangle view = {std::floor(impl_->left - margin), std::floor(impl_->top - margin),
                          std::ceil(impl_->right - impl_->left + 2 * margin) + 1, std::ceil(impl_->bottom - impl_->top + 2 * margin) + 1};
  pugi::xml_node root = impl_->root;
  Impl::set(root, "xmlns", "http://www.w3.org/2000/svg");
  Impl::set(root, "version", "1.1");
  Impl::set(root, "width", view.width);
  Impl::set(root, "height", view.height);
  Impl::set(root, "viewBox", coordinates({view.x, view.y}) + " " + coordinates({view.width, view.height}));
  Impl::set(root, "font-family", "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif");
  pugi::xml_node background = root.prepend_child("rect");
  Impl::set(background, "x", view.x);
  Impl::set(background, "y", view.y);
  Impl::set(background, "width", view.width);
  Impl::set(background, "height", view.height);
  Impl::set(background, "fill", "#ffffff");
  std::ostringstream out;
  impl_->document.save(out, " ", pugi::format_default, pugi::encoding_utf8);
  return std::move(out).str();
}

double text_width(std::string_view text, double size, bool bold) {
  return static_cast<double>(std::ranges::count_if(text, starts_character)) * size * (bold ? 0.69 : 0.62);
}

std::string fit_text(std::string_view text, double width, double size, bool bold) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  const double letter = text_width("m", size, bold);
  if (width < 3 * letter) return {};
  std::size_t end = 0;
  for (auto letters = static_cast<int>(width / letter) - 1; end < text.size(); ++end)
    if (starts_character(text[end]) && letters-- == 0) break;
  return std::string(text.substr(0, end)) + "…";
}

Path shifted(const Path& path, double distance) {
  Path result = path;
  const Point first = path.points.front(), last = path.points.back();
  const double length = std::max(std::hypot(last.x - first.x, last.y - first.y), 1e-9);
  const Point right = {-(last.y - first.y) / length * distance, (last.x - first.x) / length * distance};
  for (Point& at : result.points) at = {at.x + right.x, at.y + right.y};
  return result;
}

Path widened(const Path& path, double distance) {
  if (!path.curved) return path;
  Path result = path;
  const double apart = path.points.front().x < path.points.back().x ? distance : -distance;
  const double out = path.points[1].y < path.points[0].y ? -distance : distance;
  result.points[0].x -= apart;
  result.points[1] = {path.points[1].x - apart, path.points[1].y + out};
  result.points[2] = {path.points[2].x + apart, path.points[2].y + out};
  result.points[3].x += apart;
  return result;
}

}  // namespace toric
