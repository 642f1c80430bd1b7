// Races: two accesses to one place, one of them a write, need a path between them on their own rank.
//
// The nodes are (step, chunk). Edges: each chunk of a step to the next; a step's last chunk to the first of the next step
// of its lane; and from each dependency as far as it reaches: a segment that ends at e waits for D.pos >= min(e, D.end)
// unless D.begin >= e, so chunk c waits for D's chunk min(c, D's last) if D.begin <= c. Messages make no edge here: what is
// ordered only through another rank would have to hold at every capacity, and is not asked for by any schedule of ours.
// Segments may be smaller than a chunk. An edge between nodes of one data chunk then holds position by position, any other
// edge holds for the whole chunk; a place has one data chunk, so along a path between two accesses to it every position is
// ordered.
// Each node has a clock: for each lane of the rank how many of the lane's nodes are before it (or it). Programs are in
// an order that respects all edges, so one pass computes the clocks, and an earlier access is before a later one or races.
#include "toric/check/proof.hpp"

#include <algorithm>

namespace toric::check {

namespace {

// The nodes' clocks of one rank, and where each step's nodes begin.
class Clocks {
 public:
  explicit Clocks(const Index& index) : index_(index) {}

  void compute(std::uint32_t rank) {
    const Program& program = index_.schedule->programs[rank];
    base_ = index_.base[rank];
    lane_base_ = index_.lane_base[rank];
    lanes_ = index_.lane_base[rank + 1] - lane_base_;
    first_node_.resize(program.steps.size() + 1);
    first_node_[0] = 0;
    for (std::size_t i = 0; i < program.steps.size(); ++i) first_node_[i + 1] = first_node_[i] + program.steps[i].count;
    clock_.assign(std::size_t{first_node_.back()} * lanes_, 0);
    last_in_lane_.assign(lanes_, none);
    for (std::uint32_t number = 0; number < program.steps.size(); ++number) compute_step(program, number);
  }

  [[nodiscard]] std::uint32_t lane(std::uint32_t number) const { return index_.lane[base_ + number] - lane_base_; }
  /// How far its own lane has come with this node: how another node's clock knows it.
  [[nodiscard]] std::uint32_t position(std::uint32_t number, std::uint32_t chunk) const { return at(number, chunk)[lane(number)]; }
  [[nodiscard]] const std::uint32_t* at(std::uint32_t number, std::uint32_t chunk) const {
    return clock_.data() + std::size_t{first_node_[number] + chunk} * lanes_;
  }

 private:
  void join(std::uint32_t* into, const std::uint32_t* from) const {
    for (std::uint32_t i = 0; i < lanes_; ++i) into[i] = std::max(into[i], from[i]);
  }

  void compute_step(const Program& program, std::uint32_t number) {
    const std::uint32_t chunks = index_.schedule->chunks;
    const Step& step = program.steps[number];
    const std::uint32_t begin = data_first(step, chunks), own_lane = lane(number);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      std::uint32_t* clock = clock_.data() + std::size_t{first_node_[number] + i} * lanes_;
      if (i > 0)
        std::copy_n(at(number, i - 1), lanes_, clock);
      else if (const std::uint32_t previous = last_in_lane_[own_lane]; previous != none)
        std::copy_n(at(previous, program.steps[previous].count - 1), lanes_, clock);
      for (const Dep& dep : program.deps_of(step)) {
        const Step& before = program.steps[dep.step];
        const std::uint32_t dep_begin = data_first(before, chunks), chunk = begin + i;
        // What an earlier chunk of this step has already joined is not joined again.
        const bool is_new = i == 0 || chunk < dep_begin + before.count;
        if (chunk >= dep_begin && is_new) join(clock, at(dep.step, std::min(chunk - dep_begin, before.count - 1)));
      }
      ++clock[own_lane];
    }
    last_in_lane_[own_lane] = number;
  }

