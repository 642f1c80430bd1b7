// Reading the text form; its grammar is in docs/topology.md.
#include "toric/topology/quantity.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace toric {

namespace {

constexpr std::string_view first_line = "toric topology 1";
constexpr std::string_view blanks = " \t\r";
constexpr std::string_view unknown_bandwidth = "?B/s";
constexpr std::string_view unknown_latency = "?s";
constexpr std::size_t link_kinds = 8;
constexpr std::int64_t largest_number = std::numeric_limits<int>::max();
// A range is short to write and long to keep. Real machines list fewer CPUs than this allows, by far.
constexpr std::size_t cpus_in_all = 65536;
constexpr std::size_t cpus_per_byte = 16;

template <typename Kind>
std::optional<Kind> kind_from(std::string_view name) {
  for (int i = 0; name_of(static_cast<Kind>(i)) != "unknown"; ++i)
    if (name_of(static_cast<Kind>(i)) == name) return static_cast<Kind>(i);
  return std::nullopt;
}

template <typename Kind>
std::string kind_names() {
  std::string names;
  for (int i = 0; name_of(static_cast<Kind>(i)) != "unknown"; ++i)
    names += (i == 0 ? "" : ", ") + std::string(name_of(static_cast<Kind>(i)));
  return names;
}

struct Word {
  std::string text;
  bool quoted = false;
};

struct Speed {
  double bandwidth = 0, latency = 0;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : rest_(text), name_(name), cpus_left_(cpus_in_all + cpus_per_byte * text.size()) {}
  Result<Imported> read();

 private:
  bool next_line();
  Status wrong(std::string_view what) const {
    return {Code::invalid_argument, fmt::format("{}:{}: {}", name_, std::max<std::size_t>(number_, 1), what)};
  }
  Status expected(std::string_view what) const;
  Status in_line(const Status& status) const { return status.ok() ? status : wrong(status.text()); }
  Status split_words();
  Status unquote(std::size_t& position, std::string& text) const;
  [[nodiscard]] bool at_end() const { return word_ == words_.size(); }
  [[nodiscard]] bool at_quoted() const { return !at_end() && words_[word_].quoted; }
  [[nodiscard]] std::string_view word() const {
    return at_end() || at_quoted() ? std::string_view() : std::string_view(words_[word_].text);
  }
  bool take(std::string_view keyword);

  Status read_line();
  Status read_node();
  Status read_attribute(TopologyNode& node);
  Status read_link();
  Status read_default();
  Status read_speed(Speed& speed);
  Status read_allowed();
  Status read_ranks();
  Status add_rank(std::int64_t id);
  Status read_number(int& number, std::string_view what);
  Status read_quoted(std::string& text, std::string_view what);
  Status read_cpus(std::vector<int>& cpus);
  template <typename Each>
  Status read_list(std::string_view what, std::size_t most, const Each& each);

  std::string_view rest_, name_, line_;
  std::size_t number_ = 0;  // of the line, from 1
  std::vector<Word> words_;
  std::size_t word_ = 0;
  Topology made_;
  std::array<Speed, link_kinds> defaults_{};
  std::vector<bool> ranked_;  // by node
  std::size_t cpus_left_;
  bool has_allowed_ = false;
};

bool Reader::next_line() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  ++number_;
  return true;
}

Status Reader::expected(std::string_view what) const {
  if (at_end()) return wrong(fmt::format("expected {}, found the end of the line", what));
  constexpr std::size_t longest = 60;
  std::string found = words_[word_].text;
  if (found.size() > longest) found = found.substr(0, longest) + "...";
  return wrong(at_quoted() ? fmt::format("expected {}, found \"{}\"", what, found) : fmt::format("expected {}, found '{}'", what, found));
}

/// From behind the opening quotation mark to behind the closing one.
Status Reader::unquote(std::size_t& position, std::string& text) const {
  for (; position < line_.size(); ++position) {
    if (line_[position] == '"') {
      ++position;
      return {};
    }
    if (line_[position] != '\\') {
      text += line_[position];
      continue;
    }
    const std::string_view escape = line_.substr(position + 1, 3);
    if (!escape.empty() && (escape[0] == '"' || escape[0] == '\\')) {
      text += escape[0];
      position += 1;
      continue;
    }
    unsigned byte = 0;
    if (escape.size() < 3 || escape[0] != 'x' || std::from_chars(escape.data() + 1, escape.data() + 3, byte, 16).ptr != escape.data() + 3)
      return wrong(R"(expected \", \\ or \x and two hexadecimal digits after a backslash)");
    text += static_cast<char>(byte);
    position += 3;
  }
  return wrong("expected a closing '\"', found the end of the line");
}

