// Random schedules on random machines, against a second simulator that has no queue, no graph and no components: it looks at
// everything again whenever anything has happened.
#include <random>
#include <set>

#include "simulate/fair_shares.hpp"
#include "simulate/machines.hpp"

namespace toric {
namespace {

constexpr Rank ranks = 5;
constexpr std::uint32_t chunks = 8;

/// A message or a local step, known to all ranks.
struct Statement {
  Op op = Op::recv;  // of the receiver; copy and reduce: of `from` itself
  Rank from = 0, to = 0;
  std::uint32_t first = 0, count = 1;
  std::set<std::size_t> after, beside;  // statements that must have ended; sends that it overwrites
  std::uint32_t send_step = 0, step = 0, channel = 0;

  enum class Phase { waiting, latency, queued, flow, compute, ended } phase = Phase::waiting;
  double begin = 0, due = 0, left = 0, end = 0;
  [[nodiscard]] bool local() const { return is_local(op); }
};

struct Case {
  Schedule schedule;
  std::vector<Statement> statements;
};

class Author {
 public:
  explicit Author(unsigned seed) : random_(seed), channel_(seed % 3 == 0 ? 1 : 2) {
    Schedule& s = made_.schedule;
    s.ranks = ranks;
    s.chunks = chunks;
    s.scratch_chunks = chunks;
    s.programs.resize(ranks);
    owner_.resize(ranks);
    last_of_lane_.resize(ranks, std::vector<std::size_t>(lanes, none));
    for (int i = 0; i < 40; ++i) add_statement();
  }
  Case take() { return std::move(made_); }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  static constexpr std::uint16_t lanes = 3;
  unsigned upto(unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random_); }

  void add_statement() {
    Statement it;
    constexpr Op kinds[] = {Op::recv, Op::recv, Op::recv_reduce, Op::copy};
    it.op = kinds[upto(3)];
    it.from = static_cast<Rank>(upto(ranks - 1));
    it.to = it.local() ? it.from : (it.from + 1 + static_cast<Rank>(upto(ranks - 2))) % ranks;
    it.first = upto(chunks - 1);
    it.count = 1 + upto(chunks - 1 - it.first);
    const auto channel = static_cast<std::uint16_t>(upto(channel_ - 1));
    it.channel = channel;
    if (!it.local())
      it.send_step = add_step(it, it.from,
                              {.op = Op::send,
                               .src_buf = Buf::input,
                               .dst_buf = Buf::input,
                               .flags = 0,
                               .lane = 0,
                               .channel = channel,
                               .peer = it.to,
                               .src_first = it.first,
                               .dst_first = 0,
                               .count = it.count,
                               .dep_begin = 0,
                               .dep_count = 0});
    it.step = add_step(it, it.to,
                       {.op = it.op,
                        .src_buf = Buf::input,
                        .dst_buf = Buf::scratch,
                        .flags = 0,
                        .lane = 0,
                        .channel = channel,
                        .peer = it.local() ? -1 : it.from,
                        .src_first = it.op == Op::recv ? 0 : it.first,
                        .dst_first = it.first,
                        .count = it.count,
                        .dep_begin = 0,
                        .dep_count = 0});
    made_.statements.push_back(it);
  }

  std::uint32_t add_step(Statement& it, Rank rank, Step step) {
    const auto at = static_cast<std::size_t>(rank);
    Program& program = made_.schedule.programs[at];
    step.lane = static_cast<std::uint16_t>(upto(lanes - 1));
    step.dep_begin = static_cast<std::uint32_t>(program.deps.size());
    for (std::uint32_t other = 0; other < program.steps.size(); ++other) {
      if (upto(9) != 0) continue;
      program.deps.push_back({other});
      const bool overwrites = program.steps[other].op == Op::send && step.op != Op::send;
      (overwrites ? it.beside : it.after).insert(owner_[at][other]);
    }
    step.dep_count = static_cast<std::uint32_t>(program.deps.size()) - step.dep_begin;
    std::size_t& before = last_of_lane_[at][step.lane];
    if (before != none) it.after.insert(before);
    before = made_.statements.size();
    owner_[at].push_back(before);
    program.steps.push_back(step);
    return static_cast<std::uint32_t>(program.steps.size()) - 1;
  }

  std::mt19937 random_;
  unsigned channel_;
  Case made_;
  std::vector<std::vector<std::size_t>> owner_;         // by rank and step: the statement
  std::vector<std::vector<std::size_t>> last_of_lane_;  // by rank and lane: the statement
};

class Reference {
 public:
  Reference(Case& one, const Topology& topology, const Routes& routes, const SimulationOptions& options)
      : statements_(one.statements), topology_(topology), routes_(routes), options_(options) {}

  double run() {
    for (;;) {
      do {
        while (step_all()) {
        }
      } while (let_one_in());
      share();
      const double next = earliest();
      if (next == infinity) return now_;
      for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i]->left -= rates_[i] * (next - now_);
      now_ = next;
    }
  }

 private:
  using Phase = Statement::Phase;
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  [[nodiscard]] double bytes(const Statement& it) const { return it.count * static_cast<double>(options_.bytes) / chunks; }
  [[nodiscard]] bool due(double time) const { return time <= now_ * (1 + 1e-12); }

  [[nodiscard]] std::span<const LinkId> way(const Statement& it) const {
    return routes_.route(it.from, it.to, static_cast<std::uint32_t>(it.from) + it.channel);
  }

