// One pass over memory for every kernel: short ends, an aligned middle, cached or streaming stores, one or two destinations.
// Included once for each instruction set, by Highway's foreach_target.
#if defined(TORIC_EXECUTE_REDUCE_LOOPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORIC_EXECUTE_REDUCE_LOOPS_INL
#undef TORIC_EXECUTE_REDUCE_LOOPS_INL
#else
#define TORIC_EXECUTE_REDUCE_LOOPS_INL
#endif

#include "hwy/highway.h"
#include "toric/execute/reduce_table.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#if HWY_TARGET != HWY_SCALAR  // there the plain kernels serve
HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t align_from = 1024;  // shorter cached passes are not worth aligning
inline constexpr std::size_t own_from = 4096;    // from here on lines to be written are asked for ahead
inline constexpr std::size_t own_ahead = 512;

template <class T>
using WideTag = hn::CappedTag<T, line_bytes / sizeof(T)>;
template <class T>
using ShortTag = hn::FixedTag<T, 16 / sizeof(T)>;
template <class D>
inline constexpr std::size_t vector_bytes = hn::MaxLanes(D()) * sizeof(hn::TFromD<D>);

// Loads and stores go through bytes: any alignment, no view of memory as a type that it is not.
// `width` below the vector's repeats that many bytes all over it; only the first `width` bytes of the result are stored.
template <std::size_t width, class D>
HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
  if constexpr (width == vector_bytes<D>) {
    const hn::Repartition<std::uint8_t, D> bytes;
    return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
  } else {
    using Word = hwy::UnsignedFromSize<width>;
    Word word;
    std::memcpy(&word, from, width);
    return hn::BitCast(d, hn::Set(hn::Repartition<Word, D>(), word));
  }
}

template <std::size_t width, class D>
HWY_INLINE void store(D d, hn::Vec<D> value, std::byte* to) {
  if constexpr (width == vector_bytes<D>) {
    const hn::Repartition<std::uint8_t, D> bytes;
    (void)d;
    hn::StoreU(hn::BitCast(bytes, value), bytes, reinterpret_cast<std::uint8_t*>(to));
  } else {
    using Word = hwy::UnsignedFromSize<width>;
    const Word word = hn::GetLane(hn::BitCast(hn::Repartition<Word, D>(), value));
    std::memcpy(to, &word, width);
  }
}

template <class D>
HWY_INLINE void store_streamed(D, hn::Vec<D> value, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::Stream(hn::BitCast(bytes, value), bytes, reinterpret_cast<std::uint8_t*>(to));
}

// A source gives the result for `width` bytes at an offset. `unroll` 1: it is long, and is worth few copies in the code.

/// left (+) right
template <class Operator>
struct PairSource {
  static constexpr std::size_t unroll = Operator::unroll;
  const std::byte* left;
  const std::byte* right;
  template <std::size_t width, class D>
  HWY_INLINE hn::Vec<D> at(D d, std::size_t offset) const {
    return Operator::apply(d, load<width>(d, left + offset), load<width>(d, right + offset));
  }
};

/// source (+) the same value everywhere
template <class Operator, class T>
struct ConstantSource {
  static constexpr std::size_t unroll = Operator::unroll;
  const std::byte* source;
  T value;
  template <std::size_t width, class D>
  HWY_INLINE hn::Vec<D> at(D d, std::size_t offset) const {
    return Operator::apply(d, load<width>(d, source + offset), hn::Set(d, value));
  }
};

struct Destinations {
  std::byte* dst;
  std::byte* also;  // may be null
  Store store;
  Store also_store;
};

// Each of these reads all it needs before it writes: a destination may be an operand. Short calls keep all their arguments
// in registers: a struct that is written in halves and read whole waits for the store buffer longer than the work takes.

template <std::size_t width, class D>
HWY_INLINE void store_short(D d, hn::Vec<D> value, std::byte* dst, std::byte* also, std::size_t offset) {
  store<width>(d, value, dst + offset);
  if (also != nullptr) store<width>(d, value, also + offset);
}

template <class T, std::size_t width, class Source>
HWY_INLINE void run_two(const Source source, std::byte* dst, std::byte* also, std::size_t first, std::size_t second) {
  const ShortTag<T> d;
  const auto a = source.template at<width>(d, first);
  const auto b = source.template at<width>(d, second);
  store_short<width>(d, a, dst, also, first);
  store_short<width>(d, b, dst, also, second);
}

template <class T, class Source>
HWY_INLINE void run_four(const Source source, std::byte* dst, std::byte* also, std::size_t begin, std::size_t end) {
  const ShortTag<T> d;
  const auto a = source.template at<16>(d, begin);
  const auto b = source.template at<16>(d, begin + 16);
  const auto c = source.template at<16>(d, end - 32);
  const auto e = source.template at<16>(d, end - 16);
  store_short<16>(d, a, dst, also, begin);
  store_short<16>(d, b, dst, also, begin + 16);
  store_short<16>(d, c, dst, also, end - 32);
  store_short<16>(d, e, dst, also, end - 16);
}

/// Fewer than 64 bytes: pieces of the largest power of two that fits, overlapping in the middle.
template <class T, class Source>
HWY_INLINE void run_short(const Source source, std::byte* dst, std::byte* also, std::size_t begin, std::size_t end) {
  const std::size_t bytes = end - begin;
  if (bytes >= 32) return run_four<T>(source, dst, also, begin, end);
  if (bytes >= 16) return run_two<T, 16>(source, dst, also, begin, end - 16);
  if (bytes >= 8) return run_two<T, 8>(source, dst, also, begin, end - 8);
  if constexpr (sizeof(T) <= 4) {
    if (bytes >= 4) return run_two<T, 4>(source, dst, also, begin, end - 4);
  }
  if constexpr (sizeof(T) <= 2) {
    for (; begin < end; begin += sizeof(T)) run_two<T, sizeof(T)>(source, dst, also, begin, begin);
  }
}

