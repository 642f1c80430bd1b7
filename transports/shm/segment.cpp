#include "toric/shm/segment.hpp"

#include "toric/shm/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace toric::shm {

namespace {

constexpr std::size_t page_bytes = 4096;

Status system_error(const std::string& what, int error) {
  return {Code::system_error, "shm transport: " + what + ": " + std::strerror(error)};
}

Status too_little_memory(const std::string& what, std::size_t needed, const Available& found) {
  return {Code::system_error, "shm transport: " + what + " needs " + std::to_string(needed) + " bytes of memory, but only " +
                                  std::to_string(found.bytes) + " are left (" + found.source +
                                  "); give the job more memory, or use fewer channels, fewer slots or smaller segments"};
}

Status check_limits(const Segment::Layout& layout, Rank ranks) {
  // Every rank will need at least one ring; the budget itself is a bound, not a need.
  const std::size_t needed = layout.blocks_at + static_cast<std::size_t>(ranks) * layout.block_bytes;
  const Available found = available_memory();
  if (found.bytes < needed) return too_little_memory("a communicator of " + std::to_string(ranks) + " ranks", needed, found);
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < layout.bytes)
    return {Code::system_error, "shm transport: the shared segment spans " + std::to_string(layout.bytes) +
                                    " bytes, but files of this process are limited to " + std::to_string(limit.rlim_cur) +
                                    "; raise that limit (ulimit -f) or lower the memory budget"};
  return {};
}

Status fill(int descriptor, const ring::RingConfig& config, Rank ranks, const Segment::Layout& layout) {
  if (ftruncate(descriptor, static_cast<off_t>(layout.bytes)) != 0)
    return system_error("cannot size the shared segment to " + std::to_string(layout.bytes) + " bytes", errno);
  if (const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(layout.blocks_at)); error != 0)
    return system_error("cannot get " + std::to_string(layout.blocks_at) + " bytes for the shared segment's head", error);
  const SegmentHeader header{segment_magic, segment_version, static_cast<std::uint32_t>(ranks), config, layout.blocks};
  if (pwrite(descriptor, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
    return system_error("cannot write the shared segment's header", errno);
  // Nobody can shorten the file under the others, which would kill them.
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return system_error("cannot seal the shared segment's size", errno);
  return {};
}

Status check_header(int descriptor, const ring::RingConfig& config, Rank ranks, const Segment::Layout& layout) {
  SegmentHeader header{};
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return system_error("cannot look at the shared segment", errno);
  if (pread(descriptor, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) || header.magic != segment_magic)
    return {Code::invalid_usage,
            "shm transport: the descriptor from rank 0 is not a shared segment of Toric; run the same build on all ranks"};
  if (header.version != segment_version)
    return {Code::invalid_usage, "shm transport: rank 0's shared segment has version " + std::to_string(header.version) +
                                     ", this rank speaks version " + std::to_string(segment_version) + "; run the same build on all ranks"};
  if (header.config != config || header.ranks != static_cast<std::uint32_t>(ranks))
    return {Code::invalid_usage, "shm transport: rank 0's shared segment is for " + std::to_string(header.ranks) + " ranks and " +
                                     header.config.describe() + ", this rank expects " + std::to_string(ranks) + " ranks and " +
                                     config.describe() + "; give all ranks the same configuration"};
  if (header.blocks != layout.blocks || static_cast<std::size_t>(file.st_size) < layout.bytes)
    return {Code::invalid_usage, "shm transport: rank 0's shared segment has " + std::to_string(file.st_size) + " bytes where " +
                                     std::to_string(layout.bytes) + " are expected; run the same build on all ranks"};
  return {};
}

std::uint64_t mix(std::uint64_t key) {
  key ^= key >> 31;
  key *= 0x9e3779b97f4a7c15;
  return key ^ key >> 29;
}

}  // namespace

Segment::Layout::Layout(const ring::RingConfig& config, Rank ranks)
    : shape(config),
      block_bytes(ring::round_up(shape.bytes, page_bytes)),
      blocks(config.memory_budget / block_bytes),
      bells_at(ring::round_up(sizeof(SegmentHeader), page_bytes)),
      directory_at(bells_at + ring::round_up(static_cast<std::size_t>(ranks) * sizeof(ring::Doorbell), page_bytes)),
      blocks_at(directory_at + ring::round_up(blocks * sizeof(std::uint64_t), page_bytes)),
      bytes(blocks_at + blocks * block_bytes) {}