  bool step_all() {
    bool moved = false;
    for (Statement& it : statements_) moved = step(it) || moved;
    return moved;
  }

  bool step(Statement& it) {
    switch (it.phase) {
      case Phase::waiting:
        for (const std::size_t other : it.after)
          if (statements_[other].phase != Phase::ended) return false;
        for (const std::size_t other : it.beside)
          if (statements_[other].phase == Phase::waiting) return false;
        it.begin = now_;
        it.phase = it.local() ? Phase::compute : Phase::latency;
        it.due = it.local() ? now_ + options_.copy_seconds_per_byte * bytes(it) : now_ + latency(it);
        return true;
      case Phase::latency:
        if (!due(it.due)) return false;
        it.phase = options_.messages_per_port > 0 ? Phase::queued : Phase::flow;
        it.left = bytes(it);
        return true;
      case Phase::queued:
        return false;
      case Phase::flow:
        if (it.left > 1e-6) return false;
        it.phase = Phase::compute;
        it.due = now_ + (it.op == Op::recv_reduce ? options_.reduce_seconds_per_byte * bytes(it) : 0);
        return true;
      case Phase::compute:
        if (!due(it.due)) return false;
        for (const std::size_t other : it.beside)
          if (statements_[other].phase != Phase::ended) return false;
        it.phase = Phase::ended;
        it.end = now_;
        return true;
      case Phase::ended:
        return false;
    }
    return false;
  }

  /// The earliest send of a rank that waits for a link that has room.
  bool let_one_in() {
    for (Statement& it : statements_) {
      if (it.phase != Phase::queued) continue;
      unsigned inside = 0;
      bool first = true;
      for (const Statement& other : statements_) {
        if (other.local() || other.from != it.from || way(it)[0] != way(other)[0]) continue;
        inside += other.phase == Phase::flow ? 1 : 0;
        if (other.phase == Phase::queued && other.send_step < it.send_step) first = false;
      }
      if (!first || inside >= options_.messages_per_port) continue;
      it.phase = Phase::flow;
      return true;
    }
    return false;
  }

  [[nodiscard]] double latency(const Statement& it) const {
    double sum = options_.step_overhead;
    for (const LinkId link : way(it)) sum += topology_.links[link].latency;
    return sum;
  }

  void share() {
    flows_.clear();
    std::vector<std::vector<unsigned>> links;
    std::vector<double> capacities;
    for (const TopologyLink& link : topology_.links) capacities.push_back(link.bandwidth);
    for (Statement& it : statements_) {
      if (it.phase != Phase::flow) continue;
      flows_.push_back(&it);
      const auto route = way(it);
      links.emplace_back(route.begin(), route.end());
    }
    rates_ = test::fair_shares(capacities, links);
  }

  [[nodiscard]] double earliest() const {
    double next = infinity;
    for (const Statement& it : statements_)
      if ((it.phase == Phase::latency || it.phase == Phase::compute) && !due(it.due)) next = std::min(next, it.due);
    for (std::size_t i = 0; i < flows_.size(); ++i) next = std::min(next, now_ + flows_[i]->left / rates_[i]);
    return next;
  }

  std::vector<Statement>& statements_;
  const Topology& topology_;
  const Routes& routes_;
  const SimulationOptions options_;
  std::vector<Statement*> flows_;
  std::vector<double> rates_;
  double now_ = 0;
};

/// Links of one of three widths and latencies, or each of its own.
Topology random_machine(unsigned seed) {
  Topology topology = seed % 2 == 0 ? test::ring_of(ranks, 1e9, 1e-6) : test::switch_of(ranks, 1e9, 1e-6);
  std::mt19937 random(seed);
  for (TopologyLink& link : topology.links) {
    const auto draw = static_cast<double>(seed % 4 < 2 ? random() % 3 : random() % 1000);
    link.bandwidth *= 1 + draw / 7;
    link.latency *= static_cast<double>(random() % 3);
  }
  return topology;
}

TEST(Random, EveryStepBeginsAndEndsWhenTheSlowSimulatorSays) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Case one = Author(seed).take();
    const Topology topology = random_machine(seed);
    const Shape shape = test::no_shape();
    const Routes routes(topology, shape);
    const SimulationOptions options{.bytes = seed % 5 == 0 ? 32U : 8'000'000U,
                                    .step_overhead = seed % 3 == 0 ? 1e-6 : 0,
                                    .reduce_seconds_per_byte = seed % 2 == 0 ? 0 : 3e-10,
                                    .copy_seconds_per_byte = seed % 7 == 0 ? 0 : 1e-10,
                                    .messages_per_port = seed % 4,
                                    .timeline = true};
    const Simulation result = test::simulated(one.schedule, topology, options);
    const double expected = Reference(one, topology, routes, options).run();
    ASSERT_NEAR(result.seconds, expected, 1e-9 * expected) << "seed " << seed;
    for (const Statement& it : one.statements) {
      ASSERT_EQ(it.phase, Statement::Phase::ended);
      for (const auto& [rank, step] : {std::pair(it.to, it.step), std::pair(it.from, it.local() ? it.step : it.send_step)}) {
        const Transfer found = test::transfer_of(result, rank, step);
        ASSERT_NEAR(found.begin, it.begin, 1e-9 * expected) << "seed " << seed;
        ASSERT_NEAR(found.end, it.end, 1e-9 * expected) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace toric
