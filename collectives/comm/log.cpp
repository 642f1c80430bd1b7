#include "toric/comm/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

namespace toric {
namespace {

constexpr std::array<std::string_view, 5> level_names = {"off", "error", "warn", "info", "debug"};

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("toric", std::move(sink));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e toric[%P] %l: %v");
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  return logger;
}

/// The one sink. Never destroyed: threads of the library may still log while the process ends.
struct Sink {
  std::atomic<int> threshold{static_cast<int>(LogLevel::warn)};
  std::mutex mutex;
  std::string file;
  std::shared_ptr<spdlog::logger> logger = make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
};

Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

std::string expand(const std::string& pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'p') {
      name += std::to_string(::getpid());
    } else if (next == 'h') {
      std::array<char, 256> host{};
      if (::gethostname(host.data(), host.size() - 1) == 0) name += host.data();
    } else {
      name += pattern[i];
      continue;
    }
    ++i;
  }
  return name;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::debug:
    case LogLevel::off:
      break;
  }
  return spdlog::level::debug;
}

}  // namespace

std::string_view name_of(LogLevel level) { return level_names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_from(std::string_view name) {
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (level_names[i] == name) return static_cast<LogLevel>(i);
  return std::nullopt;
}

bool log_enabled(LogLevel level) noexcept {
  return static_cast<int>(level) <= sink().threshold.load(std::memory_order_relaxed) && level != LogLevel::off;
}

void log(LogLevel level, std::string_view text) noexcept {
  if (!log_enabled(level)) return;
  try {
    Sink& out = sink();
    const std::scoped_lock lock(out.mutex);
    out.logger->log(spdlog_level(level), "{}", text);
  } catch (...) {  // a message is never worth an error
  }
}

void set_log(LogLevel threshold, const std::string& file) {
  Sink& out = sink();
  std::string failure;
  {
    const std::scoped_lock lock(out.mutex);
    out.threshold.store(static_cast<int>(threshold), std::memory_order_relaxed);
    const std::string name = expand(file);
    if (name == out.file) return;
    out.file = name;
    try {
      out.logger = name.empty() ? make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>())
                                : make_logger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(name));
    } catch (const std::exception& error) {
      out.logger = make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>());
      failure = "TORIC_LOG_FILE=" + file + " cannot be opened (" + error.what() + "): logging to standard error instead";
    }
  }
  if (!failure.empty()) log(LogLevel::error, failure);
}

}  // namespace toric
