// An XML text with its lines: what was wrong where, and how often something had to be assumed.
#pragma once

#include "toric/base.hpp"

#include <pugixml.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toric::nccl {

/// Warnings of one kind are one line: the first place, what was found there, and how many there are.
class Warnings {
 public:
  void add(std::string_view kind, std::size_t line, std::string_view found = {});
  [[nodiscard]] std::vector<std::string> lines(std::string_view name) const;

 private:
  struct Kind {
    std::string text, found;
    std::size_t line, count;
  };
  std::vector<Kind> kinds_;
};

/// Only well-formed texts with one root element, nested no deeper than most_depth.
class Document {
 public:
  static constexpr int most_depth = 64;
  static constexpr std::size_t most_elements = 65536;

  /// invalid_argument with name and line of what is not well-formed, too deep or too much.
  Status parse(std::string_view text, std::string_view name);
  [[nodiscard]] pugi::xml_node root() const { return tree_.document_element(); }
  /// 1 is the first.
  [[nodiscard]] std::size_t line_of(pugi::xml_node node) const;
  /// What is wrong with this element.
  [[nodiscard]] Status wrong(pugi::xml_node node, std::string_view what) const;

 private:
  [[nodiscard]] std::size_t line_at(std::size_t offset) const;
  [[nodiscard]] Status wrong_at(std::size_t offset, std::string_view what) const;
  [[nodiscard]] Status check_outermost() const;
  [[nodiscard]] Status check_size() const;

  pugi::xml_document tree_;
  std::string name_;
  std::vector<std::size_t> newlines_;
};

}  // namespace toric::nccl
