#include "controller/reconcile/observe.h"

#include <gtest/gtest.h>

namespace longshore::reconcile {
namespace {

// A node that was last sent the state (epoch 2, revision 5). Its report is about the state (`epoch`, `revision`):
// version 1 is ready, version 2 has failed, and both have a failed golden set and a tripped guard.
nodes::NodeView Node(int64_t epoch, int64_t revision) {
  nodes::NodeView view;
  view.hello.set_node("a");
  nodes::Sent& sent = nodes::Unshared(view.sent);
  sent.epoch = 2;
  sent.revision = 5;
  control::Report& report = nodes::Unshared(view.report);
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
  return view;
}

std::vector<const control::VersionReport*> VersionsOf(const nodes::NodeView& view) {
  std::vector<const control::VersionReport*> versions;
  for (const control::VersionReport& version : view.report->versions()) versions.push_back(&version);
  return versions;
}

bool HasVerdicts(const nodes::NodeView& view) {
  const auto seen = SeenOf(VersionsOf(view), IsFresh(view));
  const bool failed = seen.at(2).state == rollout::NodeState::kFailed;
  for (const auto& [_, version] : seen) {
    EXPECT_EQ(version.golden.has_value(), failed);
    EXPECT_EQ(version.guard.has_value(), failed);
  }
  EXPECT_EQ(seen.at(1).state, rollout::NodeState::kReady);
  return failed;
}

TEST(Observe, ReportAboutTheLastStateSentKeepsItsVerdicts) {
  EXPECT_TRUE(HasVerdicts(Node(2, 5)));
  EXPECT_TRUE(HasVerdicts(Node(3, 1)));
}

TEST(Observe, ReportAboutAnOlderStateHasNoVerdicts) {
  EXPECT_FALSE(HasVerdicts(Node(2, 4)));
  EXPECT_FALSE(HasVerdicts(Node(1, 9)));
}

TEST(Observe, ARepeatedRunOfTheGoldenSetIsNoVerdictOnAnAttempt) {
  for (const int64_t epoch : {1, 3}) {
    nodes::NodeView view = Node(epoch, 1);
    control::GoldenResult& golden = *nodes::Unshared(view.report).mutable_versions(0)->mutable_golden();
    golden.set_records(10);
    golden.set_passed(9);
    golden.set_at_unix_ms(1000);
    golden.set_request("v");
    nodes::Unshared(view.report).mutable_versions(0)->set_golden_due_unix_ms(2000);
    const rollout::VersionSeen seen = SeenOf(VersionsOf(view), IsFresh(view)).at(1);
    EXPECT_FALSE(seen.golden);
    ASSERT_TRUE(seen.golden_again);
    EXPECT_FALSE(seen.golden_again->ok);
    EXPECT_EQ(seen.golden_again->passed, 9);
    EXPECT_EQ(seen.golden_again->at, FromUnixMillis(1000));
    EXPECT_EQ(seen.golden_again->request, "v");
    EXPECT_EQ(seen.golden_due, FromUnixMillis(2000));
  }
}

TEST(Observe, LackOfMemoryIsNotAFailureAndDoesNotDependOnTheAgeOfTheReport) {
  for (const int64_t epoch : {1, 3}) {
    nodes::NodeView view = Node(epoch, 1);
    control::MemoryShortage& shortage = *nodes::Unshared(view.report).mutable_versions(1)->mutable_memory_shortage();
    shortage.set_needed_bytes(1200);
    shortage.set_free_bytes(300);
    const rollout::VersionSeen seen = SeenOf(VersionsOf(view), IsFresh(view)).at(2);
    EXPECT_EQ(seen.state, rollout::NodeState::kNoMemory);
    EXPECT_EQ(seen.memory.needed_bytes, 1200);
    EXPECT_EQ(seen.memory.free_bytes, 300);
  }
}

TEST(Observe, ReportOfANodeThatWasSentNothingHasNoVerdicts) {
  nodes::NodeView view = Node(2, 5);
  view.sent.reset();
  EXPECT_FALSE(HasVerdicts(view));
}

TEST(Observe, ConvertsTheReportOnAnArchiveSource) {
  control::SourceReport source;
  source.set_sha256("0123");
  source.set_state(control::SourceReport::FAILED);
  source.set_message("404");
  const rollout::SourceSeen seen = SeenOf(source);
  EXPECT_EQ(seen.sha256, "0123");
  EXPECT_EQ(seen.state, rollout::SourceState::kFailed);
  EXPECT_EQ(seen.message, "404");
  source.set_uri("file:///models/a");
  EXPECT_EQ(SeenOf(source).uri, "file:///models/a");
}

TEST(Observe, ANodeIsReadyIfEachVersionWithWeightIsReadyThereOrFailedThereAndReadyElsewhere) {
  nodes::NodeView view = Node(2, 5);
  view.connected = true;
  const auto is_ready = [&](int64_t version, const std::vector<int64_t>& elsewhere) {
    nodes::Unshared(view.sent).models["m"] =
        std::make_shared<const nodes::SentModel>(nodes::SentModel{"", {version}, elsewhere});
    return IsReady(view);
  };
  EXPECT_TRUE(is_ready(1, {}));
  EXPECT_FALSE(is_ready(2, {})) << "it failed";
  EXPECT_TRUE(is_ready(2, {2}));
  EXPECT_FALSE(is_ready(3, {3})) << "it is not reported yet, so it may still become ready here";
}

TEST(Observe, LatestVersionIsTheHighestThatExists) {
  nodes::NodeView view = Node(2, 5);
  EXPECT_EQ(LatestVersion(VersionsOf(view)), 2);
  control::VersionReport& unwanted = *nodes::Unshared(view.report).add_versions();
  unwanted.set_version(7);
  EXPECT_EQ(LatestVersion(VersionsOf(view)), 7) << "it exists in the source, although it is not wanted";
  unwanted.set_state(control::VersionReport::NOT_FOUND);
  EXPECT_EQ(LatestVersion(VersionsOf(view)), 2);
  EXPECT_EQ(LatestVersion({}), std::nullopt);
}

}  // namespace
}  // namespace longshore::reconcile
