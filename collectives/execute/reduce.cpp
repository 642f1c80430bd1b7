#include "toric/execute/reduce.hpp"

#include "toric/execute/reduce_table.hpp"

#include "hwy/cache_control.h"

#include <algorithm>
#include <cstring>

namespace toric {

namespace {

TypeKernels type_kernels(DataType type) {
  switch (type) {
    case DataType::float32:
    case DataType::float64:
      return wide_float_kernels(type);
    case DataType::float16:
    case DataType::bfloat16:
      return half_float_kernels(type);
    case DataType::float8e4m3:
    case DataType::float8e5m2:
      return narrow_float_kernels(type);
    default:
      return integer_kernels(type);
  }
}

constexpr std::size_t line_bytes = 64;
constexpr std::size_t short_bytes = 128;   // up to here a copy is a handful of loads and stores
constexpr std::size_t stream_from = 256;   // shorter streamed copies cost more at their ends than they gain
constexpr std::size_t own_from = 4096;     // longer cached copies gain by asking for lines ahead
constexpr std::size_t block_bytes = 8192;  // with two destinations: what the second copy finds in the first-level cache

struct Piece {
  unsigned char bytes[16];
};

/// Two pieces that overlap in the middle, both read before either is written.
template <std::size_t width>
void copy_two(std::byte* dst, std::byte* also, const std::byte* src, std::size_t bytes) {
  std::uint64_t first = 0, second = 0;
  const std::size_t at = bytes - width;
  std::memcpy(&first, src, width);
  std::memcpy(&second, src + at, width);
  std::memcpy(dst, &first, width);
  std::memcpy(dst + at, &second, width);
  if (also == nullptr) return;
  std::memcpy(also, &first, width);
  std::memcpy(also + at, &second, width);
}

void copy_short(std::byte* dst, std::byte* also, const std::byte* src, std::size_t bytes) {
  if (bytes >= sizeof(Piece)) {
    for (std::size_t at = 0;; at += sizeof(Piece)) {
      at = std::min(at, bytes - sizeof(Piece));
      Piece piece;
      std::memcpy(&piece, src + at, sizeof piece);
      std::memcpy(dst + at, &piece, sizeof piece);
      if (also != nullptr) std::memcpy(also + at, &piece, sizeof piece);
      if (at + sizeof(Piece) == bytes) return;
    }
  }
  if (bytes >= 8) return copy_two<8>(dst, also, src, bytes);
  if (bytes >= 4) return copy_two<4>(dst, also, src, bytes);
  if (bytes >= 2) return copy_two<2>(dst, also, src, bytes);
  if (bytes == 1) return copy_two<1>(dst, also, src, bytes);
}

void copy_one(std::byte* dst, const std::byte* src, std::size_t bytes, Store store) {
  if (bytes < (store == Store::cached ? own_from : stream_from)) {
    std::memcpy(dst, src, bytes);
    return;
  }
  static const CopyLines copy_lines = copy_lines_kernel();
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(dst)) % line_bytes;
  const std::size_t middle = (bytes - head) / line_bytes * line_bytes;
  copy_short(dst, nullptr, src, head);
  copy_lines(dst + head, src + head, middle, store);
  copy_short(dst + head + middle, nullptr, src + head + middle, bytes - head - middle);
}

}  // namespace

KernelTable build_kernel_table() {
  KernelTable table;
  for (int t = 0; t < data_type_count; ++t) {
    const TypeKernels of = type_kernels(static_cast<DataType>(t));
    const auto set = [&](RedOp op, Kernels kernels) { table[static_cast<std::size_t>(t)][static_cast<std::size_t>(op)] = kernels; };
    set(RedOp::sum, {of.sum, nullptr, nullptr});
    set(RedOp::prod, {of.prod, nullptr, nullptr});
    set(RedOp::max, {of.max, nullptr, nullptr});
    set(RedOp::min, {of.min, nullptr, nullptr});
    set(RedOp::avg, {of.sum, nullptr, of.divide});
    set(RedOp::pre_mul_sum, {of.sum, of.scale, nullptr});
  }
  return table;
}

const Kernels& kernels_for(DataType type, RedOp op) {
  static const KernelTable table = build_kernel_table();
  return table[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

void copy_bytes(std::byte* dst, std::byte* also, const std::byte* src, std::size_t bytes, Store store, Store also_store) {
  if (bytes <= short_bytes) return copy_short(dst, also, src, bytes);
  const bool moves = dst != src;
  if (also == nullptr || also == src) {
    if (moves) copy_one(dst, src, bytes, store);
    return;
  }
  if (!moves) return copy_one(also, src, bytes, also_store);
  for (std::size_t at = 0; at < bytes; at += block_bytes) {
    const std::size_t size = std::min(block_bytes, bytes - at);
    copy_one(dst + at, src + at, size, store);
    copy_one(also + at, src + at, size, also_store);
  }
}

void fence_streamed() { hwy::FlushStream(); }

}  // namespace toric
