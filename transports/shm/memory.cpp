#include "toric/shm/memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace toric::shm {

namespace {

std::optional<std::size_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // absent, or "max"
}

std::optional<std::size_t> host_available(const std::string& proc) {
  std::ifstream file(proc + "/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kibibytes = 0;
    if (words >> name >> kibibytes && name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

/// The unified group of this process, "/" when it is not told.
std::string own_group(const std::string& proc) {
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  return "/";
}

/// What the group counts as used but would give up before anyone is refused: clean file pages.
std::size_t reclaimable(const std::string& folder) {
  std::ifstream file(folder + "/memory.stat");
  std::string name;
  for (std::size_t value = 0; file >> name >> value;)
    if (name == "inactive_file") return value;
  return 0;
}

void consider_group(const std::string& folder, Available& least) {
  const auto limit = read_number(folder + "/memory.max");
  const auto used = read_number(folder + "/memory.current");
  if (!limit || !used) return;
  const std::size_t held = *used - std::min(*used, reclaimable(folder));
  const std::size_t left = *limit - std::min(*limit, held);
  if (left < least.bytes) least = {left, folder + "/memory.max"};
}

}  // namespace

Available available_memory(const std::string& proc, const std::string& groups) {
  Available least{std::numeric_limits<std::size_t>::max(), "nothing"};
  if (const auto host = host_available(proc)) least = {*host, "MemAvailable of the host"};
  // Every group up to the root may have a limit of its own.
  for (std::string group = own_group(proc);;) {
    consider_group(groups + (group == "/" ? "" : group), least);
    const std::size_t slash = group.rfind('/');
    if (group.size() <= 1 || slash == std::string::npos) break;
    group = slash == 0 ? "/" : group.substr(0, slash);
  }
  return least;
}

}  // namespace toric::shm
