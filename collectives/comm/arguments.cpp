#include "toric/comm/arguments.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace toric {
namespace {

template <typename... Values>
[[gnu::cold, gnu::noinline]] Status refuse(const char* function, fmt::format_string<Values...> text, Values&&... values) {
  return {Code::invalid_argument, fmt::format("{}: {}", function, fmt::format(text, std::forward<Values>(values)...))};
}

Status check_op(const RawCall& raw, Communicator& communicator, CollectiveCall& call) {
  if (raw.op >= 0 && raw.op <= static_cast<int>(RedOp::avg)) {
    call.op = static_cast<RedOp>(raw.op);
    return {};
  }
  const Operators::PreMulSum* made = communicator.operators().find(raw.op);
  if (made == nullptr)
    return refuse(raw.function,
                  "op {} is no reduction operator: pass toricSum, toricProd, toricMax, toricMin, toricAvg or one made by "
                  "toricRedOpCreatePreMulSum on this communicator",
                  raw.op);
  if (made->type != call.type)
    return refuse(raw.function, "op {} was made for {}, but datatype is {}: make one operator a type", raw.op, name_of(made->type),
                  name_of(call.type));
  call.op = RedOp::pre_mul_sum;
  call.factor = made->factor;
  call.late_factor = made->late_factor;
  return {};
}

/// The bytes of both buffers, or a count that no memory can hold.
Status check_sizes(const RawCall& raw, const Communicator& communicator, DataType type, std::size_t& block, std::size_t& whole) {
  const bool overflow = __builtin_mul_overflow(raw.count, size_of(type), &block) ||
                        __builtin_mul_overflow(block, static_cast<std::size_t>(has_blocks(raw.what) ? communicator.ranks() : 1), &whole);
  if (overflow || whole > static_cast<std::size_t>(PTRDIFF_MAX))
    return refuse(raw.function, "count {} of {} on {} ranks is more bytes than memory can hold: was a negative number passed?", raw.count,
                  name_of(type), communicator.ranks());
  return {};
}

struct Region {
  const void* begin;
  std::size_t bytes;
  [[nodiscard]] std::uintptr_t first() const { return reinterpret_cast<std::uintptr_t>(begin); }
  [[nodiscard]] bool apart_from(const Region& other) const {
    return first() + bytes <= other.first() || other.first() + other.bytes <= first();
  }
};

Status check_overlap(const RawCall& raw, const Communicator& communicator, std::size_t block, std::size_t whole) {
  const std::size_t offset = static_cast<std::size_t>(communicator.rank()) * block;
  const bool gathers = raw.what == Collective::all_gather, scatters = raw.what == Collective::reduce_scatter;
  const Region send{raw.send, scatters ? whole : block}, receive{raw.receive, gathers ? whole : block};
  const std::uintptr_t in_place_send = receive.first() + (gathers ? offset : 0), sent_from = send.first() + (scatters ? offset : 0);
  if (sent_from == in_place_send || send.apart_from(receive)) return {};
  return refuse(raw.function, "sendbuff and recvbuff overlap without being in place: pass {}, or buffers that are apart",
                gathers    ? "sendbuff = recvbuff + rank*sendcount"
                : scatters ? "recvbuff = sendbuff + rank*recvcount"
                           : "the same pointer twice");
}

Status check_buffers(const RawCall& raw, const Communicator& communicator, std::size_t block, std::size_t whole) {
  const bool sends = raw.what != Collective::broadcast || raw.root == communicator.rank();
  if (raw.receive == nullptr) return refuse(raw.function, "recvbuff is NULL, but count is {}", raw.count);
  if (!sends) return {};
  if (raw.send == nullptr) return refuse(raw.function, "sendbuff is NULL, but count is {}", raw.count);
  return check_overlap(raw, communicator, block, whole);
}

}  // namespace

Status check_type(const char* function, int number, DataType& type) {
  if (number < 0 || number >= data_type_count) return refuse(function, "datatype {} is none: pass a toricDataType_t", number);
  type = static_cast<DataType>(number);
  return {};
}

Status check_call(const RawCall& raw, Communicator& communicator, CollectiveCall& call) {
  if (raw.stream != nullptr)
    return refuse(raw.function,
                  "stream is not NULL, but this communicator is over host memory: pass NULL, the call returns when the result is there");
  call.what = raw.what;
  if (raw.what == Collective::barrier) return {};
  TORIC_TRY(check_type(raw.function, raw.type, call.type));
  if (is_reduction(raw.what)) TORIC_TRY(check_op(raw, communicator, call));
  if (is_rooted(raw.what)) {
    if (raw.root < 0 || raw.root >= communicator.ranks())
      return refuse(raw.function, "root {} is not a rank: there are 0 to {}", raw.root, communicator.ranks() - 1);
    call.root = raw.root;
  }
  std::size_t block = 0, whole = 0;
  TORIC_TRY(check_sizes(raw, communicator, call.type, block, whole));
  if (raw.count != 0) TORIC_TRY(check_buffers(raw, communicator, block, whole));
  call.count = raw.count;
  call.send = raw.send;
  call.receive = raw.receive;
  return {};
}

}  // namespace toric
