// One run of a schedule's steps through simulated time. Internal to the layer.
#pragma once

#include "toric/simulate/event_queue.hpp"
#include "toric/simulate/sharing.hpp"
#include "toric/simulate/simulator.hpp"
#include "toric/simulate/step_graph.hpp"

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace toric::simulation {

/// What messages of one port travel on.
struct Path {
  std::span<const LinkId> links;
  double latency = 0;  // of all links, and what each message waits besides
};

class Run {
 public:
  /// All but `graph` must outlive this. Paths are by port, capacities by link.
  Run(const Schedule& schedule, StepGraph graph, const StepBytes& bytes, std::span<const Path> paths, std::span<const double> capacities,
      const SimulationOptions& options);

  /// Once. Refused when steps remain that wait for ever.
  Status to_the_end();

  [[nodiscard]] double seconds() const { return now_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::vector<Transfer> take_timeline() { return std::move(timeline_); }

 private:
  enum class Phase : std::uint8_t { latency, flow, compute };
  /// Something that takes time: a message on its way, known by its send, or a step at work.
  struct Activity {
    StepId step = no_step;
    Phase phase = Phase::latency;
    double begin = 0;
    double left = 0, rate = 0, since = 0;  // of a flow: bytes left at the time `since`, and bytes/s since then
  };

  /// Where the messages that leave by one link wait for one another.
  struct Gate {
    std::uint32_t inside = 0;
    std::vector<std::pair<StepId, std::uint32_t>> waiting;  // sends and their activities: a heap, the earliest step first
  };

  void reach(StepId id);
  void permit(StepId receive);
  void try_message(StepId send);
  void advance(std::uint32_t activity);
  void wait_at_gate(std::uint32_t activity);
  void join(std::uint32_t activity);
  void leave(std::uint32_t activity);
  void open_gates();
  void arrive(std::uint32_t activity);
  void compute(StepId id, double begin, double seconds);
  void finish(StepId id, double begin);
  void end(StepId id, double begin);
  void release(StepId id);
  void settle();
  void work_off();
  [[nodiscard]] double seconds_of(const Step& step) const;
  [[nodiscard]] std::span<const LinkId> links_of(StepId send) const { return paths_[graph_.port[send]].links; }
  [[nodiscard]] const Step& step(StepId id) const { return step_of(schedule_, graph_, id); }
  std::uint32_t start(const Activity& activity);
  [[nodiscard]] Status stuck() const;

  const Schedule& schedule_;
  StepGraph graph_;
  const StepBytes& bytes_;
  std::span<const Path> paths_;
  const SimulationOptions& options_;
  Sharing sharing_;
  EventQueue queue_;
  std::vector<Gate> gates_;  // by link; none where any number of messages may leave at a time
  std::vector<LinkId> touched_gates_;
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> free_activities_;
  std::vector<StepId> ready_;                      // nothing left to wait for, not looked at yet
  std::vector<std::uint8_t> marks_;                // by step: what has happened to it
  std::vector<std::pair<StepId, double>> unheld_;  // no longer held, not looked at yet
  std::unordered_map<StepId, double> held_;        // done but for sends that it overwrites; and when it began
  std::vector<std::uint32_t> batch_;
  std::vector<Transfer> timeline_;
  double now_ = 0;
  std::uint64_t ended_ = 0, events_ = 0;
};

}  // namespace toric::simulation
