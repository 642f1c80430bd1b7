#include "toric/ir/dependencies.hpp"

#include <algorithm>

namespace toric {

namespace {

constexpr std::uint32_t nothing = UINT32_MAX;

/// No access where input and output are one place.
bool copies_own_place(const Step& step) {
  return step.op == Op::copy && step.src_buf == Buf::input && step.dst_buf == Buf::output && step.src_first == step.dst_first;
}

/// Per place (chunk of input/output, or scratch slot): who wrote it last, and one reader a lane and buffer since then.
class Accesses {
 public:
  Accesses(const std::vector<Step>& steps, std::size_t places) : steps_(steps), writer_(places, nothing), readers_(places, nothing) {}

  /// Calls `wait` with every step that a read of `place` through `buf` must wait for.
  template <typename Wait>
  void before_read(std::size_t place, Buf buf, const Wait& wait) const {
    const std::uint32_t writer = writer_[place];
    if (writer != nothing && !(buf == Buf::input && copies_own_place(steps_[writer]))) wait(writer);
  }

  template <typename Wait>
  void before_write(std::size_t place, const Step& step, const Wait& wait) const {
    const bool own = copies_own_place(step);
    // By a reader, which itself waits for the writer at this very chunk. (A copy from input to its own output, which readers of
    // input do not wait for, is among the readers.)
    bool writer_implied = false;
    for (std::uint32_t node = readers_[place]; node != nothing; node = nodes_[node].next) {
      if (own && nodes_[node].buf == Buf::input) continue;
      wait(nodes_[node].step);
      writer_implied = true;
    }
    if (writer_[place] != nothing && !writer_implied) wait(writer_[place]);
  }

  void read(std::size_t place, Buf buf, std::uint32_t step) {
    // A later reader of the same lane stands for the earlier ones.
    for (std::uint32_t node = readers_[place]; node != nothing; node = nodes_[node].next) {
      if (steps_[nodes_[node].step].lane == steps_[step].lane && nodes_[node].buf == buf) {
        nodes_[node].step = step;
        return;
      }
    }
    nodes_.push_back({step, readers_[place], buf});
    readers_[place] = static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  void write(std::size_t place, std::uint32_t step) {
    writer_[place] = step;
    if (!copies_own_place(steps_[step])) readers_[place] = nothing;  // else readers of input are still to be waited for
  }

 private:
  struct Node {
    std::uint32_t step, next;
    Buf buf;
  };
  const std::vector<Step>& steps_;
  std::vector<std::uint32_t> writer_, readers_;
  std::vector<Node> nodes_;
};

/// Places that no step of the program tells apart are looked at as one: the places from one cut to the next.
class Cuts {
 public:
  struct Range {
    std::size_t begin, end;
  };

  Cuts(const std::vector<Step>& steps, std::uint32_t chunks) : chunks_(chunks) {
    for (const Step& step : steps) {
      if (reads_src(step.op)) note(step.src_buf, step.src_first, step.count);
      if (writes_dst(step.op)) note(step.dst_buf, step.dst_first, step.count);
    }
    std::sort(at_.begin(), at_.end());
    at_.erase(std::unique(at_.begin(), at_.end()), at_.end());
  }

  [[nodiscard]] std::size_t count() const { return at_.size(); }
  [[nodiscard]] Range range(Buf buf, std::uint32_t first, std::uint32_t count) const {
    return {index(first_place(buf, first)), index(first_place(buf, first) + count)};
  }

 private:
  [[nodiscard]] std::size_t first_place(Buf buf, std::uint32_t first) const {
    return buf == Buf::scratch ? std::size_t{chunks_} + first : std::size_t{first};
  }
  void note(Buf buf, std::uint32_t first, std::uint32_t count) {
    at_.push_back(first_place(buf, first));
    at_.push_back(at_.back() + count);
  }
  [[nodiscard]] std::size_t index(std::size_t place) const {
    return static_cast<std::size_t>(std::lower_bound(at_.begin(), at_.end(), place) - at_.begin());
  }

  std::uint32_t chunks_;
  std::vector<std::size_t> at_;
};

}  // namespace

void find_dependencies(Program& program, std::uint32_t chunks) {
  const Cuts cuts(program.steps, chunks);
  Accesses accesses(program.steps, cuts.count());
  program.deps.clear();
  std::vector<std::uint32_t> found;
  for (std::uint32_t index = 0; index < program.steps.size(); ++index) {
    Step& step = program.steps[index];
    found.clear();
    const auto wait = [&](std::uint32_t earlier) {
      if (program.steps[earlier].lane != step.lane && (found.empty() || found.back() != earlier)) found.push_back(earlier);
    };
    const Cuts::Range src = reads_src(step.op) ? cuts.range(step.src_buf, step.src_first, step.count) : Cuts::Range{0, 0};
    const Cuts::Range dst = writes_dst(step.op) ? cuts.range(step.dst_buf, step.dst_first, step.count) : Cuts::Range{0, 0};
    for (std::size_t at = src.begin; at < src.end; ++at) accesses.before_read(at, step.src_buf, wait);
    for (std::size_t at = dst.begin; at < dst.end; ++at) {
      if (step.op == Op::reduce) accesses.before_read(at, step.dst_buf, wait);
      accesses.before_write(at, step, wait);
    }
    for (std::size_t at = src.begin; at < src.end; ++at) accesses.read(at, step.src_buf, index);
    for (std::size_t at = dst.begin; at < dst.end; ++at) accesses.write(at, index);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    step.dep_begin = static_cast<std::uint32_t>(program.deps.size());
    step.dep_count = static_cast<std::uint32_t>(found.size());
    for (const std::uint32_t earlier : found) program.deps.push_back({earlier});
  }
}

}  // namespace toric
