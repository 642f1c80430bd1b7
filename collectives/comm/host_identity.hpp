// Who may share memory with whom. The identity is only a first guess, which the meeting then tries with a real descriptor.
#pragma once

#include <cstdint>
#include <string>

namespace toric {

struct HostIdentity {
  std::string name;             // for texts
  std::string key;              // ranks with equal keys may try to share memory
  std::uint64_t machine = 0;    // the same whatever the override: equal ones reach each other over loopback
  std::uint64_t pid_space = 0;  // process numbers mean the same among equal ones; 0: unknown
};

/// Descriptors are passed over abstract Unix sockets, which exist per network namespace: boot and network namespace make
/// the key. A non-empty `override_key` replaces it.
[[nodiscard]] HostIdentity host_identity(const std::string& override_key);

/// Differs between processes, even of one parent; the same for all threads of one.
[[nodiscard]] std::uint64_t process_token();

/// Unpredictable bits; never 0.
[[nodiscard]] std::uint64_t random_bits();

}  // namespace toric
