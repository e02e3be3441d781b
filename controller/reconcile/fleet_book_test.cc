#include "controller/reconcile/fleet_book.h"

#include <gmock/gmock.h>

namespace longshore::reconcile {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

control::VersionReport Version(const std::string& model, int64_t number, control::VersionReport::State state) {
  control::VersionReport version;
  version.set_served_name(model);
  version.set_version(number);
  version.set_state(state);
  return version;
}

nodes::ViewPtr View(const std::string& name, const std::vector<control::VersionReport>& versions = {}) {
  nodes::NodeView view;
  view.hello.set_node(name);
  view.connected = view.reported = true;
  control::Report& report = nodes::Unshared(view.report);
  for (const control::VersionReport& version : versions) *report.add_versions() = version;
  return std::make_shared<const nodes::NodeView>(std::move(view));
}

nodes::ViewPtr Gone(const nodes::ViewPtr& view) {
  nodes::NodeView gone = *view;
  gone.connected = gone.reported = false;
  return std::make_shared<const nodes::NodeView>(std::move(gone));
}

fleet::NodeInfo Machine(const std::string& name, fleet::NodeState state = fleet::NodeState::kRunning) {
  fleet::NodeInfo node_info;
  node_info.node = name;
  node_info.state = state;
  return node_info;
}

const control::VersionReport kReady = Version("m", 1, control::VersionReport::READY);

class FleetBookTest : public ::testing::Test {
 protected:
  Changes Update(const std::vector<nodes::ViewPtr>& views) { return book_.Update(views, machines_, now_); }

  std::vector<fleet::NodeInfo> machines_ = {Machine("a"), Machine("b")};
  MonotonicPoint now_{seconds(100)};
  FleetBook book_{seconds(3)};
};

TEST_F(FleetBookTest, ReportsEachChangeOnce) {
  const nodes::ViewPtr a = View("a", {kReady});
  const nodes::ViewPtr b = View("b");
  const Changes first = Update({a, b});
  EXPECT_THAT(first.nodes, ElementsAre("a", "b"));
  EXPECT_THAT(first.models, ElementsAre("m"));
  EXPECT_THAT(first.reported, ElementsAre(a, b));
  EXPECT_THAT(book_.staying()->names, ElementsAre("a", "b"));
  const Changes again = Update({a, b});
  EXPECT_THAT(again.nodes, IsEmpty());
  EXPECT_THAT(again.models, IsEmpty());
  EXPECT_THAT(again.reported, IsEmpty());
}

TEST_F(FleetBookTest, KnowsWhichNodesReportAModel) {
  Update({View("a", {kReady}), View("b")});
  ASSERT_NE(book_.ReportsFor("m"), nullptr);
  EXPECT_EQ(book_.ReportsFor("m")->at("a").versions.front()->version(), 1);
  const Changes changes = Update({View("a"), View("b", {kReady, Version("n", 2, control::VersionReport::LOADING)})});
  EXPECT_THAT(changes.models, ElementsAre("m", "n"));
  EXPECT_EQ(book_.ReportsFor("m")->count("a"), 0u);
  EXPECT_EQ(book_.ReportsFor("m")->count("b"), 1u);
  Update({View("a"), View("b")});
  EXPECT_EQ(book_.ReportsFor("m"), nullptr);
}

TEST_F(FleetBookTest, EvidenceCountsAreTakenButDoNotChangeTheModel) {
  Update({View("a", {kReady})});
  control::VersionReport more = kReady;
  more.mutable_evidence()->set_requests(5);
  const Changes changes = Update({View("a", {more})});
  EXPECT_THAT(changes.models, IsEmpty());
  EXPECT_EQ(changes.reported.size(), 1u);
}

TEST_F(FleetBookTest, VerdictIsAChangeWhenItsReportBecomesFresh) {
  nodes::NodeView view = *View("a", {Version("m", 1, control::VersionReport::FAILED)});
  nodes::Unshared(view.sent).epoch = 1;
  Update({std::make_shared<const nodes::NodeView>(view)});
  control::Report& report = nodes::Unshared(view.report);
  report.set_epoch(1);
  EXPECT_THAT(Update({std::make_shared<const nodes::NodeView>(view)}).models, ElementsAre("m"));
}

TEST_F(FleetBookTest, LostNodeIsKnownUntilItsGraceTimeEnds) {
  const nodes::ViewPtr a = View("a", {kReady});
  Update({a});
  now_ += seconds(3600);  // An hour without changes.
  EXPECT_THAT(Update({Gone(a)}).nodes, ElementsAre("a"));
  EXPECT_FALSE(book_.Find("a")->attached);
  EXPECT_EQ(book_.grace_until(), now_ + seconds(3));
  now_ += seconds(2);
  EXPECT_THAT(Update({Gone(a)}).nodes, IsEmpty());
  EXPECT_NE(book_.ReportsFor("m"), nullptr);
  now_ += seconds(2);
  const Changes changes = Update({Gone(a)});
  EXPECT_THAT(changes.nodes, ElementsAre("a"));
  EXPECT_THAT(changes.models, ElementsAre("m"));
  EXPECT_EQ(book_.Find("a"), nullptr);
  EXPECT_EQ(book_.ReportsFor("m"), nullptr);
  EXPECT_EQ(book_.grace_until(), std::nullopt);
  EXPECT_THAT(book_.staying()->names, IsEmpty());
}

TEST_F(FleetBookTest, NodeWithoutMachineIsRemovedAtOnce) {
  Update({View("a")});
  machines_.clear();
  EXPECT_THAT(Update({View("a")}).nodes, ElementsAre("a"));
  EXPECT_EQ(book_.Find("a"), nullptr);
}

TEST_F(FleetBookTest, LeavingNodeStaysKnownButIsNotStaying) {
  const nodes::ViewPtr a = View("a");
  Update({a, View("b")});
  machines_[0].state = fleet::NodeState::kStopping;
  EXPECT_THAT(Update({a, View("b")}).nodes, ElementsAre("a"));
  EXPECT_TRUE(IsDraining(*book_.Find("a")));
  EXPECT_THAT(book_.staying()->names, ElementsAre("b"));
}

TEST_F(FleetBookTest, DepartingNodeIsNotStayingAndKeepsThisMark) {
  const nodes::ViewPtr a = View("a");
  Update({a, View("b")});
  EXPECT_THAT(book_.SetDeparting({"a"}), ElementsAre("a"));
  EXPECT_THAT(book_.SetDeparting({"a"}), IsEmpty());
  EXPECT_THAT(book_.staying()->names, ElementsAre("b"));
  Update({View("a", {kReady}), View("b")});
  EXPECT_TRUE(book_.Find("a")->departing);
  EXPECT_FALSE(IsDraining(*book_.Find("a")));
  EXPECT_THAT(book_.SetDeparting({}), ElementsAre("a"));
  EXPECT_THAT(book_.staying()->names, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace longshore::reconcile
