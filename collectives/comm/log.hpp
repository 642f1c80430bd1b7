// Where Toric's messages go: one sink for the process, standard error or the file TORIC_LOG_FILE names, never standard output.
// Whoever first notices something logs it; everyone else passes it on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace toric {

enum class LogLevel : int { off = 0, error = 1, warn = 2, info = 3, debug = 4 };

[[nodiscard]] std::string_view name_of(LogLevel level);
[[nodiscard]] std::optional<LogLevel> log_level_from(std::string_view name);

/// One load: whether a message of that level would be written. Ask before composing an expensive text.
[[nodiscard]] bool log_enabled(LogLevel level) noexcept;

/// Writes one message, from any thread. Never throws; a text that cannot be written is lost.
void log(LogLevel level, std::string_view text) noexcept;

/// Messages up to `threshold` go to `file` (appended; %h is the host's name, %p the process's number), or to standard
/// error when it is empty or cannot be opened (which is then logged there). The default is warnings to standard error.
void set_log(LogLevel threshold, const std::string& file);

}  // namespace toric
