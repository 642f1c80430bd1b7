#include "toric/ring/ring_transport.hpp"

#include <charconv>

namespace toric::ring {

namespace {

std::uint64_t key(Rank peer, std::uint16_t channel) { return std::uint64_t{static_cast<std::uint32_t>(peer)} << 16 | channel; }

std::string hexadecimal(std::uint64_t value) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  return "0x" + std::string(text, end);
}

}  // namespace

RingTransport::RingTransport(std::unique_ptr<RingSpace> space, Rank rank, Rank ranks)
    : segment_bytes_(space->shape().segment_bytes),
      space_(std::move(space)),
      sleeper_(space_->bell(rank), space_->across_processes()),
      rank_(rank),
      ranks_(ranks) {}

Result<std::byte*> RingTransport::memory(Rank from, Rank to, Rank peer, std::uint16_t channel) {
  if (peer < 0 || peer >= ranks_)
    return Status(Code::invalid_argument, std::string(name()) + " transport, rank " + std::to_string(rank_) + ": there is no rank " +
                                              std::to_string(peer) + "; peers are 0 to " + std::to_string(ranks_ - 1));
  return space_->ring(from, to, channel);
}

Result<Port> RingTransport::out(Rank to, std::uint16_t channel) {
  if (const auto known = out_.ports.find(key(to, channel)); known != out_.ports.end()) return known->second;
  const Result<std::byte*> ring = memory(rank_, to, to, channel);
  if (!ring) return ring.status();
  const Port port = static_cast<Port>(outs_.size() << 1);
  outs_.emplace_back(*ring, space_->shape(), space_->bell(to));
  out_.ends.push_back({to, channel});
  out_.ports.emplace(key(to, channel), port);
  return port;
}

Result<Port> RingTransport::in(Rank from, std::uint16_t channel) {
  if (const auto known = in_.ports.find(key(from, channel)); known != in_.ports.end()) return known->second;
  const Result<std::byte*> ring = memory(from, rank_, from, channel);
  if (!ring) return ring.status();
  const Port port = static_cast<Port>(ins_.size() << 1 | 1);
  ins_.emplace_back(*ring, space_->shape(), space_->bell(from));
  in_.ends.push_back({from, channel});
  in_.ports.emplace(key(from, channel), port);
  return port;
}

std::byte* RingTransport::reserve(Port out, std::size_t bytes) {
  if (has_failed_) [[unlikely]]
    return nullptr;
  if (!fits(bytes)) [[unlikely]] {
    fail_size("reserve", out_.ends[place(out)], bytes);
    return nullptr;
  }
  return outs_[place(out)].reserve(bytes);
}

void RingTransport::commit(Port out, std::size_t bytes, Store how, std::uint32_t) {
  OutRing& ring = outs_[place(out)];
  ring.commit(bytes, how, stamp_);
  tell_later(ring.bell());
}

const std::byte* RingTransport::peek(Port in, std::size_t bytes) {
  if (has_failed_) [[unlikely]]
    return nullptr;
  if (!fits(bytes)) [[unlikely]] {
    fail_size("peek", in_.ends[place(in)], bytes);
    return nullptr;
  }
  InRing& ring = ins_[place(in)];
  const std::byte* view = ring.peek(bytes, stamp_);
  if (view != nullptr || !ring.suspicious()) return view;
  return peek_unexpected(in, bytes);
}

const std::byte* RingTransport::peek_unexpected(Port port, std::size_t bytes) {
  InRing::Found found{};
  if (!ins_[place(port)].unexpected(bytes, found)) return nullptr;
  if (found.bytes == bytes && found.signature == stamp_) return ins_[place(port)].peek(bytes, stamp_);  // it has come meanwhile
  const End& end = in_.ends[place(port)];
  const std::string where = "the segment from rank " + std::to_string(end.peer) + " on channel " + std::to_string(end.channel);
  if (found.signature != stamp_) {
    mismatch_ = Mismatch{end.peer, stamp_, found.signature};
    fail(Code::invalid_usage, where + " belongs to another call (signature " + hexadecimal(found.signature) + ", here " +
                                  hexadecimal(stamp_) + "); make the same calls in the same order with equal arguments on all ranks");
  } else {
    fail(Code::invalid_usage, where + " has " + std::to_string(found.bytes) + " bytes where " + std::to_string(bytes) +
                                  " were expected; make the same call with the same count, type and algorithm on both ranks");
  }
  return nullptr;
}

void RingTransport::release(Port in, std::size_t bytes) {
  InRing& ring = ins_[place(in)];
  ring.release(bytes);
  tell_later(ring.bell());
}

void RingTransport::tell_later(Doorbell& bell) {
  if (untold_ > 0 && untold_bells_[untold_ - 1] == &bell) return;
  if (untold_ == untold_bells_.size()) flush();
  untold_bells_[untold_++] = &bell;
}

void RingTransport::flush() {
  if (untold_ == 0) return;
  full_fence(untold_bells_[0]->waiting);
  for (std::size_t i = 0; i < untold_; ++i) untold_bells_[i]->ring(space_->across_processes());
  untold_ = 0;
}

void RingTransport::arm() {
  flush();
  sleeper_.arm();
}

Store RingTransport::store_for(Port out, std::size_t bytes) { return outs_[place(out)].store_for(bytes); }

void RingTransport::observe(Port port, Store how, float cycles_per_byte) {
  if ((port & 1) != 0) {
    ins_[place(port)].observe(cycles_per_byte);
  } else {
    outs_[place(port)].observe(how, cycles_per_byte);
  }
}

void RingTransport::wake(Rank rank) {
  if (rank < 0 || rank >= ranks_) return;
  // Ringing is not preceded by a change in a ring that carries the fence, and waking needs none: whoever has not armed
  // yet looks at what the caller changed before waking after arming.
  space_->bell(rank).wake(space_->across_processes());
}

void RingTransport::fail(Code code, const std::string& what) {
  if (has_failed_) return;
  failure_ = Status(code, std::string(name()) + " transport, rank " + std::to_string(rank_) + ": " + what);
  has_failed_ = true;
}

void RingTransport::fail_size(std::string_view call, const End& end, std::size_t bytes) {
  fail(Code::internal_error, std::string(call) + " of " + std::to_string(bytes) + " bytes, peer " + std::to_string(end.peer) +
                                 ", channel " + std::to_string(end.channel) + ": a segment has 1 to " + std::to_string(segment_bytes_) +
                                 " bytes; cut the transfer into segments of segment_bytes()");
}

}  // namespace toric::ring
