#include "toric/transports/registry.hpp"

#include "toric/local/local.hpp"
#include "toric/shm/shm.hpp"

#include <array>

namespace toric {

namespace {

std::string why_not_local(const TransportScope& scope) {
  return scope.one_process ? "" : "local joins threads of one process, and these ranks are in several";
}

std::string why_not_shm(const TransportScope& scope) {
  return scope.one_host || scope.one_process ? ""
                                             : "shm joins processes of one host, and these ranks are on several or do not share memory";
}

}  // namespace

std::span<const TransportEntry> transports() {
  static constexpr std::array<TransportEntry, 2> entries = {{
      {"local", why_not_local, make_local},
      {"shm", why_not_shm, make_shm},
  }};
  return entries;
}

}  // namespace toric
