#include "toric/comm/config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace toric {
namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_seconds(std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0 || *value > 1e9) return std::nullopt;
  return value;
}

/// A setting: `take` puts a text into the config or says no; `show` prints the value in force.
struct Setting {
  std::string_view name, meaning, takes;
  bool (*take)(Config&, const std::string&);
  std::string (*show)(const Config&);
};

bool take_seconds(double& target, const std::string& text) {
  const auto value = parse_seconds(text);
  if (value) target = *value;
  return value.has_value();
}

bool take_bytes(std::size_t& target, const std::string& text, std::uint64_t least, std::uint64_t most, std::uint64_t multiple) {
  const auto value = parse_size(text);
  if (!value || *value < least || *value > most || *value % multiple != 0) return false;
  target = static_cast<std::size_t>(*value);
  return true;
}

std::string or_none(const std::string& text) { return text.empty() ? "(none)" : text; }

std::string show_window(const Config& c) {
  if (c.window_bytes == 0) return "auto";
  return c.window_bytes == SIZE_MAX ? "off" : format_size(c.window_bytes);
}

bool take_window(Config& c, const std::string& text) {
  if (text == "auto")
    c.window_bytes = 0;
  else if (text == "off")
    c.window_bytes = SIZE_MAX;
  else
    return take_bytes(c.window_bytes, text, 64, std::uint64_t{1} << 40, 64);
  return true;
}

bool take_level(Config& c, const std::string& text) {
  const auto level = log_level_from(text);
  if (level) c.log_level = *level;
  return level.has_value();
}

bool take_port(Config& c, const std::string& text) {
  const auto value = parse_number<std::uint16_t>(text);
  if (value) c.port = *value;
  return value && *value != 0;
}

constexpr Setting settings[] = {
    {"TORIC_TIMEOUT", "seconds until a late peer is an error (0: never)", "seconds, 0 or more",
     [](Config& c, const std::string& t) { return take_seconds(c.timeout_seconds, t); },
     [](const Config& c) { return fmt::format("{}", c.timeout_seconds); }},
    {"TORIC_INIT_TIMEOUT", "seconds in which all ranks must have started", "seconds, more than 0",
     [](Config& c, const std::string& t) { return take_seconds(c.init_timeout_seconds, t) && c.init_timeout_seconds > 0; },
     [](const Config& c) { return fmt::format("{}", c.init_timeout_seconds); }},
    {"TORIC_ALGO", "algorithm by collective and size, as `ring` or `all_reduce:0-4k=direct,4k-inf=ring;all_gather=ring` (rank 0's counts)",
     "a wish in that form",
     [](Config& c, const std::string& t) {
       c.algorithm = t;
       return true;
     },
     [](const Config& c) { return c.algorithm.empty() ? std::string("(chosen)") : c.algorithm; }},
    {"TORIC_LOG", "what is logged", "off, error, warn, info or debug", take_level,
     [](const Config& c) { return std::string(name_of(c.log_level)); }},
    {"TORIC_LOG_FILE", "where the log goes instead of standard error (%h: host, %p: process)", "a file name",
     [](Config& c, const std::string& t) {
       c.log_file = t;
       return true;
     },
     [](const Config& c) { return or_none(c.log_file); }},
    {"TORIC_HOST_ID", "which ranks share a host: equal texts do, different ones never", "any text",
     [](Config& c, const std::string& t) {
       c.host_id = t;
       return true;
     },
     [](const Config& c) { return or_none(c.host_id); }},
    {"TORIC_INTERFACE", "network interface for meeting: prefix, =exact or ^exclude", "an interface name",
     [](Config& c, const std::string& t) {
       c.interface = t;
       return true;
     },
     [](const Config& c) { return or_none(c.interface); }},
    {"TORIC_PORT", "port of rank 0 for toricCommInitEnvironment (without it MASTER_PORT)", "1 to 65535", take_port,
     [](const Config& c) { return c.port == 0 ? std::string("(none)") : std::to_string(c.port); }},
    {"TORIC_MEMORY", "most memory for the rings of one host (rank 0's counts)", "bytes, k, M or G; 64k or more",
     [](Config& c, const std::string& t) { return take_bytes(c.memory_bytes, t, 64 * 1024, std::uint64_t{1} << 46, 1); },
     [](const Config& c) { return format_size(c.memory_bytes); }},
    {"TORIC_SEGMENT", "bytes that travel at once (rank 0's counts)", "a multiple of 64 bytes from 64 to 16M",
     [](Config& c, const std::string& t) { return take_bytes(c.segment_bytes, t, 64, 16 << 20, 64); },
     [](const Config& c) { return format_size(c.segment_bytes); }},
    {"TORIC_WINDOW", "slice of a large vector that is worked on at once (rank 0's counts)", "auto, off or a multiple of 64 bytes",
     take_window, show_window},
};