  const Index& index_;
  std::uint32_t base_ = 0, lane_base_ = 0, lanes_ = 0;
  std::vector<std::uint32_t> first_node_, clock_, last_in_lane_;
};

struct Access {
  std::uint32_t step = none, chunk = 0;  // chunk: counted from the step's first
};

// What a place has seen: its last write and the reads since. An access ordered after these is ordered after all others.
class RankRaces {
 public:
  RankRaces(const Index& index, bool in_place) : index_(index), places_(*index.schedule, in_place), clocks_(index) {}

  Verdict check(std::uint32_t rank) {
    rank_ = rank;
    clocks_.compute(rank);
    last_write_.assign(places_.count, Access{});
    first_read_.assign(places_.count, none);
    reads_.clear();
    const std::vector<Step>& steps = index_.schedule->programs[rank].steps;
    for (std::uint32_t number = 0; number < steps.size(); ++number) {
      if (places_.is_no_access(steps[number])) continue;
      for (std::uint32_t i = 0; i < steps[number].count; ++i)
        if (Verdict verdict = check_node(steps[number], {number, i}); !verdict.ok()) return verdict;
    }
    return {};
  }

 private:
  struct Read {
    Access access;
    std::uint32_t next;
  };

  Verdict check_node(const Step& step, Access now) {
    const std::uint32_t source = places_.at(step.src_buf, step.src_first + now.chunk);
    const std::uint32_t destination = places_.at(step.dst_buf, step.dst_first + now.chunk);
    const bool reads = reads_src(step.op), writes = writes_dst(step.op);
    if (reads && !is_after(now, last_write_[source])) return report(last_write_[source], now, step.src_buf, step.src_first);
    if (writes) {
      if (!is_after(now, last_write_[destination])) return report(last_write_[destination], now, step.dst_buf, step.dst_first);
      for (std::uint32_t at = first_read_[destination]; at != none; at = reads_[at].next)
        if (!is_after(now, reads_[at].access)) return report(reads_[at].access, now, step.dst_buf, step.dst_first);
    }
    if (reads && !(writes && source == destination)) record_read(source, now);
    if (writes) {
      last_write_[destination] = now;
      first_read_[destination] = none;
    }
    return {};
  }

  [[nodiscard]] bool is_after(Access now, Access before) const {
    if (before.step == none || before.step == now.step) return true;
    return clocks_.at(now.step, now.chunk)[clocks_.lane(before.step)] >= clocks_.position(before.step, before.chunk);
  }

  // Of the reads of one lane the last is enough: what is after it is after the others.
  void record_read(std::uint32_t place, Access now) {
    for (std::uint32_t at = first_read_[place]; at != none; at = reads_[at].next)
      if (clocks_.lane(reads_[at].access.step) == clocks_.lane(now.step)) {
        reads_[at].access = now;
        return;
      }
    reads_.push_back({now, first_read_[place]});
    first_read_[place] = static_cast<std::uint32_t>(reads_.size() - 1);
  }

  [[nodiscard]] Verdict report(Access before, Access now, Buf buf, std::uint32_t first) const {
    const Schedule& s = *index_.schedule;
    return {Fault::race, describe(s, rank_, before.step) + " and " + describe(s, rank_, now.step) + " both use " +
                             describe_place(s, buf, first + now.chunk) +
                             ", one of them writes it, and no lane or dependency orders them: step " + std::to_string(now.step) +
                             " must depend on step " + std::to_string(before.step) + ", or use another place"};
  }

  const Index& index_;
  Places places_;
  Clocks clocks_;
  std::uint32_t rank_ = 0;
  std::vector<Access> last_write_;
  std::vector<std::uint32_t> first_read_;
  std::vector<Read> reads_;
};

}  // namespace

Verdict check_races(const Index& index, bool in_place) {
  RankRaces races(index, in_place);
  for (std::uint32_t rank = 0; rank < index.schedule->programs.size(); ++rank)
    if (Verdict verdict = races.check(rank); !verdict.ok()) return verdict;
  return {};
}

}  // namespace toric::check
