// Quantities as people write them: "50GB/s", "400Gb/s", "1us", "16GiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace toric {

// Reading. A number without a sign, then at once the unit; nothing where the text is anything else or out of range. A
// decimal prefix is part of the number (50GB/s is exactly the double nearest to 50e9).

/// Bytes/s, from B/s or bits b/s with k, M, G or T, or from KiB/s to TiB/s.
[[nodiscard]] std::optional<double> parse_bandwidth(std::string_view text);
/// Seconds, from s, ms, us, ns or ps.
[[nodiscard]] std::optional<double> parse_latency(std::string_view text);
/// Whole bytes, from B or KiB to TiB.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
/// Decimal digits and nothing else, up to `largest`.
[[nodiscard]] std::optional<std::int64_t> parse_whole(std::string_view text, std::int64_t largest);

// Writing. The shortest text that is read back as exactly the same value; values are finite and not negative.

[[nodiscard]] std::string bandwidth_text(double bytes_per_second);  // "50GB/s"
[[nodiscard]] std::string latency_text(double seconds);             // "1.5us"
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);          // "16GiB"

}  // namespace toric
