#include "tests/sim/peer_worlds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/json/json.h"

namespace longshore::sim {
namespace {

std::vector<std::string> NamesOf(const Group& group, const std::vector<size_t>& worlds) {
  std::vector<std::string> names;
  for (const size_t world : worlds) names.push_back(group.equal[world].name);
  return names;
}

const Group& GroupOf(const std::vector<Group>& groups, const std::string& fault, size_t& member) {
  for (const Group& group : groups) {
    const auto found = std::ranges::find_if(group.members, [&](const auto& one) { return one.fault.name == fault; });
    if (found == group.members.end()) continue;
    member = static_cast<size_t>(found - group.members.begin());
    return group;
  }
  throw std::out_of_range(fault);
}

std::vector<std::string> WorldNames(const std::string& fault, Family family) {
  const std::vector<Group> groups = GroupsOf(AllFaults(100));
  size_t member = 0;
  const Group& group = GroupOf(groups, fault, member);
  return NamesOf(group, WorldsOf(group, group.members[member], family));
}

using Names = std::vector<std::string>;

TEST(GroupsOf, PutsFaultsWithTheSameMeasuresAndErrorRateOfStableTogether) {
  const std::vector<Group> groups = GroupsOf(AllFaults(100));
  std::vector<size_t> sizes;
  for (const Group& group : groups) sizes.push_back(group.members.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{6, 1, 1, 4}));
  for (const Group& group : groups) {
    for (const Group::Member& member : group.members) {
      EXPECT_EQ(group.equal[member.own].world, EqualOf(member.fault.world));
      EXPECT_FALSE(group.equal[member.own].kind);
    }
  }
}

TEST(WorldsOf, BeginWithTheWorldOfTheFault) {
  EXPECT_EQ(WorldNames("errors 1 % -> 2 %", Family::kOwn), Names{"independent requests"});
  EXPECT_EQ(WorldNames("rows of a batch take half as long again", Family::kOwn),
            Names{"the world of: rows of a batch take half as long again"});
}

TEST(WorldsOf, HaveEachKindInWhichTheMeasureIsDifferent) {
  EXPECT_EQ(WorldNames("errors 1 % -> 2 %", Family::kEvery),
            (Names{"independent requests", "drift and bursts", "assigned users", "assigned tenants",
                   "assigned users, some of whom fail often"}));
  EXPECT_EQ(WorldNames("run time +20 %", Family::kEvery),
            (Names{"independent requests", "drift and bursts", "assigned users", "assigned tenants", "batches",
                   "batches, assigned tenants"}));
}

TEST(WorldsOf, HaveTheKindsThatAssignAsTheWorldOfTheFaultDoes) {
  EXPECT_EQ(WorldNames("run time +20 %", Family::kAssigned),
            (Names{"independent requests", "drift and bursts", "batches"}));
  const std::string fault = "errors 1 % -> 2 %, users assigned";
  EXPECT_EQ(WorldNames(fault, Family::kAssigned), (Names{"the world of: " + fault, "assigned users", "assigned tenants",
                                                         "assigned users, some of whom fail often"}));
}

TEST(EqualWorld, DrawsTheKindWithTheErrorRateAndTheRunTimesOfTheFaultsWorld) {
  World base;
  base.stable_errors = 0.003;
  base.run_time_sigma = 0.7;
  for (const Kind kind : AllKinds()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const World drawn = EqualWorld{"", base, kind}.Draw(seed);
      EXPECT_EQ(drawn.stable_errors, 0.003);
      EXPECT_EQ(drawn.candidate_errors, 0.003);
      EXPECT_EQ(drawn.run_time_sigma, 0.7);
      EXPECT_EQ(drawn.keyed, AssignsUsers(kind)) << NameOf(kind);
    }
  }
}

TEST(PastOf, HasWhatTheMeasuresNeedOfTheServiceWithThisSeed) {
  World world;
  const Past errors = PastOf(world, 1, Measures::kErrors);
  EXPECT_NEAR(errors.error_share, 0.01, 1e-9);
  EXPECT_EQ(errors.p99_us, 0);
  const Past run_times = PastOf(world, 1, Measures::kRunTimes);
  EXPECT_NEAR(run_times.p50_us, 10000, 200);
  EXPECT_NEAR(run_times.p90_us, 13777, 300);
  EXPECT_NEAR(run_times.p99_us, 17889, 600);
  world.users = {20, 0.5, 0.5, 0.3};
  EXPECT_NE(PastOf(world, 1, Measures::kErrors).error_share, PastOf(world, 2, Measures::kErrors).error_share);
}

TEST(RecordEqualLine, HasTheRequestsOfTheWholeTime) {
  const Json line = ParseJson(RecordEqualLine({"", World{}}, Measures::kErrors, 3, 1)).value();
  EXPECT_EQ(line.at("id"), 3);
  EXPECT_EQ(line.at("points").size(), 240U);
  int64_t requests = 0;
  for (const Json& point : line.at("points")) requests += point.at("candidate_requests").get<int64_t>();
  EXPECT_NEAR(static_cast<double>(requests), 60000, 1500);
}

}  // namespace
}  // namespace longshore::sim
