// The verifier's own test: every single-field mutant is caught, or right in every interleaving tried.
#include "toric/check/mutants.hpp"

#include "schedules.hpp"
#include "toric/ir/text_form.hpp"

#include <cstdio>
#include <numeric>

namespace toric {
namespace {

// A run of the tool tries a thousand interleavings; here fewer of more schedules.
constexpr std::uint32_t interleavings = 60;

void expect_all_caught(const Schedule& schedule, const std::string& name) {
  const MutationReport report = mutate(schedule, 5, UINT64_MAX, interleavings);
  EXPECT_EQ(report.tried, report.possible);
  const std::uint64_t caught = std::accumulate(report.caught.begin(), report.caught.end(), std::uint64_t{0});
  EXPECT_EQ(caught + report.cleared + report.not_cleared.size(), report.tried);
  EXPECT_GT(caught, report.cleared) << name << ": most mutants of a schedule are wrong";
  for (const std::string& text : report.not_cleared) ADD_FAILURE() << name << ": " << text;
  std::printf("%-28s %5llu mutants, %5llu caught, %4llu harmless\n", name.c_str(), static_cast<unsigned long long>(report.tried),
              static_cast<unsigned long long>(caught), static_cast<unsigned long long>(report.cleared));
}

TEST(Mutants, NoneEscapes) {
  expect_all_caught(test::ring_all_reduce(2), "ring all_reduce 2");
  expect_all_caught(test::ring_all_reduce(3), "ring all_reduce 3");
  expect_all_caught(test::ring_all_reduce(2, 2), "ring all_reduce 2 in 2 pieces");
  expect_all_caught(test::ring_all_gather(3), "ring all_gather 3");
  expect_all_caught(test::ring_reduce_scatter(3), "ring reduce_scatter 3");
  expect_all_caught(test::recursive_doubling(2), "recursive doubling 2");
  expect_all_caught(test::recursive_doubling(4), "recursive doubling 4");
  expect_all_caught(test::recursive_doubling(4, 2), "recursive doubling 4, 2 chunks");
  expect_all_caught(test::one_shot(3), "one-shot 3");
  expect_all_caught(test::chain_broadcast(3, 1, 3), "chain broadcast 3");
  expect_all_caught(test::star_reduce(4, 1), "star reduce 4");
  expect_all_caught(test::star_gather(3, 2), "star gather 3");
  expect_all_caught(test::star_scatter(3, 0), "star scatter 3");
  expect_all_caught(test::dissemination_barrier(3), "dissemination 3");
}

TEST(Mutants, EachDiffersAndIsUndone) {
  const Schedule schedule = test::recursive_doubling(4);
  const Mutants mutants(schedule);
  Schedule copy = schedule;
  const auto bytes_of = [](const Schedule& s) {
    std::string bytes(reinterpret_cast<const char*>(s.place.data()), s.place.size() * sizeof(s.place[0]));
    for (const Program& program : s.programs) {
      for (const Step& step : program.steps) {
        bytes.append(reinterpret_cast<const char*>(&step), sizeof step);
        const std::size_t end = std::size_t{step.dep_begin} + step.dep_count;
        for (std::size_t i = step.dep_begin; i < end && i < program.deps.size(); ++i) bytes += std::to_string(program.deps[i].step) + ' ';
      }
    }
    return bytes;
  };
  const std::string original = bytes_of(schedule);
  for (std::uint64_t i = 0; i < mutants.size(); ++i) {
    mutants.apply(i, copy);
    EXPECT_NE(bytes_of(copy), original) << mutants.describe(i);
    mutants.undo(i, copy);
    ASSERT_EQ(bytes_of(copy), original) << mutants.describe(i);
  }
  EXPECT_GT(mutants.size(), 100u);
}

TEST(Mutants, EachDependencyIsRemovedOnce) {
  const Schedule schedule = test::recursive_doubling(4);
  const auto deps_of = [](const Schedule& s) {
    std::uint64_t count = 0;
    for (const Program& program : s.programs)
      for (const Step& step : program.steps) count += step.dep_count;
    return count;
  };
  const Mutants mutants(schedule);
  Schedule copy = schedule;
  std::uint64_t removed = 0;
  for (std::uint64_t i = 0; i < mutants.size(); ++i) {
    if (mutants.describe(i).find("removed") == std::string::npos) continue;
    mutants.apply(i, copy);
    EXPECT_EQ(deps_of(copy), deps_of(schedule) - 1) << mutants.describe(i);
    mutants.undo(i, copy);
    ++removed;
  }
  EXPECT_GT(removed, 0u);
  EXPECT_EQ(removed, deps_of(schedule));
}

TEST(Mutants, ASampleIsRepeatable) {
  const Schedule schedule = test::ring_all_reduce(4);
  const MutationReport first = mutate(schedule, 3, 100, 5), second = mutate(schedule, 3, 100, 5), other = mutate(schedule, 4, 100, 5);
  EXPECT_EQ(first.tried, 100u);
  EXPECT_GT(first.possible, 100u);
  EXPECT_EQ(first.caught, second.caught);
  EXPECT_NE(first.caught, other.caught) << "another seed, another sample";
}

TEST(Mutants, AWrongScheduleHasNoReport) {
  Schedule schedule = test::ring_all_reduce(3);
  schedule.programs[0].steps.pop_back();
  const MutationReport report = mutate(schedule, 1, 10);
  EXPECT_EQ(report.tried, 0u);
  EXPECT_FALSE(report.ok());
}

}  // namespace
}  // namespace toric
