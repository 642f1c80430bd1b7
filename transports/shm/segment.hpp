// The shared segment: a header, the ranks' doorbells, a directory, and one block of memory for each directory entry.
//
// The directory is a hash table whose entry i owns block i, so claiming an entry with one compare-and-swap is at once
// the allocation and its publication: there is no lock to die with and no half-made ring, and as a block of zeros is an
// empty ring, nothing is left to initialise. The segment is sparse: blocks cost memory only once their entry is taken.
#pragma once

#include "toric/ring/doorbell.hpp"
#include "toric/ring/shape.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace toric::shm {

inline constexpr std::uint64_t segment_magic = 0x544f524943534547;  // "TORICSEG"
inline constexpr std::uint32_t segment_version = 1;

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t ranks;
  ring::RingConfig config;
  std::uint64_t blocks;  // directory entries, and blocks behind them
};

class Segment {
 public:
  /// Offsets, from configuration and number of ranks.
  struct Layout {
    Layout(const ring::RingConfig& config, Rank ranks);
    ring::Shape shape;
    std::size_t block_bytes;  // a ring, in whole pages
    std::size_t blocks;       // as many as the budget allows
    std::size_t bells_at, directory_at, blocks_at, bytes;
  };

  /// An anonymous file with everything in place, its size sealed. The caller owns the descriptor.
  static Result<int> make(const ring::RingConfig& config, Rank ranks);
  /// Checks that the file is the segment this configuration expects and maps it. Takes the descriptor over.
  static Result<std::unique_ptr<Segment>> attach(int descriptor, const ring::RingConfig& config, Rank ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const ring::Shape& shape() const { return layout_.shape; }
  [[nodiscard]] ring::Doorbell& bell(Rank rank) const;
  /// Adds to `made` what had to be newly taken.
  Result<std::byte*> ring(Rank from, Rank to, std::uint16_t channel, std::size_t& made);

 private:
  Segment(int descriptor, const Layout& layout, std::size_t budget) : descriptor_(descriptor), layout_(layout), budget_(budget) {}

  [[nodiscard]] std::atomic<std::uint64_t>* directory() const;
  /// The entry that holds `key`, taken now if need be; `blocks` when there is none left.
  std::size_t claim(std::uint64_t key, bool& taken_now) const;
  [[nodiscard]] std::size_t taken() const;
  Status have_pages(std::size_t block) const;

  int descriptor_;
  Layout layout_;
  std::size_t budget_;
  std::byte* memory_ = nullptr;
};

}  // namespace toric::shm
