// Pairing: the n-th send meets the n-th receive of the same (from, to, channel), and both name the same data.
#include "toric/check/proof.hpp"

#include <bit>

namespace toric::check {

namespace {

// The sends and receives of one (from, to, channel) as chains of steps in program order.
struct PortChain {
  std::uint64_t key;
  std::uint32_t first_send = none, last_send = none, sends = 0;
  std::uint32_t first_receive = none, last_receive = none, receives = 0;
};

std::uint64_t key_of(std::uint32_t from, std::uint32_t to, std::uint16_t channel) {
  return (std::uint64_t{from} << 40) | (std::uint64_t{to} << 16) | channel;
}

class PortTable {
 public:
  explicit PortTable(std::uint32_t steps) : slots_(std::bit_ceil(std::size_t{steps} * 2 + 2), none), next_(steps, none) {}

  void add(std::uint32_t id, std::uint64_t key, bool send) {
    PortChain& port = find(key);
    std::uint32_t& last = send ? port.last_send : port.last_receive;
    if (last == none)
      (send ? port.first_send : port.first_receive) = id;
    else
      next_[last] = id;
    last = id;
    ++(send ? port.sends : port.receives);
  }
  [[nodiscard]] const std::vector<PortChain>& ports() const { return ports_; }
  [[nodiscard]] std::uint32_t after(std::uint32_t id) const { return next_[id]; }

 private:
  PortChain& find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = (key * 0x9e3779b97f4a7c15u) >> 20 & mask;; at = (at + 1) & mask) {
      if (slots_[at] == none) {
        slots_[at] = static_cast<std::uint32_t>(ports_.size());
        return ports_.emplace_back(PortChain{.key = key});
      }
      if (ports_[slots_[at]].key == key) return ports_[slots_[at]];
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> next_;
  std::vector<PortChain> ports_;
};

PortTable collect(const Index& index) {
  PortTable table(index.steps());
  for (std::uint32_t id = 0; id < index.steps(); ++id) {
    const Step& step = index.step(id);
    if (is_local(step.op)) continue;
    const std::uint32_t own = index.rank[id], peer = static_cast<std::uint32_t>(step.peer);
    const bool send = is_send(step.op);
    table.add(id, send ? key_of(own, peer, step.channel) : key_of(peer, own, step.channel), send);
  }
  return table;
}

Verdict check_ends(const Index& index, const Message& message, std::uint32_t nth) {
  const Schedule& s = *index.schedule;
  const Step &send = index.step(message.send), &receive = index.step(message.receive);
  const std::uint32_t sent = data_first(send, s.chunks), received = data_first(receive, s.chunks);
  if (send.count == receive.count && sent == received) return {};
  const auto run = [](std::uint32_t first, std::uint32_t count) {
    return "chunk " + std::to_string(first) + " (" + std::to_string(count) + " in all)";
  };
  return {Fault::data, "message " + std::to_string(nth) + ": " + describe(index, message.send) + " sends " + run(sent, send.count) +
                           " but " + describe(index, message.receive) + " expects " + run(received, receive.count)};
}

Verdict report_unpaired(const Index& index, const PortTable& table, const PortChain& port) {
  const bool more_sends = port.sends > port.receives;
  std::uint32_t id = more_sends ? port.first_send : port.first_receive;
  for (std::uint32_t skip = more_sends ? port.receives : port.sends; skip > 0; --skip) id = table.after(id);
  return {Fault::pairing, describe(index, id) + " of chunk " + std::to_string(data_first(index.step(id), index.schedule->chunks)) +
                              " has no " + (more_sends ? "receive" : "send") + " at the other end (" + std::to_string(port.sends) +
                              " sends, " + std::to_string(port.receives) + " receives on that channel)"};
}

}  // namespace

Verdict pair_messages(Index& index) {
  const PortTable table = collect(index);
  index.messages.reserve(index.steps() / 2);
  for (const PortChain& port : table.ports()) {
    if (port.sends != port.receives) return report_unpaired(index, table, port);
    const auto first = static_cast<std::uint32_t>(index.messages.size());
    std::uint32_t send = port.first_send, receive = port.first_receive;
    for (std::uint32_t nth = 0; nth < port.sends; ++nth, send = table.after(send), receive = table.after(receive)) {
      const Message message{send, receive, first, index.payload_chunks};
      if (Verdict verdict = check_ends(index, message, nth); !verdict.ok()) return verdict;
      index.message[send] = index.message[receive] = first + nth;
      index.payload_chunks += index.step(send).count;
      index.messages.push_back(message);
    }
  }
  return {};
}

}  // namespace toric::check
