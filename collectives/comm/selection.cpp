#include "toric/comm/selection.hpp"

#include "toric/comm/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

namespace toric {
namespace {

/// The table, read top down: the first band of ranks that holds counts; inside a band sizes ascend.
struct Row {
  Collective collective;
  Rank most_ranks;
  std::uint64_t below;  // bytes of the full vector
  std::string_view algorithm;
  std::uint32_t pieces = 1;
};

constexpr Rank any = INT32_MAX;
constexpr std::uint64_t inf = UINT64_MAX;
constexpr std::uint64_t operator""_k(unsigned long long n) { return n << 10; }

constexpr Row table[] = {
    {Collective::all_reduce, 2, 128_k, "direct"},
    {Collective::all_reduce, 2, inf, "two_shot"},
    {Collective::all_reduce, 8, 32_k, "direct"},
    {Collective::all_reduce, 8, 1024_k, "two_shot"},
    {Collective::all_reduce, 8, inf, "ring"},
    {Collective::all_reduce, any, 16_k, "recursive_doubling"},
    {Collective::all_reduce, any, 256_k, "halving_doubling"},
    {Collective::all_reduce, any, inf, "ring"},
    {Collective::all_gather, 8, 256_k, "direct"},
    {Collective::all_gather, 8, inf, "ring"},
    {Collective::all_gather, any, 64_k, "recursive_doubling"},
    {Collective::all_gather, any, inf, "ring"},
    {Collective::reduce_scatter, 8, 256_k, "direct"},
    {Collective::reduce_scatter, 8, inf, "ring"},
    {Collective::reduce_scatter, any, 64_k, "halving_doubling"},
    {Collective::reduce_scatter, any, inf, "ring"},
    {Collective::broadcast, 2, inf, "direct"},
    {Collective::broadcast, 8, 64_k, "direct"},
    {Collective::broadcast, 8, inf, "ring"},
    {Collective::broadcast, any, 64_k, "binomial_tree"},
    {Collective::broadcast, any, inf, "ring"},
    {Collective::barrier, any, inf, "dissemination"},
};

Request request_for(Collective collective, Rank ranks, Rank root, std::uint64_t bytes, const Topology* topology) {
  Request request;
  request.collective = collective;
  request.ranks = ranks;
  request.root = is_rooted(collective) ? std::max<Rank>(root, 0) : -1;
  request.bytes = bytes;
  request.topology = topology;
  return request;
}

bool suits(const Algorithm* algorithm, const Request& request) {
  return algorithm != nullptr && algorithm->offers(request.collective) && algorithm->fits(request);
}

std::string names_that(const std::function<bool(const Algorithm&)>& holds) {
  std::string names;
  for (const Algorithm& algorithm : algorithms())
    if (holds(algorithm)) names += (names.empty() ? "" : ", ") + std::string(algorithm.name);
  return names.empty() ? "none" : names;
}

/// The table's choice for `bytes`, or whatever fits when the table's does not.
Choice standard_choice(const Request& request) {
  Rank band = 0;
  for (const Row& row : table) {
    if (row.collective != request.collective || row.most_ranks < request.ranks) continue;
    if (band == 0) band = row.most_ranks;
    if (row.most_ranks != band || (request.bytes >= row.below && row.below != inf)) continue;
    const Algorithm* algorithm = find_algorithm(row.algorithm);
    if (suits(algorithm, request)) return {0, inf, algorithm, row.pieces};
  }
  for (const Algorithm& algorithm : algorithms())
    if (suits(&algorithm, request)) return {0, inf, &algorithm, 1};
  return {};
}

// --- the wish's grammar ---------------------------------------------------------------------------------------------

Status bad(std::string_view part, std::string text) {
  return {Code::invalid_argument, fmt::format("algorithm wish: \"{}\" {}", part, std::move(text))};
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// name ['@' pieces]
Status parse_algorithm(std::string_view text, Wish::Range& range) {
  const std::size_t at = text.find('@');
  const std::string_view name = text.substr(0, at);
  range.algorithm = find_algorithm(name);
  if (range.algorithm == nullptr)
    return bad(text, fmt::format("names no algorithm; there are {}", names_that([](const Algorithm&) { return true; })));
  if (at == std::string_view::npos) return {};
  const std::string_view pieces = text.substr(at + 1);
  const auto [end, error] = std::from_chars(pieces.data(), pieces.data() + pieces.size(), range.pieces);
  if (error != std::errc() || end != pieces.data() + pieces.size() || range.pieces < 1 || range.pieces > 64)
    return bad(text, "asks for pieces that are not a number from 1 to 64");
  return {};
}

Status parse_range(std::string_view text, Wish::Range& range) {
  const std::size_t equals = text.find('='), dash = text.find('-');
  if (equals == std::string_view::npos || dash == std::string_view::npos || dash > equals)
    return bad(text, "is not a range: write it as 0-4k=direct");
  const auto begin = parse_size(text.substr(0, dash)), end = parse_size(text.substr(dash + 1, equals - dash - 1));
  if (!begin || !end || *begin >= *end) return bad(text, "has no usable sizes: write them as 0-4k or 4k-inf, the smaller first");
  range.begin = *begin;
  range.end = *end;
  return parse_algorithm(text.substr(equals + 1), range);
}

Status add(Wish& wish, Collective collective, const Wish::Range& range, std::string_view part) {
  if (!range.algorithm->offers(collective)) {
    return bad(part, fmt::format("is impossible: {} does not offer {}; those that do: {}", range.algorithm->name, name_of(collective),
                                 names_that([collective](const Algorithm& a) { return a.offers(collective); })));
  }
  wish.ranges[static_cast<std::size_t>(collective)].push_back(range);
  return {};
}

Status parse_item(std::string_view item, Wish& wish) {
  const std::size_t mark = item.find_first_of(":=");
  if (mark == std::string_view::npos) {
    Wish::Range range;
    TORIC_TRY(parse_algorithm(item, range));
    for (int c = 0; c < collective_count; ++c)
      if (range.algorithm->offers(static_cast<Collective>(c))) wish.ranges[static_cast<std::size_t>(c)].push_back(range);
    return {};
  }
  const auto collective = collective_from(item.substr(0, mark));
  if (!collective) return bad(item, "begins with no collective: write it as all_reduce=ring or all_reduce:0-4k=direct");
  if (item[mark] == '=') {
    Wish::Range range;
    TORIC_TRY(parse_algorithm(item.substr(mark + 1), range));
    return add(wish, *collective, range, item);
  }
  for (const std::string_view part : split(item.substr(mark + 1), ',')) {
    Wish::Range range;
    TORIC_TRY(parse_range(part, range));
    TORIC_TRY(add(wish, *collective, range, part));
  }
  return {};
}

Status does_not_fit(std::string_view item, const Algorithm& algorithm, Collective collective, Rank ranks) {
  return bad(item, fmt::format("is impossible: {} does not fit {} on {} ranks ({}); those that fit: {}", algorithm.name,
                               name_of(collective), ranks, algorithm.when, fitting_names(collective, ranks, 0)));
}

Status check_item(std::string_view item, Rank ranks) {
  Wish wish;
  TORIC_TRY(parse_item(item, wish));
  const bool name_alone = item.find_first_of(":=") == std::string_view::npos;
  Status first;
  for (int c = 0; c < collective_count; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const Wish::Range& range : wish.ranges[static_cast<std::size_t>(c)]) {
      const bool fits = suits(range.algorithm, request_for(collective, ranks, 0, range.begin, nullptr));
      if (fits && name_alone) return {};
      if (!fits && first.ok()) first = does_not_fit(item, *range.algorithm, collective, ranks);
    }
  }
  return first;
}

}  // namespace

Result<Wish> parse_wish(std::string_view text) {
  Wish wish;
  if (text.empty()) return wish;
  for (const std::string_view item : split(text, ';')) TORIC_TRY(parse_item(item, wish));
  return wish;
}

Status check_wish(std::string_view text, Rank ranks) {
  if (text.empty()) return {};
  for (const std::string_view item : split(text, ';')) TORIC_TRY(check_item(item, ranks));
  return {};
}

Result<std::vector<Choice>> choose(Collective collective, Rank ranks, Rank root, const Wish& wish, const Topology* topology) {
  const auto& wished = wish.ranges[static_cast<std::size_t>(collective)];
  std::set<std::uint64_t> begins = {0};
  for (const Row& row : table)
    if (row.collective == collective && row.below != inf) begins.insert(row.below);
  for (const Wish::Range& range : wished) {
    begins.insert(range.begin);
    if (range.end != inf) begins.insert(range.end);
  }
  std::vector<Choice> choices;
  for (const std::uint64_t begin : begins) {
    const Request request = request_for(collective, ranks, root, begin, topology);
    Choice choice = standard_choice(request);
    for (const Wish::Range& range : wished)
      if (begin >= range.begin && begin < range.end && suits(range.algorithm, request)) choice = {0, inf, range.algorithm, range.pieces};
    if (choice.algorithm == nullptr)
      return Status(Code::internal_error, fmt::format("no algorithm fits {} on {} ranks at {} bytes", name_of(collective), ranks, begin));
    if (!choices.empty() && choices.back().algorithm == choice.algorithm && choices.back().pieces == choice.pieces) continue;
    choice.begin = begin;
    if (!choices.empty()) choices.back().end = begin;
    choices.push_back(choice);
  }
  return choices;
}

std::size_t window_bytes_for(const Schedule& schedule, std::size_t segment_bytes, std::uint32_t slots, std::size_t setting) {
  if (setting == SIZE_MAX) return 0;
  if (setting != 0) return setting;
  const std::size_t parts = has_blocks(schedule.what) ? schedule.chunks / static_cast<std::uint32_t>(schedule.ranks) : schedule.chunks;
  const std::size_t chunk = segment_bytes * slots / std::max<std::size_t>(2, schedule.fifo);
  return std::max<std::size_t>(parts, 1) * std::max<std::size_t>(chunk / 64 * 64, 64);
}

std::string fitting_names(Collective collective, Rank ranks, Rank root) {
  const Request request = request_for(collective, ranks, root, 0, nullptr);
  return names_that([&request](const Algorithm& algorithm) { return suits(&algorithm, request); });
}

}  // namespace toric
