// The shelf: hand-written schedules, each wrong in one way and refused for exactly that, and some that look wrong and are
// right. A file says in its first lines what is expected: the fault, `apart` or `in_place` if the other alias model is
// fine, `rank_order` if only an operator that does not commute minds; and words that the text must contain.
#include "toric/check/interpreter.hpp"
#include "toric/check/verifier.hpp"
#include "toric/ir/text_form.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace toric {
namespace {

struct Shelved {
  std::string name, fault, words;
  bool apart = true, in_place = true, rank_order = false;
  Schedule schedule;
};

std::string rest_after(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + label.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

Shelved load(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  Shelved shelved;
  shelved.name = path.stem().string();
  std::istringstream expect(rest_after(text.str(), "# expect: "));
  expect >> shelved.fault;
  for (std::string word; expect >> word;) {
    if (word == "apart") shelved.in_place = false;
    if (word == "in_place") shelved.apart = false;
    if (word == "rank_order") shelved.rank_order = true;
  }
  shelved.words = rest_after(text.str(), "# names: ");
  Result<Schedule> schedule = from_text(text.str());
  EXPECT_TRUE(schedule.ok()) << path << ": " << schedule.status().text();
  if (schedule.ok()) shelved.schedule = *std::move(schedule);
  return shelved;
}

std::vector<std::filesystem::path> shelf() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TORIC_SHELF)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Shelf : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Shelf, IsRefusedForTheExpectedReason) {
  const Shelved shelved = load(GetParam());
  for (const bool in_place : {false, true}) {
    const Verdict verdict = verify(shelved.schedule, {.in_place = in_place, .keep_rank_order = shelved.rank_order});
    const std::string expected = (in_place ? shelved.in_place : shelved.apart) ? shelved.fault : "none";
    EXPECT_EQ(name_of(verdict.fault), expected) << (in_place ? "in place: " : "apart: ") << verdict.text;
    if (!verdict.ok()) {
      EXPECT_NE(verdict.text.find(shelved.words), std::string::npos) << verdict.text << "\n  should contain: " << shelved.words;
    }
    EXPECT_EQ(verdict.text.empty(), verdict.ok());
  }
  const Verdict both = verify_all(shelved.schedule, shelved.rank_order);
  EXPECT_EQ(name_of(both.fault), shelved.fault) << both.text;
  if (shelved.rank_order) {
    EXPECT_EQ(name_of(verify_all(shelved.schedule).fault), "none") << "an operator that commutes must not mind";
  }
}

TEST_P(Shelf, TheInterpreterAgrees) {
  const Shelved shelved = load(GetParam());
  const Interpretation run = interpret_all(shelved.schedule, 1, 500, shelved.rank_order);
  EXPECT_EQ(run.ok(), shelved.fault == "none") << name_of(run.outcome) << ": " << run.text;
}

INSTANTIATE_TEST_SUITE_P(All, Shelf, testing::ValuesIn(shelf()), [](const auto& file) { return file.param.stem().string(); });

TEST(Shelf, HasEveryFault) {
  std::set<std::string> faults;
  for (const auto& path : shelf()) faults.insert(load(path).fault);
  for (std::size_t i = 0; i < fault_count; ++i)
    EXPECT_EQ(faults.count(std::string(name_of(static_cast<Fault>(i)))), 1u) << name_of(static_cast<Fault>(i));
}

}  // namespace
}  // namespace toric
