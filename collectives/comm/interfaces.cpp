#include "toric/comm/interfaces.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

namespace toric {
namespace {

class Wish {
 public:
  explicit Wish(std::string_view text) {
    if (!text.empty() && text.front() == '^') {
      excludes_ = true;
      text.remove_prefix(1);
    }
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      std::string_view name = text.substr(0, comma);
      text.remove_prefix(std::min(comma + 1, text.size()));
      const bool exact = !name.empty() && name.front() == '=';
      if (exact) name.remove_prefix(1);
      if (!name.empty()) names_.push_back({std::string(name), exact});
    }
  }
  [[nodiscard]] bool includes() const { return !names_.empty() && !excludes_; }
  [[nodiscard]] bool allows(const std::string& interface) const {
    const bool named = std::any_of(names_.begin(), names_.end(), [&](const Name& name) {
      return name.exact ? interface == name.text : interface.compare(0, name.text.size(), name.text) == 0;
    });
    return names_.empty() || named != excludes_;
  }

 private:
  struct Name {
    std::string text;
    bool exact;
  };
  std::vector<Name> names_;
  bool excludes_ = false;
};

/// Made by container engines, hypervisors and private networks: often the same address on every host, or no way between hosts.
bool is_virtual(std::string_view name) {
  constexpr std::array<std::string_view, 16> prefixes = {"docker", "br-",  "veth", "virbr",     "cni", "flannel", "cali",   "lxc",
                                                         "lxd",    "vnet", "tun",  "tailscale", "wg",  "kube",    "podman", "tap"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

enum class Rating : int { good, second_choice, loopback, unusable };

std::pair<Rating, std::string_view> rate(const InterfaceAddress& candidate, const Wish& wish) {
  if (!wish.allows(candidate.name)) return {Rating::unusable, "not asked for"};
  if (!candidate.up) return {Rating::unusable, "down"};
  if (candidate.address.is_link_local()) return {Rating::unusable, "link-local"};
  if (wish.includes()) return {Rating::good, "asked for"};
  if (candidate.address.is_loopback()) return {Rating::loopback, "loopback"};
  if (is_virtual(candidate.name)) return {Rating::second_choice, "virtual"};
  return {Rating::good, ""};
}

std::string describe(const InterfaceAddress& candidate, std::string_view why) {
  return fmt::format("{} {}{}", candidate.name, candidate.address.text(), why.empty() ? "" : fmt::format(" ({})", why));
}

}  // namespace

Result<AddressChoice> choose_addresses(const std::vector<InterfaceAddress>& available, const std::string& wish_text) {
  const Wish wish(wish_text);
  Rating best = Rating::unusable;
  for (const InterfaceAddress& candidate : available) best = std::min(best, rate(candidate, wish).first);
  AddressChoice choice;
  std::string taken, left;
  for (const InterfaceAddress& candidate : available) {
    const auto [rating, why] = rate(candidate, wish);
    std::string& list = rating == best && best != Rating::unusable ? taken : left;
    list += (list.empty() ? "" : ", ") + describe(candidate, why);
    if (&list == &taken) choice.addresses.push_back(candidate.address);
  }
  if (choice.addresses.empty())
    return Status(Code::invalid_argument, fmt::format("no network interface fits '{}'; there are: {}; name one of them, or a prefix",
                                                      wish_text, left.empty() ? "none" : left));
  choice.reason = "uses " + taken + (left.empty() ? "" : "; not " + left);
  return choice;
}

Result<std::vector<InterfaceAddress>> list_interfaces() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return system_failure("list network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const auto length = static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    const bool up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
    found.push_back({entry->ifa_name, up, SocketAddress(entry->ifa_addr, length)});
  }
  return found;
}

}  // namespace toric
