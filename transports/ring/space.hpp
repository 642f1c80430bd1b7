// Where rings and doorbells live: what a memory transport has of its own. Everything else is RingTransport.
#pragma once

#include "toric/ring/doorbell.hpp"
#include "toric/ring/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace toric::ring {

class RingSpace {
 public:
  virtual ~RingSpace() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  [[nodiscard]] virtual bool across_processes() const = 0;
  [[nodiscard]] virtual Doorbell& bell(Rank rank) = 0;
  /// The ring's memory: the same for both ends, whoever asks first makes it. It lives as long as this object.
  virtual Result<std::byte*> ring(Rank from, Rank to, std::uint16_t channel) = 0;
  /// Bytes of rings that were made because this rank asked first.
  [[nodiscard]] virtual std::size_t made_bytes() const = 0;
};

}  // namespace toric::ring