template <class T, class Source>
HWY_NOINLINE void run_end(const Source source, std::byte* dst, std::byte* also, std::size_t begin, std::size_t end) {
  run_short<T>(source, dst, also, begin, end);
}

/// `count` vectors at `offset`.
template <std::size_t count, class D, class Source>
HWY_INLINE void run_vectors(D d, const Source& source, const Destinations& to, std::size_t offset) {
  constexpr std::size_t width = vector_bytes<D>;
  const auto a = source.template at<width>(d, offset);
  if constexpr (count == 1) {
    store_vectors(d, to, offset, a);
  } else if constexpr (count == 2) {
    store_vectors(d, to, offset, a, source.template at<width>(d, offset + width));
  } else {
    static_assert(count == 4);
    store_vectors(d, to, offset, a, source.template at<width>(d, offset + width), source.template at<width>(d, offset + 2 * width),
                  source.template at<width>(d, offset + 3 * width));
  }
}

template <class D, class... V>
HWY_INLINE void store_all(D d, Store how, std::byte* to, V... values) {
  if (how == Store::streamed) {
    ((store_streamed(d, values, to), to += vector_bytes<D>), ...);
  } else {
    ((store<vector_bytes<D>>(d, values, to), to += vector_bytes<D>), ...);
  }
}

template <class D, class... V>
HWY_INLINE void store_vectors(D d, const Destinations& to, std::size_t offset, V... values) {
  store_all(d, to.store, to.dst + offset, values...);
  if (to.also != nullptr) store_all(d, to.also_store, to.also + offset, values...);
}

/// Bytes up to the next line of the destination whose alignment counts most; 0 where whole elements do not lead there.
template <class T>
HWY_INLINE std::size_t bytes_to_line(const Destinations& to) {
  const bool also_leads = to.store == Store::cached && to.also != nullptr && to.also_store == Store::streamed;
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(also_leads ? to.also : to.dst)) % line_bytes;
  return head % sizeof(T) == 0 ? head : 0;
}

HWY_INLINE Store store_at(Store wanted, const std::byte* at) {
  return reinterpret_cast<std::uintptr_t>(at) % line_bytes == 0 ? wanted : Store::cached;
}

/// Asks for the lines `own_ahead` bytes on, to write: those of a slot are in the peer's cache.
HWY_INLINE void own(const std::byte* at, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += line_bytes) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" ::"m"(at[line]));
#else
    __builtin_prefetch(at + line, 1);
#endif
  }
}

template <class T, class Source>
HWY_INLINE void run_long(const Source source, Destinations to, std::size_t bytes) {
  constexpr std::size_t width = vector_bytes<WideTag<T>>;
  constexpr std::size_t vectors_a_line = line_bytes / width;
  constexpr std::size_t unroll = Source::unroll, step = unroll == 1 ? 1 : vectors_a_line;
  const WideTag<T> d;
  std::size_t at = 0;
  if (bytes >= align_from || to.store == Store::streamed || to.also_store == Store::streamed) {
    at = bytes_to_line<T>(to);
    if (at > 0) run_end<T>(source, to.dst, to.also, 0, at);
  }
  to.store = store_at(to.store, to.dst + at);
  to.also_store = store_at(to.also_store, to.also + at);
  if constexpr (unroll > vectors_a_line) {
    if (to.store == Store::cached && bytes >= own_from) {
      for (; at + unroll * width + own_ahead <= bytes; at += unroll * width) {
        own(to.dst + at + own_ahead, unroll * width);
        run_vectors<unroll>(d, source, to, at);
      }
    }
    for (; at + unroll * width <= bytes; at += unroll * width) run_vectors<unroll>(d, source, to, at);
  }
  for (const std::size_t end = at + (bytes - at) / line_bytes * line_bytes; at < end; at += step * width)
    run_vectors<step>(d, source, to, at);
  if (at < bytes) run_end<T>(source, to.dst, to.also, at, bytes);
}

template <class T, class Source>
HWY_INLINE void run(const Source source, const Destinations to, std::size_t bytes) {
  if (bytes >= line_bytes)
    run_long<T>(source, to, bytes);
  else
    run_end<T>(source, to.dst, to.also, 0, bytes);
}

// --- the kernels' entry points ---------------------------------------------------------------------------------------

template <class T, class Operator>
HWY_NOINLINE void reduce_long(const ReduceArgs& args) {
  run_long<T>(PairSource<Operator>{args.left, args.right}, Destinations{args.dst, args.also, args.store, args.also_store},
              args.elements * sizeof(T));
}

/// The short case alone, so that it needs no frame.
template <class T, class Operator>
void reduce_with(const ReduceArgs& args, KernelQueue) {
  const std::size_t bytes = args.elements * sizeof(T);
  if (bytes >= line_bytes) return reduce_long<T, Operator>(args);
  run_short<T>(PairSource<Operator>{args.left, args.right}, args.dst, args.also, 0, bytes);
}

template <class T, class Operator>
void scale_with(std::byte* dst, const std::byte* src, std::size_t elements, Scalar factor, KernelQueue) {
  T value;
  std::memcpy(&value, factor.bytes, sizeof value);
  run<T>(ConstantSource<Operator, T>{src, value}, Destinations{dst, nullptr, Store::cached, Store::cached}, elements * sizeof(T));
}

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET

#endif  // TORIC_EXECUTE_REDUCE_LOOPS_INL
