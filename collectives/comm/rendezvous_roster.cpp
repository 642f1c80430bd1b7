#include "toric/comm/rendezvous_roster.hpp"

#include "toric/comm/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace toric {

namespace {
constexpr Rank most_ranks = 1 << 20;
}

bool Roster::is_ours(const Hello& hello, std::uint16_t protocol) const {
  if (hello.ranks < 1 || hello.ranks > most_ranks || hello.rank < 0 || hello.rank >= hello.ranks) return false;
  return protocol != protocol_version || hello.nonce == (nonce_known_ ? nonce_ : Nonce{});
}

Status Roster::admit(const Hello& hello, std::uint16_t protocol) {
  const auto first = std::find_if(places_.begin(), places_.end(), [](const Place& place) { return place.hello.has_value(); });
  const bool alone = first == places_.end();
  if (protocol != protocol_version) {
    const std::string other = alone ? "the maker of the meeting" : first->hello->who();
    return {Code::invalid_usage,
            fmt::format("{} speaks protocol {} ({}), {} speaks protocol {} ({}); use the same version of Toric everywhere", hello.who(),
                        protocol, hello.build, other, protocol_version, own_build())};
  }
  if (hello.endianness != own_endianness())
    return {Code::invalid_usage,
            fmt::format("{} has another byte order than the maker of the meeting; use machines of one kind", hello.who())};
  if (!alone && static_cast<std::size_t>(hello.ranks) != places_.size())
    return {Code::invalid_usage, fmt::format("{} says that there are {} ranks, {} says {}; give every rank the same number", hello.who(),
                                             hello.ranks, first->hello->who(), places_.size())};
  if (places_.empty()) places_.resize(static_cast<std::size_t>(hello.ranks));
  Place& place = places_[static_cast<std::size_t>(hello.rank)];
  if (place.hello && place.hello->member_token != hello.member_token)
    return {Code::invalid_usage,
            fmt::format("two came as rank {}: {} and {}; give every rank its own number", hello.rank, place.hello->who(), hello.who())};
  place.hello = hello;
  return {};
}

void Roster::count_refused(const Hello& hello) {
  const auto index = static_cast<std::size_t>(hello.rank);
  if (index < places_.size()) places_[index].refused = true;
}

void Roster::forget(Rank rank) { places_[static_cast<std::size_t>(rank)].hello.reset(); }

std::size_t Roster::came() const {
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.hello.has_value(); }));
}

std::size_t Roster::missing_count() const {
  if (places_.empty()) return 1;
  return static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& place) { return !place.hello && !place.refused; }));
}

std::string Roster::describe_missing() const {
  std::vector<Rank> missing, joining;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].hello) missing.push_back(static_cast<Rank>(i));
    if (places_[i].hello && !places_[i].joined) joining.push_back(static_cast<Rank>(i));
  }
  if (missing.empty())
    return fmt::format("all {} ranks have come, but of ranks {} it is not known yet who shares memory; look at their logs", places_.size(),
                       describe_ranks(joining));
  return fmt::format(
      "{} of {} ranks have come, missing: ranks {}; are they running, were they given this id or address, and can they reach it?",
      places_.size() - missing.size(), places_.size(), describe_ranks(missing));
}

std::string Roster::who(Rank rank) const {
  const auto& hello = places_[static_cast<std::size_t>(rank)].hello;
  return hello ? hello->who() : fmt::format("rank {}", rank);
}

std::vector<Rank> Roster::group_of(Rank rank) const {
  const std::string& key = places_[static_cast<std::size_t>(rank)].hello->host_key;
  std::vector<Rank> group;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (places_[i].hello->host_key == key) group.push_back(static_cast<Rank>(i));
  return group;
}

std::vector<Rank> Roster::leaders() const {
  std::set<std::string> seen;
  std::vector<Rank> leaders;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (seen.insert(places_[i].hello->host_key).second) leaders.push_back(static_cast<Rank>(i));
  return leaders;
}

Assign Roster::assignment_of(Rank rank) const {
  Assign assign;
  assign.round = round_;
  assign.nonce = nonce_;
  assign.hosts = static_cast<std::uint32_t>(leaders().size());
  assign.local_ranks = group_of(rank);
  assign.leader_name = places_[static_cast<std::size_t>(assign.local_ranks.front())].hello->local_name;
  return assign;
}

void Roster::note_joined(Rank rank, const Joined& joined) {
  if (joined.round == round_) places_[static_cast<std::size_t>(rank)].joined = joined;
}

bool Roster::round_complete() const {
  return std::all_of(places_.begin(), places_.end(), [](const Place& place) { return place.joined.has_value(); });
}

bool Roster::regroup() {
  bool again = false;
  for (Place& place : places_) {
    if (place.joined->why_not.empty()) continue;
    log(LogLevel::warn, fmt::format("{} does not share memory with the ranks of its host ({}); it is taken for another host",
                                    place.hello->who(), place.joined->why_not));
    place.hello->host_key += fmt::format(" part {}", round_ + 1);
    again = true;
  }
  if (!again) return false;
  ++round_;
  for (Place& place : places_) place.joined.reset();
  return true;
}

Start Roster::table() const {
  Start start;
  start.capabilities = own_capabilities;
  const std::vector<Rank> first = leaders();
  start.members.resize(places_.size());
  for (const Rank leader : first) {
    const Place& place = places_[static_cast<std::size_t>(leader)];
    for (const Rank rank : group_of(leader))
      start.members[static_cast<std::size_t>(rank)].host = static_cast<std::uint32_t>(start.hosts.size());
    start.hosts.push_back({place.hello->host, leader, place.hello->machine, place.joined->port, place.joined->addresses});
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Hello& hello = *places_[i].hello;
    start.capabilities &= hello.capabilities;
    start.members[i].process = hello.process;
    start.members[i].process_token = hello.process_token;
    start.members[i].pid_space = hello.pid_space;
  }
  return start;
}

}  // namespace toric
