// Settings: the only part of Toric that reads the environment. Every setting has a name, a default, a meaning, and one
// value in force with its source; `toric env` prints exactly these.
#pragma once

#include "toric/base.hpp"
#include "toric/comm/log.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace toric {

struct Config {
  double timeout_seconds = 1800;      // of a call whose peers are late; 0: never
  double init_timeout_seconds = 120;  // of the whole start
  std::string algorithm;              // wish in selection's grammar; rank 0's counts
  LogLevel log_level = LogLevel::warn;
  std::string log_file;
  std::string host_id;
  std::string interface;
  std::uint16_t port = 0;
  std::size_t memory_bytes = std::size_t{1} << 30;  // rings of one host; rank 0's counts
  std::size_t segment_bytes = 64 * 1024;            // rank 0's counts
  std::size_t window_bytes = 0;                     // 0: chosen for each plan; SIZE_MAX: never; rank 0's counts
};

struct ConfigReading {
  Config config;   // a setting that cannot be used has its default here
  Status problem;  // names every such setting, what it holds, and what it takes
};

/// Reads the environment anew. Unusable values are reported, not guessed at.
[[nodiscard]] ConfigReading read_config();

/// One row of `toric env`.
struct SettingRow {
  std::string name, standard, meaning;  // `standard`: the default
  std::string value;                    // in force
  std::string source;                   // "default" or "environment"
  std::string problem;                  // why the environment's value is not in force; empty otherwise
};
[[nodiscard]] std::vector<SettingRow> describe_settings();

/// Who this process is, as launchers say it: RANK, WORLD_SIZE, MASTER_ADDR, and TORIC_PORT or MASTER_PORT.
struct LaunchEnvironment {
  Rank rank = 0;
  Rank ranks = 1;
  std::string address;
  std::uint16_t port = 0;
};
[[nodiscard]] Result<LaunchEnvironment> read_launch_environment();

/// "64k", "1M", "2G" (powers of 1,024), plain bytes, or "inf" (UINT64_MAX).
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);
[[nodiscard]] std::string format_size(std::uint64_t bytes);

}  // namespace toric
