// Reads a picture back, by the library's own XML reader and plain arithmetic: nothing here shares code with the writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace toric::test {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] bool within(const Box& other, double slack = 0.02) const {
    return left >= other.left - slack && right <= other.right + slack && top >= other.top - slack && bottom <= other.bottom + slack;
  }
  [[nodiscard]] bool apart_from(const Box& other) const {
    constexpr double rounding = 0.02;
    return right <= other.left + rounding || other.right <= left + rounding || bottom <= other.top + rounding ||
           other.bottom <= top + rounding;
  }
};

inline std::vector<double> numbers_in(std::string text) {
  for (char& c : text)
    if (std::strchr("0123456789.-+", c) == nullptr) c = ' ';
  std::istringstream in(text);
  std::vector<double> numbers;
  for (double number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

inline std::size_t letters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

class Picture {
 public:
  explicit Picture(const std::string& svg) {
    const pugi::xml_parse_result parsed = document_.load_string(svg.c_str(), pugi::parse_default | pugi::parse_ws_pcdata_single);
    EXPECT_TRUE(parsed) << parsed.description() << " at " << parsed.offset << " of\n" << svg.substr(0, 500);
    EXPECT_STREQ(document_.document_element().name(), "svg");
    EXPECT_STREQ(document_.document_element().attribute("xmlns").value(), "http://www.w3.org/2000/svg");
    const std::vector<double> view = numbers_in(document_.document_element().attribute("viewBox").value());
    EXPECT_EQ(view.size(), 4U);
    if (view.size() == 4) view_ = {view[0], view[1], view[0] + view[2], view[1] + view[3]};
  }

  /// Groups of that class, in the order they are drawn.
  [[nodiscard]] std::vector<pugi::xml_node> groups(const char* name) const {
    std::vector<pugi::xml_node> found;
    for (const auto& match : document_.select_nodes((std::string("//g[@class='") + name + "']").c_str())) found.push_back(match.node());
    return found;
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const auto& match : document_.select_nodes("//text")) found.emplace_back(match.node().text().get());
    return found;
  }
  [[nodiscard]] bool says(const std::string& part) const {
    return std::ranges::any_of(texts(), [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }

  [[nodiscard]] static Box box_of(pugi::xml_node rectangle) {
    const double x = rectangle.attribute("x").as_double(), y = rectangle.attribute("y").as_double();
    return {x, y, x + rectangle.attribute("width").as_double(), y + rectangle.attribute("height").as_double()};
  }
  /// The first rectangle of the node group for that id.
  [[nodiscard]] Box node_box(int id) const {
    for (const pugi::xml_node& group : groups("node"))
      for (const double each : numbers_in(group.attribute("data-node").value()))
        if (each == id) return box_of(group.child("rect"));
    ADD_FAILURE() << "node " << id << " is not drawn";
    return {};
  }

  /// Whatever is drawn is in the view; texts lie in the box they belong to; boxes do not overlap unless one is in the other.
  void expect_tidy() const {
    for (const auto& match : document_.select_nodes("//rect | //path | //polygon | //text")) {
      const Box box = bounds(match.node());
      EXPECT_TRUE(box.within(view_)) << match.node().name() << " from " << box.left << "," << box.top << " to " << box.right << ","
                                     << box.bottom << " leaves the view " << view_.left << "," << view_.top << " to " << view_.right << ","
                                     << view_.bottom << ": " << match.node().attribute("d").value() << match.node().text().get();
    }
    std::vector<Box> boxes;
    for (const char* name : {"node", "left-out", "transfer"})
      for (const pugi::xml_node& group : groups(name)) {
        boxes.push_back(box_of(group.child("rect")));
        for (const pugi::xml_node& text : group.children("text"))
          EXPECT_TRUE(bounds(text).within(boxes.back())) << text.text().get() << " does not fit into its box";
      }
    if (boxes.size() > 300) return;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_TRUE(boxes[i].apart_from(boxes[j]) || boxes[i].within(boxes[j]) || boxes[j].within(boxes[i]))
            << "boxes " << j << " and " << i << " overlap";
  }

 private:
  [[nodiscard]] static Box bounds(pugi::xml_node node) {
    const std::string_view name = node.name();
    if (name == "rect") return box_of(node);
    if (name == "text") {
      const double size = node.attribute("font-size").as_double(), x = node.attribute("x").as_double(), y = node.attribute("y").as_double();
      const double width = 0.58 * size * static_cast<double>(letters_in(node.text().get()));  // of common fonts, on average
      const std::string_view anchor = node.attribute("text-anchor").value();
      const double left = anchor == "middle" ? x - width / 2 : anchor == "end" ? x - width : x;
      return {left, y - 0.75 * size, left + width, y + 0.25 * size};
    }
    const std::string_view data = node.attribute(name == "path" ? "d" : "points").value();
    std::vector<double> numbers = numbers_in(std::string(data));
    EXPECT_GE(numbers.size(), 4U) << data;
    EXPECT_EQ(numbers.size() % 2, 0U) << data;
    if (data.find('C') != std::string_view::npos) numbers = on_curve(numbers);
    Box box = {1e9, 1e9, -1e9, -1e9};
    for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
      box.left = std::min(box.left, numbers[i]);
      box.right = std::max(box.right, numbers[i]);
      box.top = std::min(box.top, numbers[i + 1]);
      box.bottom = std::max(box.bottom, numbers[i + 1]);
    }
    return box;
  }

  /// Points on a cubic curve, by de Casteljau's construction.
  [[nodiscard]] static std::vector<double> on_curve(const std::vector<double>& p) {
    std::vector<double> points;
    EXPECT_EQ(p.size(), 8U);
    for (int i = 0; i <= 100 && p.size() == 8; ++i) {
      const double t = i / 100.0;
      for (std::size_t axis = 0; axis < 2; ++axis) {
        std::vector<double> level = {p[axis], p[axis + 2], p[axis + 4], p[axis + 6]};
        for (; level.size() > 1; level.pop_back())
          for (std::size_t j = 0; j + 1 < level.size(); ++j) level[j] += (level[j + 1] - level[j]) * t;
        points.push_back(level[0]);
      }
    }
    return points;
  }

  pugi::xml_document document_;
  Box view_;
};

}  // namespace toric::test
