#include "toric/ir/passes.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace toric {

namespace {

/// Where piece q of chunk c lies in the API's order: piece q is the q-th slice of each block (of the whole vector where there
/// are no blocks), so neighbouring chunks of a piece stay neighbours in memory. Cutting every chunk in place
/// instead would turn each run into as many separate ranges as it has chunks.
std::vector<std::uint32_t> place_of_pieces(const Schedule& s, std::uint32_t pieces) {
  if (s.place.empty() && !has_blocks(s.what)) return {};
  const std::uint32_t block = has_blocks(s.what) ? s.chunks / static_cast<std::uint32_t>(s.ranks) : s.chunks;
  std::vector<std::uint32_t> place(std::size_t{s.chunks} * pieces);
  for (std::uint32_t q = 0; q < pieces; ++q) {
    for (std::uint32_t c = 0; c < s.chunks; ++c) {
      const std::uint32_t api = api_chunk(s, c);
      place[std::size_t{q} * s.chunks + c] = api / block * block * pieces + q * block + api % block;
    }
  }
  return place;
}

/// Repeats one rank's program: a stage of all pieces, one after the other, then the next stage.
class PieceMaker {
 public:
  PieceMaker(const Schedule& whole, std::uint32_t pieces)
      : chunks_(whole.chunks), pieces_(pieces), channels_(channels_used(whole)), lanes_(lanes_used(whole)) {}

  [[nodiscard]] Program repeated(const Program& program) const {
    Program result;
    result.steps.reserve(program.steps.size() * pieces_);
    result.deps.reserve(program.deps.size() * pieces_);
    const std::vector<std::uint32_t> bounds = stage_bounds(program);
    std::vector<std::uint32_t> stage_of(program.steps.size());
    for (std::uint32_t stage = 0; stage + 1 < bounds.size(); ++stage)
      std::fill(stage_of.begin() + bounds[stage], stage_of.begin() + bounds[stage + 1], stage);
    for (std::uint32_t stage = 0; stage + 1 < bounds.size(); ++stage)
      for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
        const auto index_of = [&](std::uint32_t step) {
          const std::uint32_t begin = bounds[stage_of[step]], length = bounds[stage_of[step] + 1] - begin;
          return begin * pieces_ + piece * length + (step - begin);
        };
        for (std::uint32_t step = bounds[stage]; step < bounds[stage + 1]; ++step) {
          Step moved_step = moved(program.steps[step], piece);
          moved_step.dep_begin = static_cast<std::uint32_t>(result.deps.size());
          for (const Dep dep : program.deps_of(program.steps[step])) result.deps.push_back({index_of(dep.step)});
          result.steps.push_back(moved_step);
        }
      }
    return result;
  }

 private:
  [[nodiscard]] static std::vector<std::uint32_t> stage_bounds(const Program& program) {
    std::vector<std::uint32_t> bounds = {0};
    bounds.insert(bounds.end(), program.stages.begin(), program.stages.end());
    bounds.push_back(static_cast<std::uint32_t>(program.steps.size()));
    return bounds;
  }

  [[nodiscard]] Step moved(Step step, std::uint32_t piece) const {
    if (reads_src(step.op)) step.src_first = moved(step.src_buf, step.src_first, piece);
    if (writes_dst(step.op)) step.dst_first = moved(step.dst_buf, step.dst_first, piece);
    step.lane = static_cast<std::uint16_t>(step.lane + piece * lanes_);
    if (!is_local(step.op)) step.channel = static_cast<std::uint16_t>(step.channel + piece * channels_);
    return step;
  }

  /// Slot s of set s / n becomes a slot of the same set, now n * pieces long: slot modulo chunks is its data chunk again.
  [[nodiscard]] std::uint32_t moved(Buf buf, std::uint32_t first, std::uint32_t piece) const {
    if (buf != Buf::scratch) return piece * chunks_ + first;
    return (first / chunks_ * pieces_ + piece) * chunks_ + first % chunks_;
  }

  std::uint32_t chunks_, pieces_, channels_, lanes_;
};

Status check_room(const Schedule& s, std::uint32_t pieces) {
  const auto too_much = [&](const char* what, std::uint64_t each) {
    return Status(Code::invalid_argument, std::string(name_of(s.what)) + " in " + std::to_string(pieces) + " pieces of " +
                                              std::to_string(each) + " " + what +
                                              " each is more than a schedule can name: use fewer pieces");
  };
  if (std::uint64_t{pieces} * lanes_used(s) > UINT16_MAX) return too_much("lanes", lanes_used(s));
  if (std::uint64_t{pieces} * channels_used(s) > UINT16_MAX) return too_much("channels", channels_used(s));
  const std::uint64_t sets = (std::uint64_t{s.scratch_chunks} + s.chunks - 1) / s.chunks;
  if (std::uint64_t{pieces} * s.chunks * std::max<std::uint64_t>(sets, 1) > UINT32_MAX) return too_much("chunks", s.chunks);
  return {};
}

}  // namespace

