// A transport without views: what reserve and peek give is private memory, and commit and peek copy. Whoever works on
// the interface must not depend on rooms and views being the ring itself.
#pragma once

#include "toric/transport.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace toric::testing {

class StagedTransport final : public Transport {
 public:
  explicit StagedTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::size_t segment_bytes() const override { return inner_->segment_bytes(); }
  Result<Port> out(Rank to, std::uint16_t channel) override { return inner_->out(to, channel); }
  Result<Port> in(Rank from, std::uint16_t channel) override { return inner_->in(from, channel); }
  void stamp(std::uint64_t signature) override { inner_->stamp(signature); }

  std::byte* reserve(Port out, std::size_t bytes) override { return inner_->reserve(out, bytes) == nullptr ? nullptr : buffer(out); }
  void commit(Port out, std::size_t bytes, Store how, std::uint32_t order) override {
    std::memcpy(inner_->reserve(out, bytes), buffer(out), bytes);
    inner_->commit(out, bytes, how, order);
  }
  const std::byte* peek(Port in, std::size_t bytes) override {
    const std::byte* view = inner_->peek(in, bytes);
    return view == nullptr ? nullptr : static_cast<const std::byte*>(std::memcpy(buffer(in), view, bytes));
  }
  void release(Port in, std::size_t bytes) override {
    std::memset(buffer(in), 0xee, bytes);
    inner_->release(in, bytes);
  }

  Store store_for(Port out, std::size_t bytes) override { return inner_->store_for(out, bytes); }
  void observe(Port port, Store how, float cost) override { inner_->observe(port, how, cost); }
  void arm() override { inner_->arm(); }
  void flush() override { inner_->flush(); }
  void disarm() override { inner_->disarm(); }
  void wait(Deadline deadline) override { inner_->wait(deadline); }
  void wake(Rank rank) override { inner_->wake(rank); }
  [[nodiscard]] Status failed() const override { return inner_->failed(); }
  [[nodiscard]] std::optional<Mismatch> mismatch() const override { return inner_->mismatch(); }
  [[nodiscard]] std::size_t memory_bytes() const override { return inner_->memory_bytes(); }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::byte* buffer(Port port) {
    auto& lines = buffers_[port];
    lines.resize(segment_bytes() / sizeof(Line));
    return lines[0].bytes;
  }

  std::unique_ptr<Transport> inner_;
  std::map<Port, std::vector<Line>> buffers_;
};

}  // namespace toric::testing
