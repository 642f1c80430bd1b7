// Which reader a text is for, and texts from files.
#include "toric/topology/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace toric {

namespace {

constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 28;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::string_view blanks = " \t\r\n";
constexpr char escape = '\x1b';

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// Behind the first `end`; empty where there is none.
std::string_view behind(std::string_view text, std::string_view end) {
  const std::size_t found = text.find(end);
  return found == std::string_view::npos ? std::string_view() : text.substr(found + end.size());
}

/// The name of the outermost element; empty: there is none.
std::string_view root_element(std::string_view text) {
  while (text.starts_with('<')) {
    if (text.starts_with("<!--"))
      text = behind(text, "-->");
    else if (text.starts_with("<?"))
      text = behind(text, "?>");
    else if (text.starts_with("<!"))
      text = behind(text, ">");
    else
      return text.substr(1, std::min(text.find_first_of(" \t\r\n/>", 1), text.size()) - 1);
    text = without_leading_blanks(text);
  }
  return {};
}

/// The first word of a line; terminals are told in escape sequences to underline the header of a matrix.
std::string_view first_word(std::string_view line) {
  while (!line.empty()) {
    if (line.front() == escape)
      line = behind(line, "m");
    else if (blanks.find(line.front()) != std::string_view::npos)
      line.remove_prefix(1);
    else
      break;
  }
  return line.substr(0, line.find_first_of(" \t\r\x1b"));
}

bool is_matrix(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (first_word(line).starts_with("GPU")) return true;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

/// Comments and empty lines may stand before it.
bool is_topology_text(std::string_view text) {
  while (text.starts_with('#')) text = without_leading_blanks(behind(text, "\n"));
  return text.starts_with("toric");
}

}  // namespace

Result<Imported> read_topology(std::string_view text, std::string_view name) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::string_view content = without_leading_blanks(text);
  if (is_topology_text(content)) return read_topology_text(text, name);
  if (content.starts_with('<')) {
    const std::string_view root = root_element(content);
    if (root == "system") return read_nccl_xml(text, name);
    if (root == "topology") return read_hwloc_xml(text, name);
    constexpr std::size_t longest = 40;
    const std::string found = root.empty() ? "none" : fmt::format("'{}'", root.substr(0, longest));
    return Status(Code::invalid_argument,
                  fmt::format("{}: expected XML with the outermost element 'system' (NCCL) or 'topology' (hwloc), found {}", name, found));
  }
  if (is_matrix(content)) return read_nvidia_smi(text, name);
  return Status(
      Code::invalid_argument,
      fmt::format("{}: expected a topology: 'toric topology 1', the XML of NCCL or hwloc, or what 'nvidia-smi topo -m' prints", name));
}

Result<Imported> load_topology(const std::string& path) {
  const auto unreadable = [&](std::string_view why) {
    return Status(Code::invalid_argument, fmt::format("{}: cannot be read: {}", path, why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return unreadable("it is a folder; expected a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(errno == 0 ? "it cannot be opened" : std::strerror(errno));
  std::string text;
  char buffer[65536];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) return unreadable(fmt::format("it has more than {} bytes", most_bytes));
  }
  if (file.bad()) return unreadable("reading it failed");
  return read_topology(text, path);
}

}  // namespace toric