Status Reader::split_words() {
  words_.clear();
  word_ = 0;
  for (std::size_t position = 0; position < line_.size();) {
    if (blanks.find(line_[position]) != std::string_view::npos) {
      ++position;
      continue;
    }
    if (line_[position] == '#') return {};
    Word next;
    if (line_[position] == '"') {
      next.quoted = true;
      TORIC_TRY(unquote(++position, next.text));
      if (position < line_.size() && blanks.find(line_[position]) == std::string_view::npos)
        return wrong("expected a blank after the closing '\"'");
    } else {
      const std::size_t end = std::min(line_.find_first_of(" \t\r\"#", position), line_.size());
      next.text = line_.substr(position, end - position);
      position = end;
    }
    words_.push_back(std::move(next));
  }
  return {};
}

bool Reader::take(std::string_view keyword) {
  if (word() != keyword) return false;
  ++word_;
  return true;
}

Status Reader::read_number(int& number, std::string_view what) {
  const auto value = parse_whole(word(), largest_number);
  if (!value) return expected(what);
  number = static_cast<int>(*value);
  ++word_;
  return {};
}

Status Reader::read_quoted(std::string& text, std::string_view what) {
  if (!at_quoted()) return expected(what);
  text = std::move(words_[word_++].text);
  return {};
}

/// "0-3,8" as one word; at most `most` numbers.
template <typename Each>
Status Reader::read_list(std::string_view what, std::size_t most, const Each& each) {
  std::string_view list = word();
  if (list.empty()) return expected(what);
  while (true) {
    const std::string_view item = list.substr(0, list.find(','));
    const std::size_t dash = item.find('-');
    const auto first = parse_whole(item.substr(0, dash), largest_number);
    const auto last = dash == std::string_view::npos ? first : parse_whole(item.substr(dash + 1), largest_number);
    if (!first || !last || *last < *first) return expected(what);
    if (static_cast<std::size_t>(*last - *first) >= most)
      return wrong(fmt::format("'{}' makes the lists of this text longer than a machine could mean", item));
    most -= static_cast<std::size_t>(*last - *first) + 1;
    for (std::int64_t number = *first; number <= *last; ++number) TORIC_TRY(each(number));
    if (item.size() == list.size()) break;
    list.remove_prefix(item.size() + 1);
  }
  ++word_;
  return {};
}

Status Reader::read_cpus(std::vector<int>& cpus) {
  const std::string_view what = "ascending CPU numbers, as 0-3,8";
  TORIC_TRY(read_list(what, cpus_left_, [&](std::int64_t cpu) {
    if (!cpus.empty() && cpu <= cpus.back()) return expected(what);
    cpus.push_back(static_cast<int>(cpu));
    return Status();
  }));
  cpus_left_ -= cpus.size();
  return {};
}

Status Reader::read_attribute(TopologyNode& node) {
  if (take("in"))
    return node.parent == no_node ? read_number(node.parent, "the number of the node that contains it") : expected("'in' once");
  if (take("os")) return read_number(node.os_index, "the operating system's number");
  if (take("level")) return read_number(node.level, "the level of the cache");
  if (take("numa")) return read_number(node.numa, "the number of a NUMA node");
  if (take("cpus")) return node.cpus.empty() ? read_cpus(node.cpus) : expected("'cpus' once");
  if (take("model")) return read_quoted(node.model, "a model in quotation marks");
  if (take("size")) {
    const auto bytes = parse_bytes(word());
    if (!bytes) return expected("a size, as 32MiB");
    node.bytes = *bytes;
    ++word_;
    return {};
  }
  if (take("address")) {
    if (word().empty()) return expected("a PCI address, as 0000:1b:00.0");
    node.address = words_[word_++].text;
    return {};
  }
  return expected("in, os, level, numa, size, cpus, model, address or the end of the line");
}

Status Reader::read_node() {
  const auto id = parse_whole(word(), largest_number);
  if (!id || static_cast<std::size_t>(*id) != made_.nodes.size())
    return expected(fmt::format("{}, the next node's number", made_.nodes.size()));
  ++word_;
  const auto kind = kind_from<NodeKind>(word());
  if (!kind) return expected("a kind of node (" + kind_names<NodeKind>() + ")");
  ++word_;
  TopologyNode node;
  node.kind = *kind;
  if (at_quoted()) TORIC_TRY(read_quoted(node.name, "a name"));
  while (!at_end()) TORIC_TRY(read_attribute(node));
  return in_line(validate_node(made_, made_.add(std::move(node))));
}

