// One direction of one (from, to, channel): single producer, single consumer, no locks, no system calls.
// Position independent: everything in the shared memory is a number, never a pointer.
//
//   | consumer's counters | consumer's costs | small slots | large slots |
//   slot:  | header line: word 8 B, signature 8 B, 48 B of data | room, when the message is longer than 48 B |
//
// The word is written last. It holds the low 31 bits of the slot's sequence, how the payload was stored, and its
// bytes; a consumer that knows sequence and size waits for exactly one value. Small and large slots count separately:
// both ends know every message's size, so they agree on where the next one lies.
#pragma once

#include "toric/ring/chooser.hpp"
#include "toric/ring/doorbell.hpp"
#include "toric/ring/shape.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace toric::ring {

struct alignas(64) SlotHeader {
  std::atomic<std::uint64_t> word;
  std::uint64_t signature;
  std::byte data[inline_bytes];
};
static_assert(sizeof(SlotHeader) == line_bytes && std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint64_t streamed_bit = std::uint64_t{1} << 32;
/// `sequence` counts from 1, so that untouched memory is never a message.
[[nodiscard]] inline std::uint64_t slot_word(std::uint64_t sequence, std::size_t bytes) { return sequence << 33 | bytes; }
[[nodiscard]] inline bool same_sequence(std::uint64_t word, std::uint64_t sequence) { return word >> 33 == (sequence << 33) >> 33; }
[[nodiscard]] inline std::size_t word_bytes(std::uint64_t word) { return word & 0xffffffffU; }

struct alignas(64) Counters {
  std::atomic<std::uint64_t> consumed[2];  // small, large: messages the consumer has let go
};
struct alignas(64) Costs {
  std::atomic<float> cycles_per_byte[size_classes][2];  // of reading, by Store; 0: unknown
};
static_assert(sizeof(Counters) == line_bytes && sizeof(Costs) == line_bytes);

/// One end's place in the slots of one kind.
struct Cursor {
  std::byte* first = nullptr;
  std::byte* at = nullptr;
  std::byte* end = nullptr;
  std::size_t stride = 0;
  std::uint32_t slots = 0;
  std::uint64_t passed = 0;  // messages this end is done with

  Cursor() = default;
  Cursor(std::byte* ring, const Shape& shape, std::uint32_t kind)
      : first(ring + shape.first_slot[kind]),
        at(first),
        end(first + shape.slots[kind] * shape.stride[kind]),
        stride(shape.stride[kind]),
        slots(shape.slots[kind]) {}

  [[nodiscard]] SlotHeader& header() const { return *reinterpret_cast<SlotHeader*>(at); }
  [[nodiscard]] std::byte* data(std::size_t bytes) const { return bytes <= inline_bytes ? header().data : at + line_bytes; }
  void advance() {
    ++passed;
    at += stride;
    if (at == end) at = first;
  }
};

class OutRing final {
  static constexpr std::size_t push_up_to = 1024;

 public:
  OutRing(std::byte* ring, const Shape& shape, Doorbell& peer_bell)
      : cursor_{Cursor(ring, shape, 0), Cursor(ring, shape, 1)},
        counters_(reinterpret_cast<Counters*>(ring)),
        costs_(reinterpret_cast<Costs*>(ring + Shape::costs_at)),
        bell_(&peer_bell),
        small_limit_(shape.small_limit) {}

  /// Whom a commit may have to wake.
  [[nodiscard]] Doorbell& bell() const { return *bell_; }

  std::byte* reserve(std::size_t bytes) {
    const std::uint32_t kind = bytes > small_limit_ ? 1 : 0;
    const Cursor& cursor = cursor_[kind];
    if (cursor.passed - consumed_[kind] >= cursor.slots) {
      if (!refresh(kind)) return nullptr;
    }
    return cursor.data(bytes);
  }

  void commit(std::size_t bytes, Store how, std::uint64_t signature) {
    Cursor& cursor = cursor_[bytes > small_limit_ ? 1 : 0];
    if (how == Store::streamed) streamed_stores_are_out();
    SlotHeader& header = cursor.header();
    header.signature = signature;
    header.word.store(slot_word(cursor.passed + 1, bytes) | (how == Store::streamed ? streamed_bit : 0), std::memory_order_release);
    if (bytes > inline_bytes && bytes <= push_up_to && how == Store::cached) push(cursor.at, line_bytes + bytes);
    cursor.advance();
    if (bytes >= choice_from_bytes) choosers_[size_class(bytes)].advance();
  }

  Store store_for(std::size_t bytes) {
    if (bytes < choice_from_bytes) return Store::cached;
    current_class_ = size_class(bytes);
    return choosers_[current_class_].choose();
  }
  /// The cost of writing the segment that store_for was asked about last.
  void observe(Store how, float cycles_per_byte) { choosers_[current_class_].writer_cost(how, cycles_per_byte); }

 private:
  // The consumer's lines are read only when room has run out: they are likely to be in its cache.
  bool refresh(std::uint32_t kind) {
    const std::uint64_t consumed = counters_->consumed[kind].load(std::memory_order_acquire);
    if (consumed == consumed_[kind]) return false;
    consumed_[kind] = consumed;
    for (std::uint32_t i = 0; i < size_classes; ++i)
      choosers_[i].reader_costs(costs_->cycles_per_byte[i][0].load(std::memory_order_relaxed),
                                costs_->cycles_per_byte[i][1].load(std::memory_order_relaxed));
    return true;
  }

  // Moves lines from this core's caches to the one that all share, where the peer finds them without asking this core:
  // a third less time for a few lines, more than it costs up to some dozens. A hint; older processors ignore it.
  static void push([[maybe_unused]] const std::byte* first, [[maybe_unused]] std::size_t bytes) {
#if defined(__x86_64__)
    for (std::size_t at = 0; at < bytes; at += line_bytes) asm volatile("cldemote %0" ::"m"(first[at]));
#endif
  }

  static void streamed_stores_are_out() {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
  }

  Cursor cursor_[2];
  std::uint64_t consumed_[2] = {0, 0};  // what is known of the counters; each kind has used slots until they say otherwise
  Counters* counters_;
  Costs* costs_;
  Doorbell* bell_;
  std::size_t small_limit_;
  std::uint32_t current_class_ = 0;
  StoreChooser choosers_[size_classes];
};

class InRing final {
  static constexpr std::uint32_t look_wider = 64;

 public:
  /// What is found where a message of another size, kind or signature was expected.
  struct Found {
    std::size_t bytes;
    std::uint64_t signature;
  };

  InRing(std::byte* ring, const Shape& shape, Doorbell& peer_bell)
      : cursor_{Cursor(ring, shape, 0), Cursor(ring, shape, 1)},
        counters_(reinterpret_cast<Counters*>(ring)),
        costs_(reinterpret_cast<Costs*>(ring + Shape::costs_at)),
        bell_(&peer_bell),
        small_limit_(shape.small_limit) {}

  /// Whom a release may have to wake.
  [[nodiscard]] Doorbell& bell() const { return *bell_; }

  /// Null: not here, or not as expected; unexpected() tells.
  const std::byte* peek(std::size_t bytes, std::uint64_t signature) {
    const Cursor& cursor = cursor_[bytes > small_limit_ ? 1 : 0];
    const SlotHeader& header = cursor.header();
    const std::uint64_t word = header.word.load(std::memory_order_acquire);
    if ((word & ~streamed_bit) != slot_word(cursor.passed + 1, bytes) || header.signature != signature) [[unlikely]] {
      suspicious_ = same_sequence(word, cursor.passed + 1) || ++misses_ % look_wider == 0;
      return nullptr;
    }
    last_how_ = (word & streamed_bit) != 0 ? 1 : 0;
    last_bytes_ = bytes;
    return cursor.data(bytes);
  }

  /// After a peek that gave null: whether unexpected() may find something. Messages of the other kind are looked for now and then.
  [[nodiscard]] bool suspicious() const { return suspicious_; }
  /// After a peek that gave null: whether the next message is here but is another one. A slot of the other kind counts
  /// only if the expected kind is still empty after it was seen: the producer fills them in order.
  [[nodiscard]] bool unexpected(std::size_t bytes, Found& found) const {
    const std::uint32_t kind = bytes > small_limit_ ? 1 : 0;
    if (has(kind, found)) return true;
    Found early{};
    if (!has(1 - kind, early)) return false;
    if (!has(kind, found)) found = early;
    return true;
  }

  void release(std::size_t bytes) {
    const std::uint32_t kind = bytes > small_limit_ ? 1 : 0;
    cursor_[kind].advance();
    counters_->consumed[kind].store(cursor_[kind].passed, std::memory_order_release);
  }

  /// The cost of reading the segment that was peeked last; told to the producer when it has changed noticeably.
  void observe(float cycles_per_byte) {
    if (last_bytes_ < choice_from_bytes) return;
    const std::uint32_t size = size_class(last_bytes_);
    CostFilter& filter = costs_seen_[size][last_how_];
    filter.add(cycles_per_byte);
    std::atomic<float>& shared = costs_->cycles_per_byte[size][last_how_];
    const float told = shared.load(std::memory_order_relaxed);
    if (std::abs(filter.estimate() - told) > told / 16) shared.store(filter.estimate(), std::memory_order_relaxed);
  }

 private:
  bool has(std::uint32_t kind, Found& found) const {
    const Cursor& cursor = cursor_[kind];
    if (cursor.slots == 0) return false;
    const SlotHeader& header = cursor.header();
    const std::uint64_t word = header.word.load(std::memory_order_acquire);
    if (!same_sequence(word, cursor.passed + 1)) return false;
    found = {word_bytes(word), header.signature};
    return true;
  }

  Cursor cursor_[2];
  Counters* counters_;
  Costs* costs_;
  Doorbell* bell_;
  std::size_t small_limit_;
  std::size_t last_bytes_ = 0;
  std::uint32_t last_how_ = 0;
  std::uint32_t misses_ = 0;
  bool suspicious_ = false;
  CostFilter costs_seen_[size_classes][2];
};

}  // namespace toric::ring
