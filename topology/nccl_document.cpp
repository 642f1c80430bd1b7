#include "toric/topology/nccl_document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace toric::nccl {

namespace {

/// In the order of the text; without recursion, as nobody has looked yet how deep it is.
pugi::xml_node next_below(pugi::xml_node root, pugi::xml_node node, int& depth) {
  if (node.first_child()) {
    ++depth;
    return node.first_child();
  }
  for (; node != root && !node.next_sibling(); node = node.parent()) --depth;
  return node == root ? pugi::xml_node() : node.next_sibling();
}

std::size_t offset_of(pugi::xml_node node) { return static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)); }

}  // namespace

void Warnings::add(std::string_view kind, std::size_t line, std::string_view found) {
  const auto known = std::ranges::find(kinds_, kind, &Kind::text);
  if (known == kinds_.end())
    kinds_.push_back({std::string(kind), std::string(found), line, 1});
  else
    ++known->count;
}

std::vector<std::string> Warnings::lines(std::string_view name) const {
  std::vector<std::string> made;
  for (const Kind& kind : kinds_) {
    const std::string found = kind.found.empty() ? "" : fmt::format(" (found '{}')", kind.found);
    const std::string times = kind.count == 1 ? "" : fmt::format(" ({} times, this is the first)", kind.count);
    made.push_back(fmt::format("{}:{}: {}{}{}", name, kind.line, kind.text, found, times));
  }
  return made;
}

Status Document::parse(std::string_view text, std::string_view name) {
  name_ = name;
  newlines_.clear();
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) newlines_.push_back(at);
  // To the parser a zero ends the text.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) return wrong_at(zero, "expected text, found a zero byte");

  // As a fragment, text outside the root element is kept and can be refused.
  const auto result = tree_.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_fragment, pugi::encoding_utf8);
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
    return wrong_at(offset, fmt::format("expected well-formed XML: {}", result.description()));
  }
  TORIC_TRY(check_outermost());
  return check_size();
}

Status Document::check_outermost() const {
  pugi::xml_node found;
  for (const pugi::xml_node node : tree_.children()) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) {
      const std::string_view text = node.value();
      const std::size_t blanks = std::min(text.find_first_not_of(" \t\r\n"), text.size());
      return wrong_at(offset_of(node) + blanks, "expected well-formed XML: found text outside the outermost element");
    }
    if (node.type() != pugi::node_element) continue;
    if (found) return wrong(node, fmt::format("expected one outermost element, found <{}> after <{}>", node.name(), found.name()));
    found = node;
  }
  return found ? Status() : wrong_at(0, "expected an XML element, found none");
}

Status Document::check_size() const {
  std::size_t elements = 0;
  int depth = 1;
  for (pugi::xml_node node = root(); node; node = next_below(root(), node, depth)) {
    if (node.type() == pugi::node_element && ++elements > most_elements)
      return wrong(node, fmt::format("expected at most {} elements, found more", most_elements));
    if (depth > most_depth) return wrong(node, fmt::format("expected elements nested at most {} deep, found more", most_depth));
  }
  return {};
}

std::size_t Document::line_at(std::size_t offset) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(newlines_, offset) - newlines_.begin()) + 1;
}

std::size_t Document::line_of(pugi::xml_node node) const { return line_at(offset_of(node)); }

Status Document::wrong_at(std::size_t offset, std::string_view what) const {
  return {Code::invalid_argument, fmt::format("{}:{}: {}", name_, line_at(offset), what)};
}

Status Document::wrong(pugi::xml_node node, std::string_view what) const {
  return {Code::invalid_argument, fmt::format("{}:{}: {}", name_, line_of(node), what)};
}

}  // namespace toric::nccl
