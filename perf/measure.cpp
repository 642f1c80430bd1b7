#include "measure.hpp"

#include "values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace toric::perf {

namespace {

double now_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What one timed call needs; made once a half.
struct CallSite {
  const Seat* seat;
  Collective what;
  const std::byte* send;
  std::byte* receive;
  std::uint64_t count;
  toricDataType_t type;
  toricRedOp_t op;
  int root;

  void issue() const {
    const toricComm_t comm = seat->comm;
    switch (what) {
      case Collective::all_reduce:
        return require(toricAllReduce(send, receive, count, type, op, comm, nullptr), *seat);
      case Collective::all_gather:
        return require(toricAllGather(send, receive, count, type, comm, nullptr), *seat);
      case Collective::reduce_scatter:
        return require(toricReduceScatter(send, receive, count, type, op, comm, nullptr), *seat);
      case Collective::broadcast:
        return require(toricBroadcast(send, receive, count, type, root, comm, nullptr), *seat);
      default:
        return require(toricBarrier(comm, nullptr), *seat);
    }
  }
  void issue_group(int times) const {
    if (times == 1) return issue();
    require(toricGroupStart(), *seat);
    for (int i = 0; i < times; ++i) issue();
    require(toricGroupEnd(), *seat);
  }
};

void barrier(const Seat& seat) { require(toricBarrier(seat.comm, nullptr), seat); }

double average_over_ranks(const Seat& seat, double value) {
  require(toricAllReduce(&value, &value, 1, toricFloat64, toricAvg, seat.comm, nullptr), seat);
  return value;
}

std::uint64_t sum_over_ranks(const Seat& seat, std::uint64_t value) {
  require(toricAllReduce(&value, &value, 1, toricUint64, toricSum, seat.comm, nullptr), seat);
  return value;
}

struct Timing {
  double seconds_per_call;
  std::vector<double> iteration_us;
};

Timing time_calls(const Options& o, const CallSite& site) {
  Timing timing{};
  barrier(*site.seat);
  double outside = 0;
  const double begin = now_seconds();
  double before = begin;
  for (int i = 0; i < o.iterations; ++i) {
    site.issue_group(o.aggregate);
    if (o.blocking == 1) barrier(*site.seat);
    if (o.per_iteration) {
      const double after = now_seconds();
      timing.iteration_us.push_back((after - before) / o.aggregate * 1e6);
      before = after;
    }
    if (o.blocking == 3) {
      const double from = now_seconds();
      barrier(*site.seat);
      before = now_seconds();
      outside += before - from;
    }
  }
  const double seconds = (now_seconds() - begin - outside) / o.iterations / o.aggregate;
  timing.seconds_per_call = average_over_ranks(*site.seat, seconds);
  if (o.per_iteration)
    require(toricAllReduce(timing.iteration_us.data(), timing.iteration_us.data(), timing.iteration_us.size(), toricFloat64, toricMax,
                           site.seat->comm, nullptr),
            *site.seat);
  return timing;
}

struct Sides {
  std::uint64_t send, receive;  // elements
};

Sides sides_of(Collective what, Rank ranks, std::uint64_t count) {
  const std::uint64_t all = count * static_cast<std::uint64_t>(ranks);
  if (what == Collective::all_gather) return {count, all};
  if (what == Collective::reduce_scatter) return {all, count};
  return {count, count};
}

class RowCheck {
 public:
  RowCheck(const CallSite& site, DataType type, RedOp op, Rank root) : site_(site), type_(type), op_(op), root_(root) {}

  // Fresh input, one call, and the count of wrong elements here.
  std::uint64_t run(bool in_place) {
    const Seat& seat = *site_.seat;
    const Sides sides = sides_of(site_.what, seat.ranks, site_.count);
    if (!in_place) std::memset(site_.receive, 0xA5, sides.receive * size_of(type_));
    if (site_.what != Collective::broadcast || seat.rank == root_)
      fill_input(const_cast<std::byte*>(site_.send), type_, op_, seat.ranks, seat.rank, 0, sides.send);
    site_.issue();
    return wrong(sides);
  }

 private:
  [[nodiscard]] std::uint64_t wrong(const Sides& sides) const {
    const Seat& seat = *site_.seat;
    const std::uint64_t first = static_cast<std::uint64_t>(seat.rank) * site_.count;
    switch (site_.what) {
      case Collective::all_reduce:
        return count_wrong_reduced(site_.receive, type_, op_, seat.ranks, 0, sides.receive);
      case Collective::reduce_scatter:
        return count_wrong_reduced(site_.receive, type_, op_, seat.ranks, first, sides.receive);
      case Collective::broadcast:
        return count_wrong_moved(site_.receive, type_, seat.ranks, root_, 0, sides.receive);
      case Collective::all_gather: {
        std::uint64_t total = 0;
        for (Rank r = 0; r < seat.ranks; ++r)
          total += count_wrong_moved(site_.receive + static_cast<std::uint64_t>(r) * site_.count * size_of(type_), type_, seat.ranks, r, 0,
                                     site_.count);
        return total;
      }
      default:
        return 0;
    }
  }

