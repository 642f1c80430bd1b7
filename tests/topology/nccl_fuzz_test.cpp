// Damaged topology files: whatever is read, there is an answer.
#include "nccl_examples.hpp"
#include "toric/topology/source.hpp"
#include "toric/topology/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace toric {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_nodes_per_byte = 1, most_links_per_byte = 64;

std::vector<std::string> examples_of_all() {
  std::vector<std::string> texts = {
      examples::two_packages(), examples::two_hosts(),
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tPIX\t0-3\t0\nGPU1\tNV4\t X \tSYS\t4-7\t1\n"
      "NIC0\tPIX\tSYS\t X \t\t\n\nNIC Legend:\n\n  NIC0: mlx5_0\n"};
  const fs::path folder = fs::path(TORIC_SHARED_DATA) / "nccl-topo";
  if (!fs::exists(folder)) {
    std::cout << "skipped: the files of " << folder << '\n';
    return texts;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_GT(texts.size(), 40U) << folder;
  std::ranges::sort(texts);  // directories have no order
  return texts;
}

using Random = std::mt19937_64;

std::size_t below(std::size_t end, Random& random) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); }

std::string damaged(std::string text, Random& random) {
  if (text.empty()) return text;
  switch (below(4, random)) {
    case 0:
      return text.substr(0, below(text.size(), random));
    case 1: {
      const std::size_t from = below(text.size(), random);
      return text.erase(from, below(text.size() - from, random) % 200 + 1);
    }
    case 2: {
      const std::string piece = text.substr(below(text.size(), random), below(400, random));
      return text.insert(below(text.size(), random), piece);
    }
    default:
      break;
  }
  for (std::size_t flips = below(8, random) + 1; flips > 0; --flips) {
    char& byte = text[below(text.size(), random)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << below(8, random)));
  }
  return text;
}

void check(const Result<Imported>& result, const std::string& text) {
  if (!result.ok()) {
    EXPECT_EQ(result.status().code(), Code::invalid_argument);
    EXPECT_TRUE(result.status().text().starts_with("damaged:")) << result.status().text();
    return;
  }
  const Status status = validate(result->topology);
  EXPECT_TRUE(status.ok()) << status.text();
  EXPECT_LE(result->topology.nodes.size(), text.size() * most_nodes_per_byte);
  EXPECT_LE(result->topology.links.size(), text.size() * most_links_per_byte);
}

TEST(DamagedTopologies, AreReadOrRefused) {
  const std::vector<std::string> texts = examples_of_all();
  const std::uint64_t seed = std::random_device()();
  std::cout << "seed " << seed << '\n';
  Random random(seed);
  std::size_t tried = 0, loaded = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure()) {
    const std::string text = damaged(texts[below(texts.size(), random)], random);
    const auto xml = read_nccl_xml(text, "damaged");
    const auto table = read_nvidia_smi(text, "damaged");
    check(xml, text);
    check(table, text);
    ++tried;
    loaded += xml.ok() || table.ok() ? 1 : 0;
    if (testing::Test::HasFailure()) std::cout << "number " << tried << ":\n" << text << '\n';
  }
  std::cout << tried << " tried, " << loaded << " read\n";
  EXPECT_GT(loaded, 0U);
  EXPECT_LT(loaded, tried);
}

}  // namespace
}  // namespace toric
