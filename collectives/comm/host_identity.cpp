#include "toric/comm/host_identity.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>

namespace toric {
namespace {

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash = (hash ^ (hash >> 31)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

constexpr std::uint64_t seed = 0xcbf29ce484222325ULL;

/// "device:inode" of a namespace of this process; empty when it cannot be read.
std::string namespace_id(const char* path) {
  struct stat about {};
  if (::stat(path, &about) != 0) return {};
  return fmt::format("{}:{}", about.st_dev, about.st_ino);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unnamed host";
  return name.data();
}

}  // namespace

HostIdentity host_identity(const std::string& override_key) {
  HostIdentity identity;
  identity.name = host_name();
  const std::string boot = boot_id();
  const std::string network = namespace_id("/proc/self/ns/net");
  // Without a boot id the host's name stands in; a wrong guess is found out when a descriptor is passed.
  identity.machine = mix(mix(seed, boot.empty() ? identity.name : boot), network);
  if (const std::string processes = namespace_id("/proc/self/ns/pid"); !processes.empty())
    identity.pid_space = mix(mix(seed, boot), processes) | 1;
  identity.key = override_key.empty() ? fmt::format("machine {:016x}", identity.machine) : "named " + override_key;
  if (!override_key.empty()) identity.name += "/" + override_key;
  return identity;
}

std::uint64_t process_token() {
  std::string text = boot_id() + namespace_id("/proc/self/ns/pid") + std::to_string(::getpid());
  if (const auto* random = reinterpret_cast<const char*>(::getauxval(AT_RANDOM))) text.append(random, 16);
  return mix(seed, text) | 1;
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (bits == 0) {
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
      const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
      bits = mix(mix(seed, std::to_string(now)), std::to_string(::getpid()));
    }
  }
  return bits;
}

}  // namespace toric
