// Who has come to a meeting, whether they fit together, and how they are grouped by host. Knows no socket.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/rendezvous_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace toric {

class Roster {
 public:
  Roster(const Nonce& nonce, bool nonce_known) : nonce_(nonce), nonce_known_(nonce_known) {}

  /// False for those who came to the wrong meeting. Other protocol versions are let through, to be told so.
  [[nodiscard]] bool is_ours(const Hello& hello, std::uint16_t protocol) const;
  /// Notes a rank, or says (naming both sides) why these ranks cannot form a communicator.
  Status admit(const Hello& hello, std::uint16_t protocol);
  /// After a failure: this rank has come too, and knows.
  void count_refused(const Hello& hello);
  void forget(Rank rank);

  [[nodiscard]] std::size_t came() const;
  /// 0 only when everyone has come.
  [[nodiscard]] std::size_t missing_count() const;
  [[nodiscard]] std::string describe_missing() const;
  [[nodiscard]] std::string who(Rank rank) const;

  [[nodiscard]] Assign assignment_of(Rank rank) const;
  void note_joined(Rank rank, const Joined& joined);
  [[nodiscard]] bool round_complete() const;
  /// Ranks that could not reach their leader form hosts of their own and a new round begins: true when there were any.
  bool regroup();
  [[nodiscard]] Start table() const;

 private:
  [[nodiscard]] std::vector<Rank> leaders() const;
  [[nodiscard]] std::vector<Rank> group_of(Rank rank) const;
  struct Place {
    std::optional<Hello> hello;
    std::optional<Joined> joined;
    bool refused = false;
  };
  Nonce nonce_;
  bool nonce_known_;
  std::uint32_t round_ = 0;
  std::vector<Place> places_;  // by rank; empty until the first rank says how many there are
};

}  // namespace toric
