// Small schedules, written down in golden/ and checked there by hand against the rules of docs/ir.md.
#include "statements.hpp"
#include "toric/ir/passes.hpp"
#include "toric/ir/text_form.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace toric::testing {
namespace {

std::vector<Case> golden_cases() {
  return {
      {"ring_all_reduce_2", Collective::all_reduce, 2, 2, -1, ring_all_reduce},
      {"ring_all_reduce_3", Collective::all_reduce, 3, 3, -1, ring_all_reduce},
      {"ring_all_reduce_4", Collective::all_reduce, 4, 4, -1, ring_all_reduce},
      {"recursive_doubling_2", Collective::all_reduce, 2, 1, -1, recursive_doubling},
      {"recursive_doubling_3", Collective::all_reduce, 3, 1, -1, recursive_doubling},
      {"recursive_doubling_4", Collective::all_reduce, 4, 1, -1, recursive_doubling},
      {"one_shot_2", Collective::all_reduce, 2, 1, -1, one_shot},
      {"one_shot_3", Collective::all_reduce, 3, 1, -1, one_shot},
      {"one_shot_4", Collective::all_reduce, 4, 1, -1, one_shot},
      {"two_shot_3", Collective::all_reduce, 3, 3, -1, two_shot},
      {"ring_all_gather_3", Collective::all_gather, 3, 3, -1, ring_all_gather},
      {"doubling_all_gather_4", Collective::all_gather, 4, 4, -1, doubling_all_gather},
      {"ring_reduce_scatter_3", Collective::reduce_scatter, 3, 3, -1, ring_reduce_scatter},
      {"chain_broadcast_3_root_1", Collective::broadcast, 3, 2, 1, chain_broadcast},
      {"tree_reduce_4_root_0", Collective::reduce, 4, 1, 0, tree_reduce},
      {"relayed_scatter_3_root_0", Collective::scatter, 3, 3, 0, relayed_scatter},
      {"all_reduce_1", Collective::all_reduce, 1, 1, -1, ring_all_reduce},
  };
}

std::string text_without_comments(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text, line;
  while (std::getline(file, line))
    if (!line.starts_with("#")) text += line + '\n';
  return text;
}

TEST(Golden, SchedulesAreAsWrittenDown) {
  std::set<std::string> known;
  for (const Case& c : golden_cases()) {
    const std::filesystem::path path = std::filesystem::path(TORIC_GOLDEN_FOLDER) / (c.name + ".txt");
    known.insert(path.filename());
    ASSERT_TRUE(std::filesystem::exists(path)) << path;
    const Result<Schedule> built = build(c);
    ASSERT_TRUE(built.ok()) << c.name << ": " << built.status().text();
    EXPECT_EQ(to_text(*built), text_without_comments(path)) << c.name;
    const Result<Schedule> read = from_text(text_without_comments(path));
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(to_text(*read), to_text(*built));
  }
  for (const auto& entry : std::filesystem::directory_iterator(TORIC_GOLDEN_FOLDER))
    EXPECT_TRUE(known.count(entry.path().filename()) == 1) << entry.path() << " belongs to no case";
}

}  // namespace
}  // namespace toric::testing
