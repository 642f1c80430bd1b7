#include "toric/local/local.hpp"

#include "toric/ring/agreement.hpp"
#include "toric/ring/ring_transport.hpp"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <vector>

namespace toric {

namespace {

using ring::Doorbell;
using ring::Statement;

constexpr std::string_view local_name = "local";

/// What all ranks share. Made by rank 0 for all of them; the last that lets go frees it.
class Hub {
 public:
  Hub(const ring::RingConfig& config, Rank ranks)
      : shape_(config), budget_(config.memory_budget), users_(ranks), bells_(static_cast<std::size_t>(ranks)) {}
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  ~Hub() {
    for (const auto& [key, memory] : rings_) munmap(memory, shape_.bytes);
  }

  void let_go() {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  [[nodiscard]] const ring::Shape& shape() const { return shape_; }
  [[nodiscard]] Doorbell& bell(Rank rank) { return bells_[static_cast<std::size_t>(rank)]; }

  Result<std::byte*> ring(Rank from, Rank to, std::uint16_t channel, std::size_t& made) {
    const std::lock_guard guard(mutex_);
    const auto key = std::make_tuple(from, to, channel);
    if (const auto known = rings_.find(key); known != rings_.end()) return known->second;
    const std::size_t used = rings_.size() * shape_.bytes;
    if (shape_.bytes > budget_ || used > budget_ - shape_.bytes)
      return ring::over_budget(local_name, from, to, channel, shape_.bytes, used, budget_);
    // Mapped, not allocated: the pages are zero, as an empty ring has to be, and are taken when they are first touched.
    void* memory = mmap(nullptr, shape_.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return Status(Code::system_error, "local transport: the system has no " + std::to_string(shape_.bytes) +
                                            " bytes for the ring from rank " + std::to_string(from) + " to rank " + std::to_string(to) +
                                            "; lower the memory budget");
    made += shape_.bytes;
    return rings_.emplace(key, static_cast<std::byte*>(memory)).first->second;
  }

 private:
  const ring::Shape shape_;
  const std::size_t budget_;
  std::atomic<Rank> users_;
  std::vector<Doorbell> bells_;
  std::mutex mutex_;
  std::map<std::tuple<Rank, Rank, std::uint16_t>, std::byte*> rings_;
};

class LocalSpace final : public ring::RingSpace {
 public:
  explicit LocalSpace(Hub& hub) : hub_(hub) {}
  ~LocalSpace() override { hub_.let_go(); }
  LocalSpace(const LocalSpace&) = delete;
  LocalSpace& operator=(const LocalSpace&) = delete;

  [[nodiscard]] std::string_view name() const override { return local_name; }
  [[nodiscard]] const ring::Shape& shape() const override { return hub_.shape(); }
  [[nodiscard]] bool across_processes() const override { return false; }
  [[nodiscard]] Doorbell& bell(Rank rank) override { return hub_.bell(rank); }
  Result<std::byte*> ring(Rank from, Rank to, std::uint16_t channel) override { return hub_.ring(from, to, channel, made_); }
  [[nodiscard]] std::size_t made_bytes() const override { return made_; }

 private:
  Hub& hub_;
  std::size_t made_ = 0;
};

/// Equal in the threads of this process and nowhere else: process numbers repeat across containers, and a forked child
/// has its parent's random number.
void name_process(Statement& mine) {
  static const std::uint64_t random = [] {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value) value = reinterpret_cast<std::uintptr_t>(&value);
    return value;
  }();
  mine.process[0] = static_cast<std::uint64_t>(getpid());
  mine.process[1] = random;
}

Status one_process(const std::vector<Statement>& all) {
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank].process[0] != all[0].process[0] || all[rank].process[1] != all[0].process[1])
      return {Code::invalid_usage, "local transport: rank " + std::to_string(rank) +
                                       " is in another process than rank 0; use the shm transport between processes"};
  return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> make_local(const TransportConfig& config, Exchange& exchange) {
  Statement mine;
  name_process(mine);
  const Result<ring::RingConfig> checked = ring::ring_config(config);
  if (checked) {
    mine.config = *checked;
  } else {
    mine.refuse(checked.status());
  }
  Hub* made = nullptr;
  if (exchange.rank() == 0 && checked) made = new Hub(*checked, exchange.ranks());
  mine.token = reinterpret_cast<std::uintptr_t>(made);

  // Should the exchange break, some ranks may have the hub already: it is kept rather than freed under them.
  const Result<std::vector<Statement>> all = ring::gather(local_name, mine, exchange);
  if (!all) return all.status();
  // From here on all ranks decide alike, and on a refusal none touches the hub.
  Status together = ring::check(local_name, *all);
  if (together.ok()) together = one_process(*all);
  if (!together.ok()) {
    delete made;
    return together;
  }
  auto space = std::make_unique<LocalSpace>(*reinterpret_cast<Hub*>(static_cast<std::uintptr_t>((*all)[0].token)));
  return std::unique_ptr<Transport>(std::make_unique<ring::RingTransport>(std::move(space), exchange.rank(), exchange.ranks()));
}

}  // namespace toric
