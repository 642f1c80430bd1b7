// Deadlock: is there an order in which every step runs to its end?
//
// Judged with whole steps as segments. That covers every finer cut: let T be an order of whole steps found here (at
// capacity 0 a send and its receive share one place in it), and order the segments of a finer cut by (T of their step,
// position in the step). Everything a segment waits for comes before it: the segment before it in its step by position;
// the last segment of the step before it in its lane, and the segments of its dependencies, by T, because a finer segment
// never waits for a dependency that the whole step does not wait for (D.begin >= end of the step excludes D for each
// of its segments); its other end, at capacity 0, is at the same place; at capacity k a segment of message i waits at most for
// message i - k, which the whole step waits for too. So the order of segments is without a cycle, whatever the cut.
// An order also makes the outcome independent of the choices made: nothing here is random, and a step once able to run stays
// able to run, so the search below ends with steps left over only if every order does.
#include "toric/check/proof.hpp"

#include <algorithm>

namespace toric::check {

namespace {

class Search {
 public:
  Search(const Index& index, std::vector<std::uint32_t>& order)
      : index_(index),
        order_(order),
        fifo_(index.schedule->fifo),
        done_(index.steps()),
        arrived_(index.steps()),
        waiter_(index.steps(), none),
        next_waiter_(index.steps(), none) {}

  Verdict run() {
    order_.clear();
    order_.reserve(index_.steps());
    // Pushed in descending order so that low ranks are looked at first: only the text of a fault depends on it.
    heads_.assign(index_.lane_first.rbegin(), index_.lane_first.rend());
    while (!heads_.empty()) {
      const std::uint32_t id = heads_.back();
      heads_.pop_back();
      try_step(id);
    }
    return order_.size() == index_.steps() ? Verdict{} : report();
  }

 private:
  // The first thing that step `id`, the head of its lane, waits for; none: nothing.
  [[nodiscard]] std::uint32_t blocker(std::uint32_t id) const {
    const std::uint32_t chunks = index_.schedule->chunks;
    const Step& step = index_.step(id);
    const std::uint32_t base = index_.base[index_.rank[id]];
    for (const Dep& dep : index_.program_of(id).deps_of(step)) {
      const std::uint32_t before = base + dep.step;
      if (!done_[before] && data_first(index_.step(before), chunks) < data_end(step, chunks)) return before;
    }
    if (is_local(step.op)) return none;
    const std::uint32_t number = index_.message[id];
    const Message& message = index_.messages[number];
    if (fifo_ == 0) {
      const std::uint32_t other = is_send(step.op) ? message.receive : message.send;
      return arrived_[other] ? none : other;
    }
    if (!is_send(step.op)) return done_[message.send] ? none : message.send;
    if (number - message.port_first < fifo_) return none;
    const std::uint32_t earlier = index_.messages[number - fifo_].receive;
    return done_[earlier] ? none : earlier;
  }

  void try_step(std::uint32_t id) {
    const std::uint32_t blocked_by = blocker(id), number = index_.message[id];
    if (blocked_by != none) {
      // At capacity 0 the end that comes second completes both: the first needs no waking.
      const bool at_rendezvous = fifo_ == 0 && index_.rank[blocked_by] != index_.rank[id];
      if (at_rendezvous) {
        arrived_[id] = 1;
      } else {
        next_waiter_[id] = waiter_[blocked_by];
        waiter_[blocked_by] = id;
      }
      return;
    }
    if (fifo_ == 0 && number != none) {
      finish(index_.messages[number].send);
      finish(index_.messages[number].receive);
    } else {
      finish(id);
    }
  }

  void finish(std::uint32_t id) {
    done_[id] = 1;
    order_.push_back(id);
    if (index_.next_in_lane[id] != none) heads_.push_back(index_.next_in_lane[id]);
    for (std::uint32_t waiting = waiter_[id]; waiting != none; waiting = next_waiter_[waiting]) heads_.push_back(waiting);
  }

  [[nodiscard]] std::uint32_t head_of_lane(std::uint32_t id) const {
    std::uint32_t head = index_.lane_first[index_.lane[id]];
    while (done_[head]) head = index_.next_in_lane[head];
    return head;
  }

  // Every head of a lane waits for a step that is not done, whose lane has a head in turn: following them meets a cycle.
  [[nodiscard]] Verdict report() const {
    std::uint32_t id = none;
    for (const std::uint32_t first : index_.lane_first) {
      std::uint32_t head = first;
      while (head != none && done_[head]) head = index_.next_in_lane[head];
      if (head != none) {
        id = head;
        break;
      }
    }
    std::vector<std::uint32_t> path;
    while (std::find(path.begin(), path.end(), id) == path.end()) {
      path.push_back(id);
      id = head_of_lane(blocker(id));
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), id));
    return {Fault::deadlock, "with " + std::to_string(fifo_) + " messages of buffering " + std::to_string(index_.steps() - order_.size()) +
                                 " steps never run; these wait for one another: " + describe_cycle(path)};
  }

  [[nodiscard]] std::string describe_cycle(const std::vector<std::uint32_t>& path) const {
    constexpr std::size_t shown = 6;
    std::string text;
    for (std::size_t i = 0; i < path.size() && i < shown; ++i) {
      const std::uint32_t waits_for = blocker(path[i]);
      text += (i == 0 ? "" : "; ") + describe(index_, path[i]) + " at chunk " +
              std::to_string(data_first(index_.step(path[i]), index_.schedule->chunks)) + " for " + describe(index_, waits_for);
    }
    if (path.size() > shown) text += "; and " + std::to_string(path.size() - shown) + " more";
    return text;
  }

  const Index& index_;
  std::vector<std::uint32_t>& order_;
  std::uint32_t fifo_;
  std::vector<std::uint8_t> done_, arrived_;  // arrived: at capacity 0, waits for its other end alone
  std::vector<std::uint32_t> waiter_, next_waiter_, heads_;
};

}  // namespace

Verdict order_steps(const Index& index, std::vector<std::uint32_t>& order) { return Search(index, order).run(); }

}  // namespace toric::check