/// An empty variable counts as unset: that is how scripts switch one off.
std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe): nothing here sets variables
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

/// Applies one setting. Returns the problem, empty when there is none.
std::string apply(const Setting& setting, const std::string& text, Config& config) {
  Config trial = config;
  if (!setting.take(trial, text)) return fmt::format("{}=\"{}\" is not usable: it takes {}", setting.name, text, setting.takes);
  config = std::move(trial);
  return {};
}

template <typename Number>
Result<Number> launch_number(std::string_view name, Number least, Number most) {
  const auto text = environment(name);
  if (!text)
    return Status(Code::invalid_usage, fmt::format("toricCommInitEnvironment needs {}, which is not set: start the program with a launcher "
                                                   "that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (or TORIC_PORT)",
                                                   name));
  const auto value = parse_number<Number>(*text);
  if (!value || *value < least || *value > most)
    return Status(Code::invalid_usage, fmt::format("{}=\"{}\" is not a number from {} to {}", name, *text, least, most));
  return *value;
}

}  // namespace

ConfigReading read_config() {
  ConfigReading reading;
  std::string problems;
  for (const Setting& setting : settings) {
    const auto text = environment(setting.name);
    if (!text) continue;
    const std::string problem = apply(setting, *text, reading.config);
    if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + problem;
  }
  if (!problems.empty()) reading.problem = Status(Code::invalid_argument, problems);
  return reading;
}

std::vector<SettingRow> describe_settings() {
  const Config standard;
  std::vector<SettingRow> rows;
  for (const Setting& setting : settings) {
    Config config;
    const auto text = environment(setting.name);
    const std::string problem = text ? apply(setting, *text, config) : std::string();
    rows.push_back({std::string(setting.name), setting.show(standard), std::string(setting.meaning), setting.show(config),
                    text && problem.empty() ? "environment" : "default", problem});
  }
  return rows;
}

Result<LaunchEnvironment> read_launch_environment() {
  LaunchEnvironment launch;
  const auto ranks = launch_number<Rank>("WORLD_SIZE", 1, std::numeric_limits<Rank>::max());
  if (!ranks.ok()) return ranks.status();
  launch.ranks = *ranks;
  const auto rank = launch_number<Rank>("RANK", 0, launch.ranks - 1);
  if (!rank.ok()) return rank.status();
  launch.rank = *rank;
  const auto address = environment("MASTER_ADDR");
  if (!address && launch.ranks > 1)
    return Status(Code::invalid_usage, "toricCommInitEnvironment needs MASTER_ADDR, which is not set: it is the host or address of rank 0");
  launch.address = address.value_or("127.0.0.1");
  const auto port = launch_number<std::uint16_t>(environment("TORIC_PORT") ? "TORIC_PORT" : "MASTER_PORT", 1, 65535);
  if (!port.ok()) return port.status();
  launch.port = *port;
  return launch;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text == "inf") return UINT64_MAX;
  std::uint64_t unit = 1;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        unit = std::uint64_t{1} << 10;
        break;
      case 'm':
      case 'M':
        unit = std::uint64_t{1} << 20;
        break;
      case 'g':
      case 'G':
        unit = std::uint64_t{1} << 30;
        break;
      default:
        break;
    }
  }
  if (unit != 1) text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value > UINT64_MAX / unit) return std::nullopt;
  return *value * unit;
}

std::string format_size(std::uint64_t bytes) {
  if (bytes == UINT64_MAX) return "inf";
  if (bytes != 0 && bytes % (std::uint64_t{1} << 30) == 0) return fmt::format("{}G", bytes >> 30);
  if (bytes != 0 && bytes % (std::uint64_t{1} << 20) == 0) return fmt::format("{}M", bytes >> 20);
  if (bytes != 0 && bytes % 1024 == 0) return fmt::format("{}k", bytes >> 10);
  return std::to_string(bytes);
}

}  // namespace toric