Result<int> Segment::make(const ring::RingConfig& config, Rank ranks) {
  const Layout layout(config, ranks);
  TORIC_TRY(check_limits(layout, ranks));
  const int descriptor = memfd_create("toric", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return system_error("cannot make an anonymous file (memfd_create)", errno);
  const Status filled = fill(descriptor, config, ranks, layout);
  if (filled.ok()) return descriptor;
  close(descriptor);
  return filled;
}

Result<std::unique_ptr<Segment>> Segment::attach(int descriptor, const ring::RingConfig& config, Rank ranks) {
  const Layout layout(config, ranks);
  std::unique_ptr<Segment> segment(new Segment(descriptor, layout, config.memory_budget));  // closes the descriptor from here on
  TORIC_TRY(check_header(descriptor, config, ranks, layout));
  void* memory = mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED)
    return system_error("cannot map " + std::to_string(layout.bytes) + " bytes (lower the memory budget, or raise ulimit -v)", errno);
  segment->memory_ = static_cast<std::byte*>(memory);
  return segment;
}

Segment::~Segment() {
  if (memory_ != nullptr) munmap(memory_, layout_.bytes);
  close(descriptor_);
}

ring::Doorbell& Segment::bell(Rank rank) const {
  return reinterpret_cast<ring::Doorbell*>(memory_ + layout_.bells_at)[static_cast<std::size_t>(rank)];
}

std::atomic<std::uint64_t>* Segment::directory() const {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + layout_.directory_at);
}

std::size_t Segment::claim(std::uint64_t key, bool& taken_now) const {
  for (std::size_t tried = 0, entry = mix(key); tried < layout_.blocks; ++tried, ++entry) {
    std::atomic<std::uint64_t>& place = directory()[entry % layout_.blocks];
    std::uint64_t found = place.load(std::memory_order_acquire);
    if (found == 0) taken_now = place.compare_exchange_strong(found, key, std::memory_order_acq_rel, std::memory_order_acquire);
    if (taken_now || found == key) return entry % layout_.blocks;
  }
  return layout_.blocks;
}

std::size_t Segment::taken() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < layout_.blocks; ++i) count += directory()[i].load(std::memory_order_relaxed) != 0 ? 1 : 0;
  return count;
}

// Both ends do this: whoever comes second finds the pages there, or is the one who is told that there are none.
Status Segment::have_pages(std::size_t block) const {
  const std::size_t offset = layout_.blocks_at + block * layout_.block_bytes;
  const int error = posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(layout_.block_bytes));
  if (error == ENOSPC || error == ENOMEM) return too_little_memory("a ring", layout_.block_bytes, available_memory());
  if (error != 0) return system_error("cannot get the pages of a ring", error);
#if defined(MADV_POPULATE_WRITE)
  madvise(memory_ + offset, layout_.block_bytes, MADV_POPULATE_WRITE);  // only saves faults later: older kernels may refuse
#endif
  return {};
}

Result<std::byte*> Segment::ring(Rank from, Rank to, std::uint16_t channel, std::size_t& made) {
  // Never zero, which marks a free entry.
  const std::uint64_t key =
      (std::uint64_t{static_cast<std::uint32_t>(from) + 1} << 40) | (std::uint64_t{static_cast<std::uint32_t>(to)} << 16) | channel;
  bool taken_now = false;
  const std::size_t block = claim(key, taken_now);
  if (block == layout_.blocks)
    return ring::over_budget("shm", from, to, channel, layout_.block_bytes, taken() * layout_.block_bytes, budget_);
  if (taken_now) {
    made += layout_.block_bytes;
    if (const Available found = available_memory(); found.bytes < layout_.block_bytes)
      return too_little_memory("a ring", layout_.block_bytes, found);
  }
  TORIC_TRY(have_pages(block));
  return memory_ + layout_.blocks_at + block * layout_.block_bytes;
}

}  // namespace toric::shm
