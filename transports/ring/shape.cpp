#include "toric/ring/shape.hpp"

#include <algorithm>
#include <limits>

namespace toric::ring {

std::string RingConfig::describe() const {
  return "{segment_bytes " + std::to_string(segment_bytes) + ", slots " + std::to_string(slots) + ", small_bytes " +
         std::to_string(small_bytes) + ", small_slots " + std::to_string(small_slots) + ", memory_budget " + std::to_string(memory_budget) +
         "}";
}

Result<RingConfig> ring_config(const TransportConfig& config) {
  constexpr std::size_t most = std::size_t{1} << 30;
  const auto refuse = [](const char* member, std::size_t value, const char* allowed) {
    return Status(Code::invalid_argument,
                  std::string("transport configuration: ") + member + " is " + std::to_string(value) + "; it must be " + allowed);
  };
  if (config.segment_bytes < line_bytes || config.segment_bytes > most || config.segment_bytes % line_bytes != 0)
    return refuse("segment_bytes", config.segment_bytes, "a multiple of 64 from 64 to 1 GiB");
  if (config.slots < 1 || config.slots > 65536) return refuse("slots", config.slots, "from 1 to 65536");
  if (config.small_bytes != 0 && (config.small_slots < 1 || config.small_slots > 65536))
    return refuse("small_slots", config.small_slots, "from 1 to 65536, or small_bytes 0");
  if (config.memory != MemoryKind::host)
    return Status(Code::invalid_argument, "transport configuration: this transport carries host memory only; choose one for the device");
  return RingConfig{config.segment_bytes, config.slots, std::min(config.small_bytes, config.segment_bytes),
                    config.small_bytes == 0 ? 0 : config.small_slots, config.memory_budget};
}

Shape::Shape(const RingConfig& config) : small_limit(config.small_bytes), segment_bytes(config.segment_bytes) {
  slots[0] = small_limit == 0 ? 0 : static_cast<std::uint32_t>(config.small_slots);
  slots[1] = small_limit >= segment_bytes ? 0 : static_cast<std::uint32_t>(config.slots);
  stride[0] = round_up(line_bytes + small_limit, 2 * line_bytes);
  stride[1] = round_up(line_bytes + segment_bytes, 2 * line_bytes);
  first_slot[0] = slots_at;
  first_slot[1] = slots_at + slots[0] * stride[0];
  bytes = first_slot[1] + slots[1] * stride[1];
}

Status over_budget(std::string_view transport, Rank from, Rank to, std::uint16_t channel, std::size_t needed, std::size_t used,
                   std::size_t budget) {
  return {Code::system_error, std::string(transport) + " transport: the ring from rank " + std::to_string(from) + " to rank " +
                                  std::to_string(to) + " on channel " + std::to_string(channel) + " needs " + std::to_string(needed) +
                                  " bytes, and the rings of this host use " + std::to_string(used) + " of their memory budget of " +
                                  std::to_string(budget) +
                                  " bytes; raise the budget, or use fewer channels, fewer slots or smaller segments"};
}

}  // namespace toric::ring
