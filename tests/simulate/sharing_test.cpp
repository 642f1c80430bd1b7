// Max-min sharing: examples worked by hand, and random flows that come and go against the definition.
#include "toric/simulate/sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "simulate/fair_shares.hpp"

namespace toric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Route = std::vector<LinkId>;

TEST(Sharing, OneFlowHasWhatItsNarrowestLinkHas) {
  Sharing sharing(std::vector<double>{8, 3, 5});
  const Route route{0, 1, 2};
  sharing.add(0, route);
  EXPECT_THAT(sharing.settle(), ElementsAre(0));
  EXPECT_EQ(sharing.rate(0), 3);
  EXPECT_THAT(sharing.settle(), IsEmpty());
}

TEST(Sharing, TwoFlowsHaveHalfEachAndAllAgainWhenAlone) {
  Sharing sharing(std::vector<double>{10});
  const Route route{0};
  sharing.add(0, route);
  sharing.settle();
  sharing.add(1, route);
  EXPECT_THAT(sharing.settle(), UnorderedElementsAre(0, 1));
  EXPECT_EQ(sharing.rate(0), 5);
  EXPECT_EQ(sharing.rate(1), 5);
  sharing.remove(0);
  EXPECT_THAT(sharing.settle(), ElementsAre(1));
  EXPECT_EQ(sharing.rate(1), 10);
}

// A line of three links of 1, 2 and 4; one flow goes over all, one over each. The first link gives 1/2 to each of its two, and the
// others have what the long flow leaves: 3/2 and 7/2.
TEST(Sharing, ALongFlowIsHeldByItsNarrowestLinkAndLeavesTheRest) {
  Sharing sharing(std::vector<double>{1, 2, 4});
  const Route whole{0, 1, 2}, first{0}, second{1}, third{2};
  sharing.add(0, whole);
  sharing.add(1, first);
  sharing.add(2, second);
  sharing.add(3, third);
  sharing.settle();
  EXPECT_DOUBLE_EQ(sharing.rate(0), 0.5);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 0.5);
  EXPECT_DOUBLE_EQ(sharing.rate(2), 1.5);
  EXPECT_DOUBLE_EQ(sharing.rate(3), 3.5);
}

// Links of 12, 9 and 10. Flows over {0}, {0,1}, {1,2}, {1}, {2}. Link 1 fills first: 9/3 = 3 for flows 1, 2 and 3; then
// flow 0 has 12 - 3 = 9 and flow 4 has 10 - 3 = 7.
TEST(Sharing, TheFullestLinkFillsFirst) {
  Sharing sharing(std::vector<double>{12, 9, 10});
  const std::vector<Route> routes{{0}, {0, 1}, {1, 2}, {1}, {2}};
  for (FlowId flow = 0; flow < routes.size(); ++flow) sharing.add(flow, routes[flow]);
  sharing.settle();
  const double expected[] = {9, 3, 3, 3, 7};
  for (FlowId flow = 0; flow < routes.size(); ++flow) EXPECT_DOUBLE_EQ(sharing.rate(flow), expected[flow]) << flow;
  // Without flow 3 link 1 gives 4.5 to each, links 0 and 2 leave 7.5 and 5.5.
  sharing.remove(3);
  sharing.settle();
  const double then[] = {7.5, 4.5, 4.5, 0, 5.5};
  for (const FlowId flow : {0U, 1U, 2U, 4U}) EXPECT_DOUBLE_EQ(sharing.rate(flow), then[flow]) << flow;
}

TEST(Sharing, FlowsThatShareNothingWithWhatChangedAreNotTouched) {
  Sharing sharing(std::vector<double>{10, 10, 10});
  const Route left{0}, both{0, 1}, right{2};
  sharing.add(0, left);
  sharing.add(1, right);
  EXPECT_THAT(sharing.settle(), UnorderedElementsAre(0, 1));
  sharing.add(2, both);
  EXPECT_THAT(sharing.settle(), UnorderedElementsAre(0, 2));
}

TEST(Sharing, ANumberIsUsedAgain) {
  Sharing sharing(std::vector<double>{10, 20});
  const Route one{0}, other{1};
  sharing.add(0, one);
  sharing.settle();
  sharing.remove(0);
  sharing.add(0, other);
  EXPECT_THAT(sharing.settle(), ElementsAre(0));
  EXPECT_EQ(sharing.rate(0), 20);
}

/// No link carries more than it can, and every flow has a full link on which no flow is faster.
void expect_fair(const Sharing& sharing, const std::vector<double>& capacities, const std::map<FlowId, Route>& flows) {
  std::vector<double> used(capacities.size()), fastest(capacities.size());
  for (const auto& [flow, route] : flows)
    for (const LinkId link : route) {
      used[link] += sharing.rate(flow);
      fastest[link] = std::max(fastest[link], sharing.rate(flow));
    }
  for (std::size_t link = 0; link < used.size(); ++link) EXPECT_LE(used[link], capacities[link] * (1 + 1e-9));
  for (const auto& [flow, route] : flows) {
    const double rate = sharing.rate(flow);
    EXPECT_TRUE(std::ranges::any_of(
        route, [&](LinkId link) { return used[link] >= capacities[link] * (1 - 1e-9) && rate >= fastest[link] * (1 - 1e-9); }))
        << "flow " << flow << " could be faster than " << rate;
  }
}

TEST(Sharing, RandomFlowsThatComeAndGoShareAsTheDefinitionSays) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&random](unsigned most) { return std::uniform_int_distribution<unsigned>(0, most)(random); };
    std::vector<double> capacities(1 + upto(11));
    // Half the machines have links of few different widths, so that several fill at once.
    for (double& capacity : capacities) capacity = seed % 2 == 0 ? 1 + upto(2) : 0.1 + upto(1000) / 7.0;
    Sharing sharing(capacities);
    std::map<FlowId, Route> flows;
    for (int change = 0; change < 30; ++change) {
      const FlowId flow = upto(9);
      if (const auto found = flows.find(flow); found != flows.end()) {
        sharing.remove(flow);
        flows.erase(found);
      } else {
        std::set<LinkId> links;
        for (unsigned i = 0; i <= upto(3); ++i) links.insert(upto(static_cast<unsigned>(capacities.size()) - 1));
        sharing.add(flow, flows[flow] = Route(links.begin(), links.end()));
      }
      if (upto(2) == 0) continue;  // several changes at once
      std::map<FlowId, double> before;
      for (const auto& [id, route] : flows) before[id] = sharing.rate(id);
      const std::span<const FlowId> changed = sharing.settle();
      expect_fair(sharing, capacities, flows);
      std::vector<std::vector<unsigned>> routes;
      for (const auto& [id, route] : flows) routes.emplace_back(route.begin(), route.end());
      const std::vector<double> expected = test::fair_shares(capacities, routes);
      std::size_t at = 0;
      for (const auto& [id, route] : flows) {
        EXPECT_NEAR(sharing.rate(id), expected[at], expected[at] * 1e-9) << "flow " << id << ", seed " << seed;
        EXPECT_EQ(std::ranges::find(changed, id) != changed.end(), sharing.rate(id) != before[id]) << id;
        ++at;
      }
    }
  }
}

}  // namespace
}  // namespace toric
