#include "toric/topology/hwloc_distances.hpp"

#include "toric/topology/nccl_values.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace toric::hwloc_xml {

namespace {

/// The words in all children of that name: hwloc wraps long lists over several.
std::vector<std::string_view> words_of(pugi::xml_node element, const char* name) {
  std::vector<std::string_view> found;
  constexpr std::string_view blanks = " \t\r\n";
  for (const pugi::xml_node child : element.children(name)) {
    std::string_view text = child.child_value();
    for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos; at = text.find_first_not_of(blanks)) {
      text.remove_prefix(at);
      found.push_back(text.substr(0, text.find_first_of(blanks)));
      text.remove_prefix(found.back().size());
    }
  }
  return found;
}

Result<Bandwidths> matrix_of(const nccl::Document& document, pugi::xml_node element) {
  Bandwidths made{.element = element, .objects = {}, .values = {}};
  const long long count = nccl::integer(element.attribute("nbobjs").value()).value_or(-1);
  const std::vector<std::string_view> indexes = words_of(element, "indexes");
  if (count < 1 || static_cast<std::size_t>(count) != indexes.size())
    return document.wrong(element, fmt::format("expected nbobjs=\"{0}\" as there are {0} indexes, found \"{1}\"", indexes.size(),
                                               element.attribute("nbobjs").value()));
  // "OSDev:332" where the types differ.
  for (const std::string_view index : indexes) made.objects.emplace_back(index.substr(index.rfind(':') + 1));

  const std::vector<std::string_view> values = words_of(element, "u64values");
  if (values.size() != indexes.size() * indexes.size())
    return document.wrong(element, fmt::format("expected {0} x {0} values, found {1}", indexes.size(), values.size()));
  for (const std::string_view text : values) {
    const std::optional<long long> value = nccl::integer(text);
    if (!value || *value < 0) return document.wrong(element, fmt::format("expected a bandwidth in MB/s, found '{}'", text));
    made.values.push_back(static_cast<double>(*value));
  }
  return made;
}

}  // namespace

Result<std::vector<Bandwidths>> nvlink_bandwidths(const nccl::Document& document) {
  std::vector<Bandwidths> found;
  for (const pugi::xml_node element : document.root().children()) {
    const std::string_view name = element.name();
    if (name != "distances2" && name != "distances2hetero") continue;
    if (std::string_view(element.attribute("name").value()) != "NVLinkBandwidth") continue;
    if (name == "distances2" && std::string_view(element.attribute("indexing").value()) == "os")
      return document.wrong(element, "expected indexing=\"gp\" of devices, found \"os\"");
    Result<Bandwidths> made = matrix_of(document, element);
    if (!made.ok()) return made.status();
    found.push_back(std::move(*made));
  }
  return found;
}

}  // namespace toric::hwloc_xml