Result<Schedule> split_into_pieces(const Schedule& schedule, std::uint32_t pieces) {
  if (pieces < 1) return Status(Code::invalid_argument, "a schedule was to be split into 0 pieces; give 1 (unsplit) or more");
  TORIC_TRY(check_structure(schedule));
  if (pieces == 1) return schedule;
  TORIC_TRY(check_room(schedule, pieces));
  Schedule result;
  result.what = schedule.what;
  result.ranks = schedule.ranks;
  result.root = schedule.root;
  result.fifo = schedule.fifo;
  result.chunks = schedule.chunks * pieces;
  result.scratch_chunks = (schedule.scratch_chunks + schedule.chunks - 1) / schedule.chunks * result.chunks;
  result.place = place_of_pieces(schedule, pieces);
  result.channels = channels_used(schedule) * pieces;
  result.lanes = lanes_used(schedule) * pieces;
  const PieceMaker maker(schedule, pieces);
  for (const Program& program : schedule.programs) result.programs.push_back(maker.repeated(program));
  TORIC_TRY(check_structure(result));
  return result;
}

namespace {

struct Span {
  std::uint32_t first, last;  // data chunks
};

Span span_of(const Step& step, std::uint32_t chunks) {
  const std::uint32_t first = data_first(step, chunks);
  return {first, first + step.count - 1};
}

/// Judges the dependencies of one program. Whatever stands between has to cover the whole overlap of the outer two: a step that
/// does not may have no elements where they have some, and then nobody waits for it.
class Pruner {
 public:
  Pruner(const Program& program, std::uint32_t chunks) : program_(program), chunks_(chunks) {}

  [[nodiscard]] bool implied(const Step& step, std::uint32_t early, std::span<const Dep> deps) const {
    const Step& target = program_.steps[early];
    if (target.lane == step.lane) return true;
    const Span s = span_of(step, chunks_), t = span_of(target, chunks_);
    if (t.first > s.last) return true;  // no position of the step ever waits for it
    const Span overlap{std::max(s.first, t.first), std::min(s.last, t.last)};
    if (overlap.first > overlap.last) return false;  // it lies before: waited for whole, which nothing here judges
    if (const auto found = waited_.find(pair_of(step.lane, target.lane)); found != waited_.end()) {
      const auto [waiter, waited] = found->second;
      if (covers(waiter, overlap) && waited >= early && (waited == early || covers(waited, overlap))) return true;
    }
    return std::any_of(deps.begin(), deps.end(),
                       [&](Dep between) { return between.step > early && stands_between(between.step, early, overlap); });
  }

  /// To be called for each step in order, with its final dependencies.
  void pass(std::uint32_t index, std::span<const Dep> deps) {
    const Step& step = program_.steps[index];
    const std::uint32_t last = span_of(step, chunks_).last;
    for (const Dep dep : deps) {
      const Step& target = program_.steps[dep.step];
      if (span_of(target, chunks_).last <= last) waited_[pair_of(step.lane, target.lane)] = {index, dep.step};
    }
  }

 private:
  [[nodiscard]] static std::uint32_t pair_of(std::uint16_t lane, std::uint16_t other) { return std::uint32_t{lane} << 16 | other; }

  [[nodiscard]] bool covers(std::uint32_t index, Span overlap) const {
    const Span span = span_of(program_.steps[index], chunks_);
    return span.first <= overlap.first && span.last >= overlap.last;
  }

  /// Whether waiting for `between`, position by position, is waiting for `early` too: it waits itself, or comes later in a lane.
  [[nodiscard]] bool stands_between(std::uint32_t between, std::uint32_t early, Span overlap) const {
    if (!covers(between, overlap)) return false;
    const Step& step = program_.steps[between];
    if (step.lane == program_.steps[early].lane) return true;
    const std::span<const Dep> deps = program_.deps_of(step);
    return std::any_of(deps.begin(), deps.end(), [&](Dep d) { return d.step == early; });
  }

  struct Waited {
    std::uint32_t waiter, waited;
  };
  const Program& program_;
  std::uint32_t chunks_;
  std::unordered_map<std::uint32_t, Waited>
      waited_;  // by (lane, other lane): the lane's last step that waited for one of the other to its end
};

void drop_implied(Program& program, std::uint32_t chunks) {
  Pruner pruner(program, chunks);
  std::vector<Dep> kept, deps;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> slices;
  slices.reserve(program.steps.size());
  for (std::uint32_t index = 0; index < program.steps.size(); ++index) {
    const Step& step = program.steps[index];
    deps.assign(program.deps_of(step).begin(), program.deps_of(step).end());
    // One at a time against those still there: of two that imply each other one stays. The program's own dependencies
    // are looked up meanwhile as they were; one that was dropped there is still implied by what was kept.
    std::sort(deps.begin(), deps.end(), [](Dep a, Dep b) { return a.step < b.step; });
    deps.erase(std::unique(deps.begin(), deps.end(), [](Dep a, Dep b) { return a.step == b.step; }), deps.end());
    for (std::size_t i = 0; i < deps.size();) {
      if (pruner.implied(step, deps[i].step, deps))
        deps.erase(deps.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
    pruner.pass(index, deps);
    slices.emplace_back(static_cast<std::uint32_t>(kept.size()), static_cast<std::uint32_t>(deps.size()));
    kept.insert(kept.end(), deps.begin(), deps.end());
  }
  for (std::size_t i = 0; i < slices.size(); ++i) std::tie(program.steps[i].dep_begin, program.steps[i].dep_count) = slices[i];
  program.deps = std::move(kept);
}

}  // namespace

void drop_implied_deps(Schedule& schedule) {
  for (Program& program : schedule.programs) drop_implied(program, schedule.chunks);
}

}  // namespace toric
