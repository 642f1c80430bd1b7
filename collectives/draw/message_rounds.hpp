// The messages of a schedule, and their order.
#pragma once

#include "toric/ir/schedule.hpp"

#include <cstdint>
#include <vector>

namespace toric {

struct Message {
  Rank from = 0, to = 0;
  std::uint16_t channel = 0;
  std::uint32_t send = 0, receive = 0;  // indices into the programs of both
  std::uint32_t first = 0, count = 0;   // data chunks
  bool reduces = false;                 // the receiver adds it to what it has
  int round = 0;                        // from 1: messages in the longest chain that ends with this one
};

struct MessageRounds {
  std::vector<Message> messages;  // by round, then sender, then step
  int rounds = 0;
  std::uint32_t unplaced = 0;  // sends and receives without a partner, or that wait for ever
};

/// A message comes after another if its send or its receive waits for it, by a dependency or as a later step of one lane,
/// directly or by other steps. What a schedule that is not well formed (check_structure) holds is not looked at: no messages.
[[nodiscard]] MessageRounds message_rounds(const Schedule& schedule);

}  // namespace toric
