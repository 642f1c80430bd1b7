// The copy of whole lines.
#include "toric/execute/reduce_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "toric/execute/reduce_copy.cpp"
#include "hwy/foreach_target.h"  // includes this file once for each instruction set

#include "toric/execute/reduce_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace toric::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void copy_lines(std::byte* dst, const std::byte* src, std::size_t bytes, Store) { std::memcpy(dst, src, bytes); }

#else

struct CopySource {
  static constexpr std::size_t unroll = 4;
  const std::byte* source;
  template <std::size_t width, class D>
  HWY_INLINE hn::Vec<D> at(D d, std::size_t offset) const {
    return load<width>(d, source + offset);
  }
};

void copy_lines(std::byte* dst, const std::byte* src, std::size_t bytes, Store store) {
  run<std::uint8_t>(CopySource{src}, Destinations{dst, nullptr, store, Store::cached}, bytes);
}

#endif

CopyLines copy_lines_kernel() { return copy_lines; }

}  // namespace toric::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace toric {

HWY_EXPORT(copy_lines_kernel);
CopyLines copy_lines_kernel() { return HWY_DYNAMIC_DISPATCH(copy_lines_kernel)(); }

}  // namespace toric
#endif
