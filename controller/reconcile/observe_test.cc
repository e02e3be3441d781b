#include "controller/reconcile/observe.h"

#include <gtest/gtest.h>

namespace longshore::reconcile {
namespace {

// A node that was sent (epoch 2, revision 5) and reports version 1 as ready and version 2 as failed in every way.
KnownNode Node(int64_t epoch, int64_t revision) {
  KnownNode node;
  node.attached = true;
  node.view.hello.set_node("a");
  control::DesiredState& sent = nodes::Unshared(node.view.sent);
  sent.set_epoch(2);
  sent.set_revision(5);
  control::Report& report = nodes::Unshared(node.view.report);
  report.set_epoch(epoch);
  report.set_revision(revision);
  for (const int64_t number : {1, 2}) {
    control::VersionReport& version = *report.add_versions();
    version.set_served_name("m");
    version.set_version(number);
    version.set_state(number == 1 ? control::VersionReport::READY : control::VersionReport::FAILED);
    version.set_message("why");
    version.mutable_golden()->set_message("wrong");
    version.mutable_guard()->set_tripped(true);
  }
  return node;
}

bool HasVerdicts(const KnownNode& node) {
  const rollout::NodeSeen seen = SeenOf(node, "m", false);
  const bool failed = seen.versions.at(2).state == rollout::NodeState::kFailed;
  for (const auto& [_, version] : seen.versions) {
    EXPECT_EQ(version.golden.has_value(), failed);
    EXPECT_EQ(version.guard.has_value(), failed);
  }
  EXPECT_EQ(seen.versions.at(1).state, rollout::NodeState::kReady);
  return failed;
}

TEST(Observe, AReportAboutTheStateLastSentIsBelieved) {
  EXPECT_TRUE(HasVerdicts(Node(2, 5)));
  EXPECT_TRUE(HasVerdicts(Node(3, 1)));
}

TEST(Observe, AReportAboutAnOlderStateBringsNoVerdicts) {
  EXPECT_FALSE(HasVerdicts(Node(2, 4)));
  EXPECT_FALSE(HasVerdicts(Node(1, 9)));
}

TEST(Observe, ANodeThatWasSentNothingYetBringsNoVerdicts) {
  KnownNode node = Node(2, 5);
  node.view.sent.reset();
  EXPECT_FALSE(HasVerdicts(node));
}

TEST(Observe, ThoseLeaveFirstThatHoldNothingAloneAndOfEqualsTheNewest) {
  const auto holds = [](const std::string& name, const std::vector<int64_t>& versions) {
    KnownNode node;
    node.view.hello.set_node(name);
    control::Report& report = nodes::Unshared(node.view.report);
    for (const int64_t number : versions) {
      control::VersionReport& version = *report.add_versions();
      version.set_served_name("m");
      version.set_version(number);
      version.set_state(control::VersionReport::READY);
    }
    return node;
  };
  const auto machine = [](const std::string& name, int started_s) {
    fleet::NodeInfo info;
    info.node = name;
    info.started_at = TimePoint(std::chrono::seconds(started_s));
    return info;
  };
  fleet::NodeInfo leaving = machine("leaving", 9);
  leaving.state = fleet::NodeState::kStopping;
  // Version 2, a candidate, is on "newest" alone; "silent" has said nothing yet.
  EXPECT_EQ(LeaveFirst({holds("old", {1}), holds("young", {1}), holds("newest", {1, 2})},
                       {machine("newest", 4), machine("old", 1), machine("silent", 3), machine("young", 2), leaving}),
            (std::vector<std::string>{"silent", "young", "old", "newest"}));
}

TEST(Observe, TheLatestVersionIsTheHighestThatIsThere) {
  KnownNode node = Node(2, 5);
  EXPECT_EQ(LatestVersion({node}, "m"), 2);
  control::VersionReport& unwanted = *nodes::Unshared(node.view.report).add_versions();
  unwanted.set_served_name("m");
  unwanted.set_version(7);
  EXPECT_EQ(LatestVersion({node}, "m"), 7) << "found under the source, although not wanted";
  unwanted.set_state(control::VersionReport::NOT_FOUND);
  EXPECT_EQ(LatestVersion({node}, "m"), 2);
  EXPECT_EQ(LatestVersion({node}, "other"), std::nullopt);
}

}  // namespace
}  // namespace longshore::reconcile
