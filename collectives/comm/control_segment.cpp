#include "toric/comm/control_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace toric {

namespace {

constexpr std::uint64_t segment_magic = 0x3143544c434f5254;  // "TROCLTC1"

/// One line, so that a reader fetches one; written by one rank. `sequence` is 0 while the rest changes.
struct alignas(64) RecordCell {
  std::atomic<std::uint64_t> sequence, count, what;  // what: root, operator, type, collective
};

std::uint64_t pack(const CallRecord& record) {
  return static_cast<std::uint64_t>(record.collective) | static_cast<std::uint64_t>(record.type) << 8 |
         static_cast<std::uint64_t>(record.op) << 16 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(record.root)) << 32;
}

void unpack(std::uint64_t what, CallRecord& record) {
  record.collective = static_cast<Collective>(what & 0xff);
  record.type = static_cast<DataType>(what >> 8 & 0xff);
  record.op = static_cast<std::uint8_t>(what >> 16 & 0xff);
  record.root = static_cast<Rank>(static_cast<std::uint32_t>(what >> 32));
}

// The error's state: nothing, or the raising rank (plus 1, times 4) and a phase.
constexpr std::uint32_t writing = 1, written = 2, phase_mask = 3;
constexpr std::uint32_t claim(Rank raiser, std::uint32_t phase) { return (static_cast<std::uint32_t>(raiser) + 1) << 2 | phase; }

}  // namespace

/// One status, written once.
struct ControlSegment::Board {
  alignas(64) std::atomic<std::uint32_t> state;
  std::int32_t code;
  std::uint32_t length;
  char text[error_text_bytes];
};

struct ControlSegment::Header {
  std::uint64_t magic, ranks;
  Nonce nonce;
  Board error, proposal;
};

struct ControlSegment::RankCell {
  alignas(64) std::atomic<std::uint64_t> last_sequence;
  std::atomic<std::uint32_t> presence;
  RecordCell records[records_kept];
};

std::size_t ControlSegment::bytes_for(Rank ranks) { return sizeof(Header) + static_cast<std::size_t>(ranks) * sizeof(RankCell); }
ControlSegment::Header& ControlSegment::header() const { return *static_cast<Header*>(memory_); }
ControlSegment::RankCell& ControlSegment::cell(Rank rank) const {
  return reinterpret_cast<RankCell*>(static_cast<std::byte*>(memory_) + sizeof(Header))[rank];
}

Result<void*> ControlSegment::map_bytes(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return system_failure(fmt::format("map {} bytes of control memory", bytes), errno);
  return memory;
}

Result<ControlSegment::Made> ControlSegment::create(Rank ranks, const Nonce& nonce) {
  const std::size_t bytes = bytes_for(ranks);
  Descriptor descriptor(::memfd_create("toric control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.valid()) return system_failure("make shared memory (memfd_create)", errno);
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0)
    return system_failure(fmt::format("make {} bytes of shared memory", bytes), errno);
  ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);  // nobody can take it from under our feet
  auto memory = map_bytes(descriptor.get(), bytes);
  if (!memory.ok()) return memory.status();
  Made made;
  made.segment.reset(new ControlSegment(*memory, bytes, ranks));
  // Fresh memory is zero: no records, everyone absent, no error.
  Header& header = *new (*memory) Header;
  header.ranks = static_cast<std::uint64_t>(ranks);
  header.nonce = nonce;
  header.magic = segment_magic;
  made.descriptor = std::move(descriptor);
  return made;
}

Result<std::unique_ptr<ControlSegment>> ControlSegment::map(const Descriptor& descriptor, Rank ranks, const Nonce& nonce) {
  const std::size_t bytes = bytes_for(ranks);
  struct stat about {};
  if (::fstat(descriptor.get(), &about) != 0 || about.st_size != static_cast<off_t>(bytes))
    return Status(Code::remote_error, "the control memory of this host has another size than expected");
  auto memory = map_bytes(descriptor.get(), bytes);
  if (!memory.ok()) return memory.status();
  std::unique_ptr<ControlSegment> segment(new ControlSegment(*memory, bytes, ranks));
  const Header& header = segment->header();
  if (header.magic != segment_magic || header.ranks != static_cast<std::uint64_t>(ranks) || header.nonce != nonce)
    return Status(Code::remote_error, "the control memory of this host belongs to another communicator");
  return segment;
}

