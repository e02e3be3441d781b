#include "controller/reconcile/departures.h"

#include <gmock/gmock.h>

namespace longshore::reconcile {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// A fleet whose nodes report these versions of the model "m" as ready. The order of the calls is that of the starts.
class Nodes {
 public:
  KnownNode& Add(const std::string& name, const std::vector<int64_t>& versions) {
    nodes::NodeView view;
    control::Report& report = nodes::Unshared(view.report);
    for (const int64_t number : versions) {
      control::VersionReport& version = *report.add_versions();
      version.set_served_name("m");
      version.set_version(number);
      version.set_state(control::VersionReport::READY);
    }
    AddSilent(name);
    return nodes
        .insert_or_assign(name,
                          KnownNode{.view = std::make_shared<const nodes::NodeView>(std::move(view)), .attached = true})
        .first->second;
  }
  // Adds a node that has not reported yet.
  fleet::NodeInfo& AddSilent(const std::string& name) {
    fleet::NodeInfo info;
    info.node = name;
    info.started_at = TimePoint(std::chrono::seconds(infos.size()));
    infos.push_back(info);
    return infos.back();
  }
  // `replicas`: how many nodes should stay.
  Departures Decide(int replicas) const {
    return DecideDepartures(nodes, infos, fleet::CountStaying(infos) - replicas, placements);
  }

  std::map<std::string, KnownNode> nodes;
  std::vector<fleet::NodeInfo> infos;
  Placements placements;
};

TEST(Departures, NodesWithoutUniqueVersionsLeaveFirstAndTheNewestOfEquals) {
  Nodes fleet;
  fleet.Add("old", {1});
  fleet.Add("young", {1});
  fleet.AddSilent("silent");
  fleet.Add("newest", {1, 2});  // Version 2, a candidate, is only here.
  fleet.AddSilent("leaving").state = fleet::NodeState::kStopping;
  EXPECT_THAT(fleet.Decide(4).chosen, IsEmpty());
  EXPECT_THAT(fleet.Decide(1).now, ElementsAre("silent", "young", "old"));
  EXPECT_THAT(fleet.Decide(1).waiting, IsEmpty());
}

TEST(Departures, ANodeThatAloneHasAVersionWaitsUntilAnotherNodeHasIt) {
  Nodes fleet;
  fleet.Add("a", {1, 2});
  fleet.Add("b", {1, 3});
  Departures departures = fleet.Decide(1);
  EXPECT_THAT(departures.chosen, ElementsAre("b"));
  EXPECT_THAT(departures.now, IsEmpty());
  ASSERT_EQ(departures.waiting.size(), 1U);
  EXPECT_EQ(departures.waiting[0].name + departures.waiting[0].text,
            "node b stays: no other node has version 3 of model \"m\" ready yet");
  fleet.nodes.erase("a");
  fleet.infos.erase(fleet.infos.begin());
  fleet.Add("a", {1, 2, 3});
  fleet.nodes.at("b").departing = true;
  EXPECT_THAT(fleet.Decide(1).now, ElementsAre("b"));
}

TEST(Departures, AChosenNodeStaysChosenWhileOthersTakeOverItsVersions) {
  Nodes fleet;
  fleet.Add("a", {1}).departing = true;
  fleet.Add("b", {});
  EXPECT_THAT(fleet.Decide(1).chosen, ElementsAre("a"));
  fleet.nodes.at("a").departing = false;
  EXPECT_THAT(fleet.Decide(1).chosen, ElementsAre("b"));
}

TEST(Departures, TwoNodesThatShareAVersionDoNotBothLeaveWithIt) {
  Nodes fleet;
  fleet.Add("a", {1});
  fleet.Add("b", {1});
  fleet.Add("c", {2});
  EXPECT_THAT(fleet.Decide(1).chosen, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(fleet.Decide(1).now, IsEmpty());
}

TEST(Departures, ADisconnectedOrDrainingNodeDoesNotTakeOverVersions) {
  Nodes fleet;
  fleet.Add("gone", {1}).attached = false;
  fleet.Add("leaving", {1}).leaving = true;
  fleet.infos.back().state = fleet::NodeState::kStopping;
  fleet.Add("a", {1}).departing = true;
  EXPECT_THAT(fleet.Decide(1).chosen, ElementsAre("a"));
  EXPECT_THAT(fleet.Decide(1).now, IsEmpty());
}

// Node b still reports version 1 as ready, but has just been told to unload it.
TEST(Departures, ANodeThatIsToUnloadAVersionDoesNotTakeItOver) {
  Nodes fleet;
  fleet.Add("a", {1}).departing = true;
  fleet.Add("b", {1, 2});
  rollout::Placement placement;
  placement.versions = {{.version = 1, .nodes = {"a"}}};
  fleet.placements["m"] = &placement;
  EXPECT_THAT(fleet.Decide(1).chosen, ElementsAre("a"));
  EXPECT_THAT(fleet.Decide(1).now, IsEmpty());
  placement.versions[0].nodes = {"a", "b"};
  EXPECT_THAT(fleet.Decide(1).now, ElementsAre("a"));
  placement.versions.clear();
  EXPECT_THAT(fleet.Decide(1).now, ElementsAre("a")) << "no node keeps version 1";
}

TEST(Departures, ADrainingNodeIsTheLastHolderOfAVersionThatNoOtherNodeHasReady) {
  Nodes fleet;
  fleet.Add("a", {1, 2}).leaving = true;
  fleet.Add("b", {1});
  EXPECT_THAT(LastHolders(fleet.nodes), ElementsAre("a"));
  fleet.Add("c", {2});
  EXPECT_THAT(LastHolders(fleet.nodes), IsEmpty());
}

}  // namespace
}  // namespace longshore::reconcile