/// What is not written stays as it is.
Status Reader::read_speed(Speed& speed) {
  if (take(unknown_bandwidth)) {
    speed.bandwidth = 0;
  } else if (const auto bandwidth = parse_bandwidth(word())) {
    speed.bandwidth = *bandwidth;
    ++word_;
  }
  if (take(unknown_latency)) {
    speed.latency = 0;
  } else if (const auto latency = parse_latency(word())) {
    speed.latency = *latency;
    ++word_;
  }
  return {};
}

Status Reader::read_link() {
  TopologyLink link;
  for (NodeId* end : {&link.from, &link.to}) {
    const std::size_t before = word_;
    TORIC_TRY(read_number(*end, "the number of a node"));
    if (static_cast<std::size_t>(*end) < made_.nodes.size()) continue;
    word_ = before;
    return expected("the number of a node above this line");
  }
  const auto kind = kind_from<LinkKind>(word());
  if (!kind) return expected("a kind of link (" + kind_names<LinkKind>() + ")");
  ++word_;
  Speed speed = defaults_[static_cast<std::size_t>(*kind)];
  TORIC_TRY(read_speed(speed));
  const bool one_way = take("one-way");
  if (!at_end()) return expected("a bandwidth (as 50GB/s), then a latency (as 1us), then one-way, or the end of the line");
  link.kind = *kind;
  link.bandwidth = speed.bandwidth;
  link.latency = speed.latency;
  made_.links.push_back(link);
  TORIC_TRY(in_line(validate_link(made_, made_.links.size() - 1)));
  if (one_way) return {};
  std::swap(link.from, link.to);
  made_.links.push_back(link);
  return {};
}

Status Reader::read_default() {
  const auto kind = kind_from<LinkKind>(word());
  if (!kind) return expected("a kind of link (" + kind_names<LinkKind>() + ")");
  ++word_;
  if (at_end()) return expected("a bandwidth (as 50GB/s), then a latency (as 1us)");
  TORIC_TRY(read_speed(defaults_[static_cast<std::size_t>(*kind)]));
  return at_end() ? Status() : expected("a bandwidth (as 50GB/s), then a latency (as 1us), or the end of the line");
}

Status Reader::read_allowed() {
  if (has_allowed_) return wrong("expected one line 'allowed', found a second");
  has_allowed_ = true;
  TORIC_TRY(read_cpus(made_.allowed_cpus));
  return at_end() ? Status() : expected("the end of the line");
}

Status Reader::add_rank(std::int64_t id) {
  if (static_cast<std::size_t>(id) >= made_.nodes.size()) return expected("numbers of nodes above this line");
  const NodeKind kind = made_.nodes[static_cast<std::size_t>(id)].kind;
  if (kind != NodeKind::gpu && kind != NodeKind::core)
    return wrong(fmt::format("expected gpus or cores, but node {} is a {}", id, name_of(kind)));
  ranked_.resize(made_.nodes.size(), false);
  if (ranked_[static_cast<std::size_t>(id)]) return wrong(fmt::format("expected each node once, but node {} has a rank already", id));
  ranked_[static_cast<std::size_t>(id)] = true;
  made_.ranks.push_back(static_cast<NodeId>(id));
  return {};
}

Status Reader::read_ranks() {
  if (take("all")) {
    if (!made_.ranks.empty()) return wrong("expected 'ranks all' or lists of nodes, found both");
    made_.rank_everything();
    ranked_.resize(made_.nodes.size(), false);
    for (const NodeId id : made_.ranks) ranked_[static_cast<std::size_t>(id)] = true;
  } else {
    TORIC_TRY(read_list("numbers of nodes (as 3-10,12), or all", std::numeric_limits<std::size_t>::max(),
                        [&](std::int64_t id) { return add_rank(id); }));
  }
  return at_end() ? Status() : expected("the end of the line");
}

Status Reader::read_line() {
  if (take("node")) return read_node();
  if (take("link")) return read_link();
  if (take("default")) return read_default();
  if (take("ranks")) return read_ranks();
  if (take("allowed")) return read_allowed();
  return expected("node, link, default, ranks or allowed");
}

Result<Imported> Reader::read() {
  bool begun = false;
  while (next_line()) {
    TORIC_TRY(split_words());
    if (words_.empty()) continue;
    if (begun) {
      TORIC_TRY(read_line());
      continue;
    }
    std::string all;
    for (const Word& one : words_) all += (all.empty() ? "" : " ") + one.text;
    if (all != first_line) return expected(fmt::format("'{}' as the first line", first_line));
    begun = true;
  }
  if (!begun) return wrong(fmt::format("expected '{}' as the first line, found the end", first_line));
  if (const Status status = validate(made_); !status.ok()) return wrong(status.text());
  return Imported{std::move(made_), {}};
}

}  // namespace

Result<Imported> read_topology_text(std::string_view text, std::string_view name) { return Reader(text, name).read(); }

}  // namespace toric
