#include "toric/comm/control_directory.hpp"

#include <fmt/format.h>

namespace toric {

std::string Directory::who(Rank peer) const {
  const MemberInfo& member = of(peer);
  return fmt::format("rank {} ({}, pid {})", peer, member.host, member.process);
}

Status Directory::death_of(Rank peer, const std::optional<CallRecord>& last) const {
  // The end of another host's leader is seen from several hosts, whose knowledge of its last call differs.
  const bool seen_from_afar = hosts.size() > 1 && hosts[of(peer).host_index].leader == peer;
  std::string where;
  if (!seen_from_afar)
    where = last ? fmt::format(" in or after {} #{}", name_of(last->collective), last->sequence) : " before its first call";
  return {Code::remote_error, fmt::format("{}{} has died{}; look at its log, and start the job again, without it if need be",
                                          name.empty() ? "" : "communicator '" + name + "': ", who(peer), where)};
}

Directory make_directory(Rank rank, const Nonce& nonce, std::string name, Start table) {
  Directory directory;
  directory.rank = rank;
  directory.nonce = nonce;
  directory.name = std::move(name);
  directory.hosts = std::move(table.hosts);
  for (std::size_t i = 0; i < table.members.size(); ++i) {
    const MemberEntry& entry = table.members[i];
    MemberInfo member;
    member.rank = static_cast<Rank>(i);
    member.host = directory.hosts[entry.host].name;
    member.host_index = entry.host;
    member.process = entry.process;
    member.process_token = entry.process_token;
    directory.members.push_back(std::move(member));
    directory.pid_spaces.push_back(entry.pid_space);
  }
  for (const MemberInfo& member : directory.members)
    if (member.host_index == directory.host()) directory.local.push_back(member.rank);
  return directory;
}

}  // namespace toric
