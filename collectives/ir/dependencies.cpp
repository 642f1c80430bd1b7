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

std::size_t first_place(Buf buf, std::uint32_t first, std::uint32_t chunks) {
  return buf == Buf::scratch ? std::size_t{chunks} + first : std::size_t{first};
}

}  // namespace

void find_dependencies(Program& program, std::uint32_t chunks, std::uint32_t scratch_chunks) {
  Accesses accesses(program.steps, std::size_t{chunks} + scratch_chunks);
  program.deps.clear();
  std::vector<std::uint32_t> found;
  for (std::uint32_t index = 0; index < program.steps.size(); ++index) {
    Step& step = program.steps[index];
    found.clear();
    const auto wait = [&](std::uint32_t earlier) {
      if (program.steps[earlier].lane != step.lane && (found.empty() || found.back() != earlier)) found.push_back(earlier);
    };
    const std::size_t src = first_place(step.src_buf, step.src_first, chunks), dst = first_place(step.dst_buf, step.dst_first, chunks);
    for (std::uint32_t i = 0; i < step.count; ++i) {
      if (reads_src(step.op)) accesses.before_read(src + i, step.src_buf, wait);
      if (step.op == Op::reduce) accesses.before_read(dst + i, step.dst_buf, wait);
      if (writes_dst(step.op)) accesses.before_write(dst + i, step, wait);
    }
    for (std::uint32_t i = 0; i < step.count; ++i) {
      if (reads_src(step.op)) accesses.read(src + i, step.src_buf, index);
      if (writes_dst(step.op)) accesses.write(dst + i, index);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    step.dep_begin = static_cast<std::uint32_t>(program.deps.size());
    step.dep_count = static_cast<std::uint32_t>(found.size());
    for (const std::uint32_t earlier : found) program.deps.push_back({earlier});
  }
}

}  // namespace toric
