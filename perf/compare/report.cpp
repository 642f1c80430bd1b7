#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace toric::compare {

std::string table(const RegimeResult& result) {
  std::string text = fmt::format(
      "# regime {}: medians over clean blocks, in brackets 25th to 75th percentile; ratio = peer / ours, above 1 Toric is faster\n",
      name_of(result.regime));
  text += fmt::format("# {:>10} {:>11} {:>23} {:>11} {:>23} {:>7} {:>6}\n", "bytes", "ours us", "[spread]", "peer us", "[spread]", "ratio",
                      "blocks");
  for (const SizeResult& size : result.sizes) {
    if (size.blocks == 0) {
      text += fmt::format("  {:>10} {:>11} {:>23} {:>11} {:>23} {:>7} {:>6}\n", size.bytes, "-", "-", "-", "-", "-", 0);
      continue;
    }
    const auto range = [](const Spread& s) { return fmt::format("[{:.2f} - {:.2f}]", s.low, s.high); };
    text += fmt::format("  {:>10} {:>11.2f} {:>23} {:>11.2f} {:>23} {:>7.2f} {:>6}\n", size.bytes, size.ours.median, range(size.ours),
                        size.peer.median, range(size.peer), size.ratio, size.blocks);
  }
  return text;
}

std::string last_line(const RegimeResult& result, int ranks, std::size_t wanted, const std::string& peer) {
  const std::string head = fmt::format("all_reduce np {} regime {}", ranks, name_of(result.regime));
  if (result.fewest_blocks() < std::max<std::size_t>(1, wanted)) return head + " unseen";
  const SizeResult& worst = result.worst();
  return fmt::format("{} geomean {:.2f} worst {:.2f} at {} against {}", head, result.geometric_mean(), worst.ratio, worst.bytes, peer);
}

std::string short_version(const std::string& library_version) {
  if (library_version.starts_with("Open MPI v")) {
    const std::string rest = library_version.substr(10);
    return "Open MPI " + rest.substr(0, rest.find_first_of(", \n"));
  }
  // MPICH writes "MPICH Version:\t4.0.2\nMPICH Release date: ..."
  std::string line = library_version.substr(0, library_version.find('\n'));
  if (const auto at = line.find(" Version:"); at != std::string::npos) line.erase(at, 9);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line.substr(0, 60);
}

}  // namespace toric::compare
