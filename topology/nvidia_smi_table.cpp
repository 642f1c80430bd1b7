#include "toric/topology/nvidia_smi_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace toric::nvidia {

namespace {

constexpr std::size_t most_devices = 256;
constexpr int most_number = 4095;  // of CPUs and NUMA nodes
constexpr int most_nvlinks = 1024;

using Words = std::vector<std::string>;

/// Without the sequences that underline the header on a terminal.
std::string plain(std::string_view line) {
  std::string made;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b')
      at = std::min(line.find('m', at), line.size());
    else
      made += line[at];
  }
  return made;
}

Words words_of(const std::string& line) {
  constexpr std::string_view blanks = " \t\r";
  Words words;
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blanks, end);
  }
  return words;
}

std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) return {};
  return value;
}

/// "0-3,8": ascending and without repetitions; empty: no such list.
std::vector<int> list(std::string_view text) {
  std::vector<int> found;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash), most_number);
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1), most_number);
    if (!first || !last || *last < *first || (!found.empty() && *first <= found.back())) return {};
    for (int value = *first; value <= *last; ++value) found.push_back(value);
  }
  return found;
}

std::optional<Cell> cell_of(std::string_view word) {
  if (word == "X") return Cell{Path::self, 0};
  if (word == "PIX") return Cell{Path::bridge, 0};
  if (word == "PXB") return Cell{Path::bridges, 0};
  if (word == "PHB") return Cell{Path::host_bridge, 0};
  if (word == "NODE") return Cell{Path::numa_node, 0};
  if (word == "SYS" || word == "SOC") return Cell{Path::system, 0};
  if (!word.starts_with("NV")) return {};
  const auto links = number(word.substr(2), most_nvlinks);
  if (!links || *links == 0) return {};
  return Cell{Path::nvlink, *links};
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  Result<Table> read();

 private:
  [[nodiscard]] Status wrong(std::string_view what) const {
    return {Code::invalid_argument, fmt::format("{}:{}: {}", name_, std::max<std::size_t>(line_, 1), what)};
  }
  bool next(Words& words);
  Status read_header();
  Status read_row(std::size_t row);
  void read_affinity(Device& device, const Words& words, std::size_t at) const;
  [[nodiscard]] Status check() const;
  void read_legend();

  std::string_view rest_, name_;
  std::size_t line_ = 0;
  bool cpu_column_ = false, numa_column_ = false;
  Table table_;
};

bool Reader::next(Words& words) {
  if (rest_.empty()) return false;
  const std::string_view line = rest_.substr(0, rest_.find('\n'));
  rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
  words = words_of(plain(line));
  ++line_;
  return true;
}

Result<Table> Reader::read() {
  if (rest_.find("ROCm System Management") != std::string_view::npos || rest_.find("Weight between two GPUs") != std::string_view::npos)
    return Status(Code::invalid_argument,
                  fmt::format("{}: this is what rocm-smi prints; expected nvidia-smi topo -m, or the XML that RCCL writes where "
                              "NCCL_TOPO_DUMP_FILE tells it to",
                              name_));
  TORIC_TRY(read_header());
  for (std::size_t row = 0; row < table_.devices.size(); ++row) TORIC_TRY(read_row(row));
  TORIC_TRY(check());
  read_legend();
  return std::move(table_);
}

Status Reader::read_header() {
  Words words;
  do {
    if (!next(words)) return wrong("expected a line of device names, GPU0 first, found none");
  } while (words.empty() || !words[0].starts_with("GPU"));
  table_.line = line_;
  // Behind the devices: "CPU Affinity", "NUMA Affinity", "GPU NUMA ID", of which the last is a device's own memory.
  const auto end = std::ranges::find_if(words, [](const std::string& word) { return word == "CPU" || word == "NUMA" || word == "GPU"; });
  for (auto word = end; word != words.end() && *word != "GPU"; ++word) {
    cpu_column_ = cpu_column_ || *word == "CPU";
    numa_column_ = numa_column_ || *word == "NUMA";
  }
  for (auto word = words.begin(); word != end; ++word) {
    if (std::ranges::find(table_.devices, *word, &Device::name) != table_.devices.end())
      return wrong(fmt::format("expected devices with different names, found {} twice", *word));
    if (table_.devices.size() == most_devices) return wrong(fmt::format("expected at most {} devices, found more", most_devices));
    table_.devices.push_back({.name = *word, .gpu = word->starts_with("GPU"), .cpus = {}, .numa = {}});
  }
  if (table_.devices.empty()) return wrong("expected a line of device names, GPU0 first, found none");
  return {};
}

Status Reader::read_row(std::size_t row) {
  Device& device = table_.devices[row];
  Words words;
  do {
    if (!next(words)) return wrong(fmt::format("expected the row of {}, found the end", device.name));
  } while (words.empty());
  if (words[0] != device.name) return wrong(fmt::format("expected the row of {}, found '{}'", device.name, words[0]));
  const std::size_t columns = table_.devices.size();
  if (words.size() <= columns) return wrong(fmt::format("expected {} cells for {}, found {}", columns, device.name, words.size() - 1));
  auto& cells = table_.cells.emplace_back();
  for (std::size_t column = 0; column < columns; ++column) {
    const std::string& word = words[column + 1];
    const auto cell = cell_of(word);
    if (!cell)
      return wrong(fmt::format("expected X, PIX, PXB, PHB, NODE, SYS or NV and a number from {} to {}, found '{}'", device.name,
                               table_.devices[column].name, word));
    cells.push_back(*cell);
  }
  read_affinity(device, words, columns + 1);
  return {};
}

void Reader::read_affinity(Device& device, const Words& words, std::size_t at) const {
  if (cpu_column_ && at < words.size()) device.cpus = list(words[at]);
  at += cpu_column_ ? 1 : 0;
  if (numa_column_ && at < words.size()) device.numa = list(words[at]);
}

Status Reader::check() const {
  for (std::size_t row = 0; row < table_.cells.size(); ++row)
    for (std::size_t column = 0; column <= row; ++column) {
      const std::string &one = table_.devices[row].name, &other = table_.devices[column].name;
      const Cell& cell = table_.cells[row][column];
      if ((cell.path == Path::self) != (row == column))
        return {Code::invalid_argument, fmt::format("{}:{}: expected X from each device to itself only, found otherwise from {} to {}",
                                                    name_, table_.line, one, other)};
      if (cell != table_.cells[column][row])
        return {Code::invalid_argument,
                fmt::format("{}:{}: expected the same from {} to {} as back, found different cells", name_, table_.line, one, other)};
      if (cell.path == Path::nvlink && !(table_.devices[row].gpu && table_.devices[column].gpu))
        return {Code::invalid_argument,
                fmt::format("{}:{}: expected NVLinks among GPUs only, found one from {} to {}", name_, table_.line, one, other)};
    }
  return {};
}

/// "NIC0: mlx5_0", below the table.
void Reader::read_legend() {
  Words words;
  while (next(words)) {
    if (words.size() != 2 || !words[0].ends_with(':')) continue;
    const std::string_view name = std::string_view(words[0]).substr(0, words[0].size() - 1);
    const auto device = std::ranges::find(table_.devices, name, &Device::name);
    if (device != table_.devices.end() && !device->gpu) device->name = words[1];
  }
}

}  // namespace

Result<Table> read_table(std::string_view text, std::string_view name) { return Reader(text, name).read(); }

}  // namespace toric::nvidia