ControlSegment::~ControlSegment() { ::munmap(memory_, bytes_); }

void ControlSegment::publish(Rank rank, const CallRecord& record) {
  RankCell& mine = cell(rank);
  RecordCell& slot = mine.records[record.sequence % records_kept];
  // Release throughout: who sees a new field also sees that the number was taken away before it.
  slot.sequence.store(0, std::memory_order_relaxed);
  slot.count.store(record.count, std::memory_order_release);
  slot.what.store(pack(record), std::memory_order_release);
  slot.sequence.store(record.sequence, std::memory_order_release);
  mine.last_sequence.store(record.sequence, std::memory_order_release);
}

std::optional<CallRecord> ControlSegment::record_of(Rank rank, std::uint64_t sequence) const {
  if (rank < 0 || rank >= ranks_ || sequence == 0) return std::nullopt;
  const RecordCell& slot = cell(rank).records[sequence % records_kept];
  if (slot.sequence.load(std::memory_order_acquire) != sequence) return std::nullopt;
  CallRecord record;
  record.sequence = sequence;
  record.count = slot.count.load(std::memory_order_acquire);
  unpack(slot.what.load(std::memory_order_acquire), record);
  if (slot.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
  return record;
}

std::uint64_t ControlSegment::last_sequence(Rank rank) const {
  return rank < 0 || rank >= ranks_ ? 0 : cell(rank).last_sequence.load(std::memory_order_acquire);
}

Presence ControlSegment::presence(Rank rank) const {
  if (rank < 0 || rank >= ranks_) return Presence::absent;
  return static_cast<Presence>(cell(rank).presence.load(std::memory_order_acquire));
}

void ControlSegment::set_presence(Rank rank, Presence presence) {
  cell(rank).presence.store(static_cast<std::uint32_t>(presence), std::memory_order_release);
}

bool ControlSegment::change_if_here(Rank rank, Presence presence) {
  auto here = static_cast<std::uint32_t>(Presence::here);
  return cell(rank).presence.compare_exchange_strong(here, static_cast<std::uint32_t>(presence), std::memory_order_acq_rel);
}

bool ControlSegment::failed() const noexcept { return (header().error.state.load(std::memory_order_acquire) & phase_mask) == written; }

Status ControlSegment::error() const { return read(header().error); }
Status ControlSegment::proposal() const { return read(header().proposal); }
bool ControlSegment::raise(const Status& status, Rank raiser) { return write(header().error, status, raiser); }
bool ControlSegment::propose(const Status& status, Rank raiser) { return write(header().proposal, status, raiser); }

Status ControlSegment::read(const Board& board) {
  if ((board.state.load(std::memory_order_acquire) & phase_mask) != written) return {};
  const auto length = std::min<std::size_t>(board.length, error_text_bytes);
  return {static_cast<Code>(board.code), std::string(board.text, length)};
}

bool ControlSegment::write(Board& board, const Status& status, Rank raiser) const {
  std::uint32_t state = board.state.load(std::memory_order_acquire);
  if ((state & phase_mask) == written || status.ok()) return false;
  if ((state & phase_mask) == writing) {
    const auto claimant = static_cast<Rank>(state >> 2) - 1;
    if (presence(claimant) != Presence::dead) return false;  // about to be written, within a microsecond
  }
  if (!board.state.compare_exchange_strong(state, claim(raiser, writing), std::memory_order_acq_rel)) return false;
  const std::string_view text = status.text();
  const std::size_t length = std::min(text.size(), error_text_bytes);
  std::memcpy(board.text, text.data(), length);
  if (length < text.size()) std::memcpy(board.text + length - 3, "...", 3);
  board.length = static_cast<std::uint32_t>(length);
  board.code = static_cast<std::int32_t>(status.code());
  board.state.store(claim(raiser, written), std::memory_order_release);
  return true;
}

}  // namespace toric
