#include "campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <set>
#include <thread>

namespace toric::tools {

namespace {

constexpr std::uint32_t largest_number = 4096;

bool parse_one(std::string_view text, std::uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= largest_number;
}

std::set<Rank> roots_of(Collective collective, Rank ranks) {
  if (!is_rooted(collective)) return {-1};
  return {0, ranks / 2, ranks - 1};
}

/// Null: none is needed.
std::vector<const Shape*> shapes_for(Cases& cases, const Algorithm& algorithm, Rank ranks) {
  if (!algorithm.follows_shape) return {nullptr};
  const auto [found, fresh] = cases.shapes.try_emplace(ranks);
  if (fresh) {
    found->second = torus_shapes(ranks);
    for (Shape& shape : hosts_shapes(ranks)) found->second.push_back(std::move(shape));
  }
  std::vector<const Shape*> shapes;
  for (const Shape& shape : found->second) shapes.push_back(&shape);
  return shapes;
}

void add_row(Cases& cases, const Algorithm& algorithm, Collective collective, const Selection& selection) {
  Row row{&algorithm, collective};
  for (std::uint32_t count : selection.ranks) {
    const auto ranks = static_cast<Rank>(count);
    for (const Shape* shape : shapes_for(cases, algorithm, ranks))
      for (Rank root : roots_of(collective, ranks))
        for (std::uint32_t pieces : selection.pieces) {
          const Request request{.collective = collective, .ranks = ranks, .root = root, .bytes = 1 << 20, .shape = shape, .pieces = pieces};
          if (algorithm.fits(request))
            cases.cases.push_back({&algorithm, request, cases.rows.size()});
          else
            ++row.unfit;
        }
  }
  cases.rows.push_back(row);
}

Status check_names(const Selection& selection) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) names += " " + std::string(algorithm.name);
  if (!selection.algorithm.empty() && find_algorithm(selection.algorithm) == nullptr)
    return {Code::invalid_argument, fmt::format("there is no algorithm '{}'; there are:{}", selection.algorithm, names)};
  if (!selection.collective.empty() && !collective_from(selection.collective))
    return {
        Code::invalid_argument,
        fmt::format("there is no collective '{}'; try all_reduce, all_gather, reduce_scatter, broadcast, barrier", selection.collective)};
  return {};
}

Status run_one(const Case& one, const std::function<Status(const Case&, const Schedule&)>& check) {
  const Result<Schedule> schedule = build_schedule(*one.algorithm, one.request);
  return schedule.ok() ? check(one, *schedule) : schedule.status();
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_numbers(const std::string& text) {
  std::set<std::uint32_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    std::uint32_t first = 0, last = 0;
    if (!parse_one(part.substr(0, dash), first) || !parse_one(dash == part.npos ? part : part.substr(dash + 1), last) || first > last)
      return Status(Code::invalid_argument,
                    fmt::format("'{}' is no list of numbers from 1 to {}, such as 1-64 or 1,4", text, largest_number));
    for (std::uint32_t number = first; number <= last; ++number) numbers.insert(number);
    begin = end + 1;
  }
  return std::vector<std::uint32_t>(numbers.begin(), numbers.end());
}

Result<Cases> select_cases(const Selection& selection) {
  TORIC_TRY(check_names(selection));
  Cases cases;
  for (const Algorithm& algorithm : algorithms())
    for (Collective collective : algorithm.collectives)
      if ((selection.algorithm.empty() || selection.algorithm == algorithm.name) &&
          (selection.collective.empty() || selection.collective == name_of(collective)))
        add_row(cases, algorithm, collective, selection);
  if (cases.rows.empty())
    return Status(Code::invalid_argument,
                  fmt::format("{} does not offer {}; see: toric algorithms", selection.algorithm, selection.collective));
  std::stable_sort(cases.cases.begin(), cases.cases.end(), [](const Case& a, const Case& b) { return a.request.ranks > b.request.ranks; });
  return cases;
}

std::string describe(const Case& one) {
  const Request& request = one.request;
  const std::string root = request.root >= 0 ? fmt::format(", root {}", request.root) : std::string();
  const std::string shape = request.shape != nullptr ? " as " + request.shape->text() : std::string();
  return fmt::format("{} {}, {} ranks{}{}, {} pieces", one.algorithm->name, name_of(request.collective), request.ranks, shape, root,
                     request.pieces);
}

Status run_cases(const Cases& cases, unsigned threads, const std::function<Status(const Case&, const Schedule&)>& check) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  Status first;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.cases.size() && !failed; i = next++) {
      const Status status = run_one(cases.cases[i], check);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) first = status;
    }
  };
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < (threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())); ++i) pool.emplace_back(work);
  work();
  pool.clear();
  return first;
}

}  // namespace toric::tools