  CallSite site_;
  DataType type_;
  RedOp op_;
  Rank root_;
};

// mulsum is an operator of the communicator; it lives as long as the row.
class Operator {
 public:
  Operator(const Seat& seat, DataType type, RedOp op) : seat_(seat), op_(static_cast<toricRedOp_t>(op)) {
    if (op != RedOp::pre_mul_sum) return;
    std::uint64_t factor = encode(type, pre_mul_factor(seat.rank));
    require(toricRedOpCreatePreMulSum(&op_, &factor, static_cast<toricDataType_t>(type), toricScalarHostImmediate, seat.comm), seat);
    made_ = true;
  }
  ~Operator() {
    if (made_) toricRedOpDestroy(op_, seat_.comm);
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  [[nodiscard]] toricRedOp_t get() const { return op_; }

 private:
  const Seat& seat_;
  toricRedOp_t op_;
  bool made_ = false;
};

CallSite call_site(const Options& o, const Seat& seat, Buffers& buffers, const Row& row, toricRedOp_t op, bool in_place) {
  const std::size_t element = size_of(row.type), shift = o.unalign * element;
  CallSite site{&seat, o.what,  buffers.send(shift), buffers.receive(shift), row.count, static_cast<toricDataType_t>(row.type),
                op,    row.root};
  const std::size_t offset = static_cast<std::size_t>(seat.rank) * row.count * element;
  if (in_place && o.what == Collective::reduce_scatter) site.receive = buffers.send(shift) + offset;
  if (in_place && o.what != Collective::reduce_scatter) site.send = site.receive + (o.what == Collective::all_gather ? offset : 0);
  return site;
}

}  // namespace

void require(toricResult_t result, const Seat& seat) {
  if (result == toricSuccess) return;
  throw std::runtime_error(fmt::format("rank {}: {}: {}", seat.rank, toricGetErrorString(result), toricGetLastError(seat.comm)));
}

RowShape row_shape(Collective what, DataType type, Rank ranks, std::uint64_t bytes) {
  const std::uint64_t element = size_of(type), p = static_cast<std::uint64_t>(ranks);
  const std::uint64_t elements = bytes / element;
  if (what == Collective::barrier) return {0, 0};
  if (what == Collective::all_gather || what == Collective::reduce_scatter) {
    const std::uint64_t share = elements / p / (16 / element) * (16 / element);
    return {share, share * p * element};
  }
  return {elements, elements * element};
}

Bandwidth bandwidth(Collective what, std::uint64_t count, std::size_t element, Rank ranks, double seconds) {
  const double n = ranks;
  const bool shared = what == Collective::all_gather || what == Collective::reduce_scatter;
  const double bytes = static_cast<double>(count) * static_cast<double>(element) * (shared ? n : 1.0);
  const double factor = what == Collective::all_reduce ? 2.0 * (n - 1) / n : shared ? (n - 1) / n : 1.0;
  const double algorithm = seconds > 0 ? bytes / seconds / 1e9 : 0;
  return {algorithm, algorithm * factor};
}

IterationStatistics statistics(std::vector<double> us) {
  if (us.empty()) return {};
  std::sort(us.begin(), us.end());
  const double n = static_cast<double>(us.size());
  auto at = [&](double quantile) { return us[static_cast<std::size_t>(std::min(n - 1, std::ceil(quantile * n) - 1))]; };
  const double mean = std::accumulate(us.begin(), us.end(), 0.0) / n;
  double square = 0;
  for (const double value : us) square += (value - mean) * (value - mean);
  return {us.front(), us.back(), at(0.5), at(0.99), mean > 0 ? 100 * std::sqrt(square / n) / mean : 0};
}

Buffers::Buffers(const Options& o, Rank) {
  constexpr std::size_t page = 4096;
  const std::size_t bytes = o.max_bytes + o.unalign * 8 + 2 * page;
  send_.assign(bytes, std::byte{1});
  receive_.assign(bytes + page, std::byte{1});
  align_ = page - reinterpret_cast<std::uintptr_t>(send_.data()) % page;
}

Row measure(const Options& o, const Seat& seat, Buffers& buffers, DataType type, RedOp op, Rank root, std::uint64_t bytes) {
  const RowShape shape = row_shape(o.what, type, seat.ranks, bytes);
  Row row{shape.size, shape.count, type, op, root, seat.algorithm, {}};
  const Operator the_operator(seat, type, op);
  for (const bool in_place : {false, true}) {
    const CallSite site = call_site(o, seat, buffers, row, the_operator.get(), in_place);
    RowCheck check(site, type, op, root);
    if (o.checks > 0) check.run(in_place);  // defined input for the timed calls
    const Timing timing = time_calls(o, site);
    Half& half = row.halves[in_place ? 1 : 0];
    const Bandwidth rate = bandwidth(o.what, row.count, size_of(type), seat.ranks, timing.seconds_per_call);
    half = {timing.seconds_per_call * 1e6, rate.algorithm, rate.bus, std::nullopt, std::nullopt};
    if (o.per_iteration) half.iterations = statistics(timing.iteration_us);
    if (o.checks == 0) continue;
    std::uint64_t wrong = 0;
    for (int i = 0; i < o.checks; ++i) wrong += check.run(in_place);
    half.wrong = sum_over_ranks(seat, wrong);
  }
  return row;
}

void warm_up(const Options& o, const Seat& seat, Buffers& buffers, std::uint64_t bytes) {
  const RowShape shape = row_shape(o.what, o.types[0], seat.ranks, bytes);
  const Row row{shape.size, shape.count, o.types[0], RedOp::sum, o.what == Collective::broadcast ? 0 : -1, {}, {}};
  const CallSite site = call_site(o, seat, buffers, row, toricSum, false);
  for (int i = 0; i < o.warmup; ++i) site.issue();
}

}  // namespace toric::perf
