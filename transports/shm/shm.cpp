#include "toric/shm/shm.hpp"

#include "toric/ring/agreement.hpp"
#include "toric/ring/ring_transport.hpp"
#include "toric/shm/segment.hpp"

#include <unistd.h>

namespace toric {

namespace {

constexpr std::string_view shm_name = "shm";
constexpr Rank most_ranks = Rank{1} << 23;  // what the directory's keys can tell apart

class ShmSpace final : public ring::RingSpace {
 public:
  explicit ShmSpace(std::unique_ptr<shm::Segment> segment) : segment_(std::move(segment)) {}

  [[nodiscard]] std::string_view name() const override { return shm_name; }
  [[nodiscard]] const ring::Shape& shape() const override { return segment_->shape(); }
  [[nodiscard]] bool across_processes() const override { return true; }
  [[nodiscard]] ring::Doorbell& bell(Rank rank) override { return segment_->bell(rank); }
  Result<std::byte*> ring(Rank from, Rank to, std::uint16_t channel) override { return segment_->ring(from, to, channel, made_); }
  [[nodiscard]] std::size_t made_bytes() const override { return made_; }

 private:
  std::unique_ptr<shm::Segment> segment_;
  std::size_t made_ = 0;
};

/// Closes rank 0's own descriptor, of which the exchange hands out duplicates.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number != -1) close(number);
  }
  int number = -1;
};

/// What this rank brings; rank 0 makes the segment, so that all hear in the first round whether there is one.
ring::Statement prepare(const TransportConfig& config, const Exchange& exchange, Descriptor& made) {
  ring::Statement mine;
  const Result<ring::RingConfig> checked = ring::ring_config(config);
  if (!checked) {
    mine.refuse(checked.status());
    return mine;
  }
  mine.config = *checked;
  if (exchange.ranks() > most_ranks) {
    mine.refuse(
        Status(Code::invalid_argument, "shm transport: more than " + std::to_string(most_ranks) + " ranks; use several communicators"));
  } else if (exchange.rank() == 0) {
    const Result<int> descriptor = shm::Segment::make(*checked, exchange.ranks());
    if (descriptor) {
      made.number = *descriptor;
    } else {
      mine.refuse(descriptor.status());
    }
  }
  return mine;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_shm(const TransportConfig& config, Exchange& exchange) {
  Descriptor made;
  const ring::Statement mine = prepare(config, exchange, made);
  const Result<std::vector<ring::Statement>> all = ring::gather(shm_name, mine, exchange);
  if (!all) return all.status();
  TORIC_TRY(ring::check(shm_name, *all));

  const Result<int> shared = exchange.share_descriptor(made.number, 0);
  Result<std::unique_ptr<shm::Segment>> segment = shared.status();
  if (shared) segment = shm::Segment::attach(*shared, mine.config, exchange.ranks());
  TORIC_TRY(ring::all_ok(shm_name, segment.status(), exchange));
  auto space = std::make_unique<ShmSpace>(*std::move(segment));
  return std::unique_ptr<Transport>(std::make_unique<ring::RingTransport>(std::move(space), exchange.rank(), exchange.ranks()));
}

}  // namespace toric
