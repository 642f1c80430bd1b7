#include "toric/check/mutants.hpp"

#include "toric/check/interpreter.hpp"
#include "toric/check/memory.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace toric {

namespace {

// Up to this many steps (or ranks) every other value of a dependency (or peer) is tried, beyond it the neighbours.
constexpr std::uint32_t few = 16;

template <typename T>
void keep_each_once(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

std::string_view Mutants::name_of(Field field) {
  constexpr std::string_view names[] = {"op",        "src_buf", "dst_buf",   "flags",     "lane", "channel",       "peer", "src_first",
                                        "dst_first", "count",   "dep_begin", "dep_count", "dep",  "dep (removed)", "place"};
  return names[static_cast<std::size_t>(field)];
}

Mutants::Mutants(const Schedule& schedule) : schedule_(schedule) {
  for (const Program& program : schedule.programs)
    for (const Step& step : program.steps) {
      lanes_.push_back(step.lane);
      channels_.push_back(step.channel);
    }
  for (std::vector<std::uint16_t>* numbers : {&lanes_, &channels_}) {
    keep_each_once(*numbers);
    if (!numbers->empty() && numbers->back() < UINT16_MAX) numbers->push_back(static_cast<std::uint16_t>(numbers->back() + 1));
  }
  for (std::uint32_t rank = 0; rank < schedule.programs.size(); ++rank)
    for (std::uint32_t at = 0; at < schedule.programs[rank].steps.size(); ++at) {
      add_fields(rank, at);
      add_routes(rank, at);
      add_deps(rank, at);
    }
  for (std::uint32_t at = 0; at + 1 < schedule.chunks; ++at) changes_.push_back({Field::place, 0, at, 0, 0});
}

void Mutants::add(Field field, std::uint32_t rank, std::uint32_t at, std::int64_t old, std::int64_t value, std::int64_t limit) {
  if (value != old && value >= 0 && value <= limit) changes_.push_back({field, rank, at, 0, value});
}

void Mutants::add_fields(std::uint32_t rank, std::uint32_t at) {
  const Step& step = schedule_.programs[rank].steps[at];
  for (std::int64_t op = 0; op <= static_cast<std::int64_t>(Op::reduce); ++op)
    add(Field::op, rank, at, static_cast<std::int64_t>(step.op), op, 4);
  for (std::int64_t buf = 0; buf <= static_cast<std::int64_t>(Buf::scratch); ++buf) {
    add(Field::src_buf, rank, at, static_cast<std::int64_t>(step.src_buf), buf, 2);
    add(Field::dst_buf, rank, at, static_cast<std::int64_t>(step.dst_buf), buf, 2);
  }
  for (const int bit : {1, 2}) add(Field::flags, rank, at, step.flags, step.flags ^ bit, 255);
  const std::int64_t chunks = schedule_.chunks;
  for (const std::int64_t by : {-chunks, std::int64_t{-1}, std::int64_t{1}, chunks}) {
    add(Field::src_first, rank, at, step.src_first, step.src_first + by, UINT32_MAX);
    add(Field::dst_first, rank, at, step.dst_first, step.dst_first + by, UINT32_MAX);
    if (chunks == 1 && by == 1) break;  // -1 and 1 are -chunks and chunks
  }
  for (const int by : {-1, 1}) {
    add(Field::count, rank, at, step.count, std::int64_t{step.count} + by, UINT32_MAX);
    add(Field::dep_begin, rank, at, step.dep_begin, std::int64_t{step.dep_begin} + by, UINT32_MAX);
    add(Field::dep_count, rank, at, step.dep_count, std::int64_t{step.dep_count} + by, UINT32_MAX);
  }
}

void Mutants::add_routes(std::uint32_t rank, std::uint32_t at) {
  const Step& step = schedule_.programs[rank].steps[at];
  const auto near = [](std::int64_t a, std::int64_t b) { return a - b <= 1 && b - a <= 1; };
  for (const std::uint16_t lane : lanes_)
    if (lanes_.size() <= few || near(lane, step.lane)) add(Field::lane, rank, at, step.lane, lane, UINT16_MAX);
  for (const std::uint16_t channel : channels_)
    if (channels_.size() <= few || near(channel, step.channel)) add(Field::channel, rank, at, step.channel, channel, UINT16_MAX);
  for (Rank peer = 0; peer < schedule_.ranks; ++peer)
    if (schedule_.ranks <= static_cast<Rank>(few) || near(peer, step.peer))
      add(Field::peer, rank, at, step.peer, peer, schedule_.ranks - 1);
}

void Mutants::add_deps(std::uint32_t rank, std::uint32_t at) {
  const Program& program = schedule_.programs[rank];
  const auto deps = program.deps_of(program.steps[at]);
  for (std::uint32_t nth = 0; nth < deps.size(); ++nth) {
    changes_.push_back({Field::no_dep, rank, at, nth, 0});
    for (std::uint32_t other = 0; other < at; ++other) {
      const bool tried = at <= few || other + 1 == deps[nth].step || other == deps[nth].step + 1;
      if (tried && other != deps[nth].step) changes_.push_back({Field::dep, rank, at, nth, other});
    }
  }
}

void Mutants::apply(std::uint64_t number, Schedule& copy) const {
  const Change& change = changes_[number];
  if (change.field == Field::place) {
    if (copy.place.empty()) {
      copy.place.resize(copy.chunks);
      std::iota(copy.place.begin(), copy.place.end(), 0u);
    }
    std::swap(copy.place[change.at], copy.place[change.at + 1]);
    return;
  }
  Program& program = copy.programs[change.rank];
  Step& step = program.steps[change.at];
  const auto as_u32 = static_cast<std::uint32_t>(change.value);
  switch (change.field) {
    case Field::op:
      step.op = static_cast<Op>(change.value);
      break;
    case Field::src_buf:
      step.src_buf = static_cast<Buf>(change.value);
      break;
    case Field::dst_buf:
      step.dst_buf = static_cast<Buf>(change.value);
      break;
    case Field::flags:
      step.flags = static_cast<std::uint8_t>(change.value);
      break;
    case Field::lane:
      step.lane = static_cast<std::uint16_t>(change.value);
      break;
    case Field::channel:
      step.channel = static_cast<std::uint16_t>(change.value);
      break;
    case Field::peer:
      step.peer = static_cast<Rank>(change.value);
      break;
    case Field::src_first:
      step.src_first = as_u32;
      break;
    case Field::dst_first:
      step.dst_first = as_u32;
      break;
    case Field::count:
      step.count = as_u32;
      break;
    case Field::dep_begin:
      step.dep_begin = as_u32;
      break;
    case Field::dep_count:
      step.dep_count = as_u32;
      break;
    case Field::dep:
    case Field::no_dep: {
      // The step gets a slice of its own: other steps may share the old one.
      const auto own = program.deps_of(step);
      std::vector<Dep> deps(own.begin(), own.end());
      if (change.field == Field::dep)
        deps[change.nth].step = as_u32;
      else
        deps.erase(deps.begin() + change.nth);
      step.dep_begin = static_cast<std::uint32_t>(program.deps.size());
      step.dep_count = static_cast<std::uint32_t>(deps.size());
      program.deps.insert(program.deps.end(), deps.begin(), deps.end());
      break;
    }
    case Field::place:
      break;
  }
}

void Mutants::undo(std::uint64_t number, Schedule& copy) const {
  const Change& change = changes_[number];
  if (change.field == Field::place)
    copy.place = schedule_.place;
  else
    copy.programs[change.rank] = schedule_.programs[change.rank];
}

std::string Mutants::describe(std::uint64_t number) const {
  const Change& change = changes_[number];
  std::string text(name_of(change.field));
  if (change.field == Field::place)
    return text + " of chunks " + std::to_string(change.at) + " and " + std::to_string(change.at + 1) + " swapped";
  if (change.field == Field::dep || change.field == Field::no_dep) text += " number " + std::to_string(change.nth);
  text = "rank " + std::to_string(change.rank) + " step " + std::to_string(change.at) + ": " + text;
  return change.field == Field::no_dep ? text : text + " = " + std::to_string(change.value);
}

// --- what becomes of them --------------------------------------------------------------------------------------------

MutationReport& MutationReport::operator+=(const MutationReport& other) {
  possible += other.possible;
  tried += other.tried;
  for (std::size_t i = 0; i < caught.size(); ++i) caught[i] += other.caught[i];
  cleared += other.cleared;
  not_cleared.insert(not_cleared.end(), other.not_cleared.begin(), other.not_cleared.end());
  return *this;
}

namespace {

// Everything of a schedule that can change what a run does, as numbers: fields that a step does not use are left out, lanes are
// numbered in the order they appear, dependencies are a set. Schedules equal in this are one schedule.
std::vector<std::uint32_t> essence(const Schedule& s) {
  std::vector<std::uint32_t> out(s.place);
  if (out.empty())
    for (std::uint32_t chunk = 0; chunk < s.chunks; ++chunk) out.push_back(chunk);
  for (const Program& program : s.programs) {
    std::map<std::uint16_t, std::uint32_t> lanes;
    out.push_back(static_cast<std::uint32_t>(program.steps.size()));
    for (const Step& step : program.steps) {
      const std::uint32_t lane = lanes.try_emplace(step.lane, static_cast<std::uint32_t>(lanes.size())).first->second;
      out.insert(out.end(), {static_cast<std::uint32_t>(step.op), lane, step.count, step.flags});
      if (reads_src(step.op)) out.insert(out.end(), {static_cast<std::uint32_t>(step.src_buf), step.src_first});
      if (writes_dst(step.op)) out.insert(out.end(), {static_cast<std::uint32_t>(step.dst_buf), step.dst_first});
      if (!is_local(step.op)) out.insert(out.end(), {static_cast<std::uint32_t>(step.peer), step.channel});
      std::vector<std::uint32_t> deps;
      for (const Dep& dep : program.deps_of(step)) deps.push_back(dep.step);
      keep_each_once(deps);
      out.push_back(static_cast<std::uint32_t>(deps.size()));
      out.insert(out.end(), deps.begin(), deps.end());
    }
  }
  return out;
}

std::vector<std::uint64_t> choose(std::uint64_t size, std::uint64_t wanted, std::uint64_t seed) {
  std::vector<std::uint64_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  if (wanted >= size) return numbers;
  check::Random random(seed);
  for (std::uint64_t i = 0; i < wanted; ++i) std::swap(numbers[i], numbers[i + random.below(size - i)]);
  numbers.resize(wanted);
  return numbers;
}

}  // namespace

MutationReport mutate(const Schedule& schedule, std::uint64_t seed, std::uint64_t max_mutants, std::uint32_t interleavings) {
  MutationReport report;
  if (const Verdict verdict = verify_all(schedule); !verdict.ok()) {
    report.not_cleared.push_back("the schedule itself is refused, so its mutants say nothing: " + verdict.text);
    return report;
  }
  const Mutants mutants(schedule);
  report.possible = mutants.size();
  std::map<std::vector<std::uint32_t>, std::string> outcomes;  // by essence: empty, or what went wrong
  Schedule mutant = schedule;
  for (const std::uint64_t number : choose(mutants.size(), max_mutants, seed)) {
    ++report.tried;
    mutants.apply(number, mutant);
    const Verdict verdict = verify_all(mutant);
    if (!verdict.ok()) {
      ++report.caught[static_cast<std::size_t>(verdict.fault)];
    } else {
      const auto [found, is_new] = outcomes.try_emplace(essence(mutant));
      if (is_new)
        if (const Interpretation run = interpret_all(mutant, seed, interleavings); !run.ok())
          found->second = std::string(name_of(run.outcome)) + ": " + run.text;
      if (found->second.empty())
        ++report.cleared;
      else
        report.not_cleared.push_back(mutants.describe(number) + " -> " + found->second);
    }
    mutants.undo(number, mutant);
  }
  return report;
}

}  // namespace toric
