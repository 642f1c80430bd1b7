// Values: runs the schedule once, in a legal order, on reduction trees instead of numbers, and compares what the outputs
// hold with what the collective says. Without races every legal order computes the same trees.
#include "toric/check/proof.hpp"
#include "toric/check/trees.hpp"

#include <algorithm>

namespace toric::check {

namespace {

std::size_t count_combinations(const Schedule& s) {
  std::size_t count = 0;
  for (const Program& program : s.programs)
    for (const Step& step : program.steps)
      if (step.op == Op::recv_reduce || step.op == Op::reduce) count += step.count;
  return count;
}

class Run {
 public:
  Run(const Index& index, const VerifyOptions& options)
      : index_(index),
        schedule_(*index.schedule),
        options_(options),
        places_(schedule_, options.in_place),
        trees_(static_cast<std::uint32_t>(schedule_.ranks), schedule_.chunks, options.keep_rank_order, count_combinations(schedule_)),
        state_(std::size_t{places_.count} * schedule_.programs.size(), none),
        payload_(index.payload_chunks, none) {
    for (std::uint32_t rank = 0; rank < schedule_.programs.size(); ++rank)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if (index_.holds(index_.input_held, rank, chunk)) at(rank, Buf::input, chunk) = trees_.leaf(rank, chunk);
  }

  Verdict steps(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t id : order) {
      const Step& step = index_.step(id);
      if (places_.is_no_access(step)) continue;
      for (std::uint32_t i = 0; i < step.count; ++i)
        if (Verdict verdict = run_chunk(id, step, i); !verdict.ok()) return verdict;
    }
    return {};
  }

  Verdict outputs() {
    for (std::uint32_t rank = 0; rank < schedule_.programs.size(); ++rank)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if (index_.holds(index_.output_held, rank, chunk))
          if (Verdict verdict = check_output(rank, chunk); !verdict.ok()) return verdict;
    return {};
  }

 private:
  std::uint32_t& at(std::uint32_t rank, Buf buf, std::uint32_t index) {
    return state_[std::size_t{rank} * places_.count + places_.at(buf, index)];
  }

  Verdict run_chunk(std::uint32_t id, const Step& step, std::uint32_t i) {
    const std::uint32_t rank = index_.rank[id];
    const std::uint32_t source = reads_src(step.op) ? at(rank, step.src_buf, step.src_first + i) : none;
    if (reads_src(step.op) && source == none) return report_uninitialised(id, step.src_buf, step.src_first + i);
    std::uint32_t* wire = is_local(step.op) ? nullptr : &payload_[index_.messages[index_.message[id]].payload + i];
    if (is_send(step.op)) {
      *wire = source;
      return {};
    }
    std::uint32_t& destination = at(rank, step.dst_buf, step.dst_first + i);
    switch (step.op) {
      case Op::recv:
        destination = *wire;
        return {};
      case Op::copy:
        destination = source;
        return {};
      case Op::recv_reduce:
        return combine(id, i, source, *wire, destination);
      case Op::reduce:
        if (destination == none) return report_uninitialised(id, step.dst_buf, step.dst_first + i);
        return combine(id, i, destination, source, destination);
      case Op::send:
        break;
    }
    return {};
  }

  // `own` is the left operand unless the step says that the other is.
  Verdict combine(std::uint32_t id, std::uint32_t i, std::uint32_t own, std::uint32_t other, std::uint32_t& destination) {
    const bool swapped = (index_.step(id).flags & wire_is_left) != 0;
    const std::uint32_t left = swapped ? other : own, right = swapped ? own : other;
    if (schedule_.what != Collective::barrier) {
      if (trees_.overlap(left, right)) return report_duplicate(id, i, left, right);
      if (options_.keep_rank_order && trees_.highest(left) > trees_.lowest(right)) return report_rank_order(id, i, left, right);
    }
    destination = trees_.combine(left, right);
    return {};
  }

  Verdict check_output(std::uint32_t rank, std::uint32_t chunk) {
    const std::uint32_t tree = at(rank, Buf::output, chunk);
    const std::string where = "rank " + std::to_string(rank) + " output chunk " + std::to_string(chunk);
    if (tree == none) return {Fault::missing_result, where + " is never written by any step"};
    if (!is_reduction(schedule_.what)) {
      const auto owner = static_cast<std::uint32_t>(
          is_rooted(schedule_.what) && schedule_.what != Collective::gather ? schedule_.root : block_of(schedule_, chunk));
      if (tree == trees_.leaf(owner, chunk)) return {};
      return {Fault::wrong_result, where + " must end as rank " + std::to_string(owner) + "'s chunk, but holds " + describe_tree(tree)};
    }
    if (const std::uint32_t missing = trees_.first_missing(tree); missing < static_cast<std::uint32_t>(schedule_.ranks))
      return {Fault::wrong_result, where + " lacks rank " + std::to_string(missing) + "'s contribution: it holds " + describe_tree(tree)};
    if (schedule_.what == Collective::all_reduce && tree != at(0, Buf::output, chunk))
      return {Fault::order_differs, where + " is reduced in another order than rank 0's, so the two would differ in rounding (step " +
                                        "by step: compare what each rank combines for this chunk)"};
    return {};
  }

  [[nodiscard]] std::string describe_tree(std::uint32_t tree) const {
    const std::uint32_t count = trees_.ranks_in(tree);
    if (count == 1) return "rank " + std::to_string(trees_.lowest(tree)) + "'s value";
    return std::to_string(count) + " contributions, of ranks " + std::to_string(trees_.lowest(tree)) + " to " +
           std::to_string(trees_.highest(tree));
  }

  [[nodiscard]] std::string where_of(std::uint32_t id, std::uint32_t i) const {
    return describe(index_, id) + " at chunk " + std::to_string(data_first(index_.step(id), schedule_.chunks) + i);
  }

  [[nodiscard]] Verdict report_uninitialised(std::uint32_t id, Buf buf, std::uint32_t place) const {
    return {Fault::uninitialised,
            describe(index_, id) + " reads " + describe_place(schedule_, buf, place) + ", which nothing wrote before it"};
  }

  [[nodiscard]] Verdict report_duplicate(std::uint32_t id, std::uint32_t i, std::uint32_t left, std::uint32_t right) const {
    const auto a = trees_.set_of(left), b = trees_.set_of(right);
    std::uint32_t rank = 0;
    while ((a[rank / 64] & b[rank / 64] & std::uint64_t{1} << (rank % 64)) == 0) ++rank;
    return {Fault::duplicate, where_of(id, i) + " counts rank " + std::to_string(rank) + "'s contribution twice: it combines " +
                                  describe_tree(left) + " with " + describe_tree(right)};
  }

  [[nodiscard]] Verdict report_rank_order(std::uint32_t id, std::uint32_t i, std::uint32_t left, std::uint32_t right) const {
    return {Fault::rank_order, where_of(id, i) + " has " + describe_tree(left) + " on the left of " + describe_tree(right) +
                                   ": an operator that does not commute needs ascending ranks"};
  }

  const Index& index_;
  const Schedule& schedule_;
  VerifyOptions options_;
  Places places_;
  Trees trees_;
  std::vector<std::uint32_t> state_;    // by rank and place: the tree there; none: nothing yet
  std::vector<std::uint32_t> payload_;  // by message: what its send read
};

}  // namespace

Verdict check_values(const Index& index, const std::vector<std::uint32_t>& order, const VerifyOptions& options) {
  Run run(index, options);
  if (Verdict verdict = run.steps(order); !verdict.ok()) return verdict;
  return run.outputs();
}

}  // namespace toric::check
