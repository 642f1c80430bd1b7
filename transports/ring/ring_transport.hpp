// A transport whose every port is a ring in memory that both ends can reach. One thread at a time may use it; wake()
// may come from any thread.
#pragma once

#include "toric/ring/ring.hpp"
#include "toric/ring/space.hpp"

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

namespace toric::ring {

class RingTransport final : public Transport {
 public:
  RingTransport(std::unique_ptr<RingSpace> space, Rank rank, Rank ranks);

  [[nodiscard]] std::string_view name() const override { return space_->name(); }
  [[nodiscard]] std::size_t segment_bytes() const override { return segment_bytes_; }
  Result<Port> out(Rank to, std::uint16_t channel) override;
  Result<Port> in(Rank from, std::uint16_t channel) override;
  void stamp(std::uint64_t signature) override { stamp_ = signature; }

  std::byte* reserve(Port out, std::size_t bytes) override;
  void commit(Port out, std::size_t bytes, Store how, std::uint32_t order) override;
  const std::byte* peek(Port in, std::size_t bytes) override;
  void release(Port in, std::size_t bytes) override;

  Store store_for(Port out, std::size_t bytes) override;
  void observe(Port port, Store how, float cycles_per_byte) override;

  void flush() override;
  void arm() override;
  void disarm() override { sleeper_.disarm(); }
  void wait(Deadline deadline) override { sleeper_.wait(deadline); }
  void wake(Rank rank) override;

  [[nodiscard]] Status failed() const override { return failure_; }
  [[nodiscard]] std::optional<Mismatch> mismatch() const override { return mismatch_; }
  [[nodiscard]] std::size_t memory_bytes() const override { return space_->made_bytes(); }

 private:
  struct End {
    Rank peer;
    std::uint16_t channel;
  };
  struct Direction {
    std::unordered_map<std::uint64_t, Port> ports;
    std::vector<End> ends;
  };

  // The lowest bit of a port says whether it is an in port; the rest is its place in outs_ or ins_.
  static std::size_t place(Port port) { return port >> 1; }

  Result<std::byte*> memory(Rank from, Rank to, Rank peer, std::uint16_t channel);
  [[nodiscard]] bool fits(std::size_t bytes) const { return bytes - 1 < segment_bytes_; }
  void tell_later(Doorbell& bell);
  const std::byte* peek_unexpected(Port port, std::size_t bytes);
  void fail(Code code, const std::string& what);
  void fail_size(std::string_view call, const End& end, std::size_t bytes);

  std::vector<OutRing> outs_;
  std::vector<InRing> ins_;
  std::uint64_t stamp_ = 0;
  std::size_t segment_bytes_;
  bool has_failed_ = false;
  std::size_t untold_ = 0;
  std::array<Doorbell*, 16> untold_bells_{};  // of ranks that may sleep since something changed for them
  std::unique_ptr<RingSpace> space_;
  Sleeper sleeper_;
  Rank rank_;
  Rank ranks_;
  Direction out_, in_;
  Status failure_;
  std::optional<Mismatch> mismatch_;
};

}  // namespace toric::ring
