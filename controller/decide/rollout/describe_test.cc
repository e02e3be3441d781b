// Tests that the messages in the status stay short in a large fleet in which each node has a message.
#include <gmock/gmock.h>

#include "common/base/text.h"
#include "controller/api/format.h"
#include "controller/decide/rollout/rollout.h"

namespace longshore::rollout {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kStart = FromUnixMillis(1'700'000'000'000);
constexpr size_t kMessageBytesMax = 10'000;

VersionSeen Seen(NodeState state, const std::string& message) {
  VersionSeen seen;
  seen.state = state;
  seen.message = message;
  return seen;
}

// Version 1 is ready on all nodes but its files differ from the pinned digest; version 2 cannot be loaded.
Observed AHundredAndThirtyNodes() {
  Observed observed;
  for (int i = 0; i < 130; ++i) {
    NodeSeen node;
    node.name = fmt::format("cpu-{:03}", i);
    node.versions[1] = Seen(NodeState::kReady, "");
    node.versions[1].digest = std::string(64, 'd');
    node.versions[2] = Seen(NodeState::kLoading, fmt::format("{:ж>125}", i));  // About 250 bytes.
    node.versions[3] = Seen(NodeState::kNotFound, fmt::format("{:y>250}", i));
    node.source = SourceSeen{"s", SourceState::kFailed, std::string(2000, 'z')};
    observed.nodes.push_back(std::move(node));
  }
  return observed;
}

api::Model LoadingVersion2() {
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.generation = 1;
  model.spec.fleet = "cpu";
  model.spec.served_name = "digits";
  model.spec.source_uri = "https://h/m.tar";
  model.spec.source_sha256 = "s";
  model.spec.version = 2;
  model.spec.version_labels = {{"next", 3}};
  model.status.stable_version = 1;
  model.status.digests[1] = std::string(64, 'p');
  api::RolloutStatus& rollout = model.status.rollout;
  rollout.id = "u/2/1";
  rollout.phase = api::RolloutPhase::kLoading;
  rollout.stable = 1;
  rollout.candidate = 2;
  rollout.started_at = rollout.step_started_at = kStart;
  return model;
}

size_t BytesOf(const Json& status) { return DumpJson(status).size(); }

TEST(Describe, LimitsEachMessageForAnyNumberOfNodes) {
  const api::ModelStatus status = Decide(LoadingVersion2(), AHundredAndThirtyNodes(), kStart + minutes(1)).status;
  for (const char* type : {"Progressing", "FilesAgree", "LabelsServed", "SourceReady"}) {
    const auto found = std::ranges::find(status.conditions, type, &api::Condition::type);
    ASSERT_NE(found, status.conditions.end()) << type;
    EXPECT_GT(found->message.size(), 1000U) << type;
    EXPECT_LE(found->message.size(), kMessageBytesMax) << type;
    EXPECT_EQ(ValidUtf8(found->message), found->message) << type;
    EXPECT_THAT(found->message, testing::ContainsRegex("; and [0-9]+ more (nodes|differences)$")) << type;
  }
}

TEST(Describe, LimitsTheMessageOfARolloutThatWaitedTooLong) {
  const api::ModelStatus status = Decide(LoadingVersion2(), AHundredAndThirtyNodes(), kStart + minutes(11)).status;
  ASSERT_EQ(status.rollout.phase, api::RolloutPhase::kRolledBack);
  EXPECT_EQ(status.rollout.verdict.reason, "ProgressDeadline");
  EXPECT_LE(BytesOf(ToJson(status)), 60'000U);
  EXPECT_THAT(status.history.back().message, testing::EndsWith(" more nodes"));
}

TEST(Describe, ALongHistoryKeepsTheEntriesOfTheVersionThatServesAndOfTheOneBefore) {
  api::Model model = LoadingVersion2();
  std::vector<api::HistoryEntry>& history = model.status.history;
  history = {{kStart, 7, "Promoted", ""}, {kStart, 1, "Promoted", ""}};
  while (history.size() < api::kHistoryMax) history.push_back({kStart, 2, "RolledBack", ""});
  const auto last = Decide(model, AHundredAndThirtyNodes(), kStart + minutes(11)).status.history;
  ASSERT_EQ(last.size(), api::kHistoryMax);
  EXPECT_EQ(last[0].version, 7) << "an undo returns to it";
  EXPECT_EQ(last[1].version, 1) << "it serves";
  EXPECT_EQ(last.back().at, kStart + minutes(11));
}

TEST(Describe, CutsALongMessageOfOneNode) {
  Observed observed = AHundredAndThirtyNodes();
  for (NodeSeen& node : observed.nodes) {
    node.versions[2] = Seen(NodeState::kFailed, std::string(1'000'000, 'x'));
  }
  const api::ModelStatus status = Decide(LoadingVersion2(), observed, kStart + minutes(1)).status;
  ASSERT_EQ(status.rollout.phase, api::RolloutPhase::kRolledBack);
  EXPECT_LE(BytesOf(ToJson(status)), 120'000U);
}

TEST(Describe, SaysOfAModelWithoutNodesWhatIsMissing) {
  api::Model model = LoadingVersion2();
  model.status.rollout = {};
  Observed observed;
  observed.nodes.resize(1);
  observed.nodes[0].name = "a";
  observed.nodes[0].draining = true;
  observed.nodes[0].versions[1] = Seen(NodeState::kReady, "");
  observed.fleet = MakeNodeNames({});
  const auto ready = [&] {
    const api::ModelStatus status = Decide(model, observed, kStart).status;
    const api::Condition& found = *std::ranges::find(status.conditions, "Ready", &api::Condition::type);
    return found.status + " " + found.reason + " " + found.message;
  };
  EXPECT_EQ(ready(), "True Serving version 1 is ready only on nodes that leave");
  observed.no_fleet = "ServingFleet vision/cpu does not exist";
  EXPECT_EQ(ready(), "False NoFleet ServingFleet vision/cpu does not exist");
  observed.no_fleet.clear();
  observed.nodes.clear();
  EXPECT_EQ(ready(), "False NoNodes no node of fleet cpu is connected");
}

TEST(Describe, AFleetThatDoesNotExistIsAMistakeAfterAWhile) {
  api::Model model = LoadingVersion2();
  model.status.rollout = {};
  model.status.observed_generation = model.metadata.generation;
  Observed observed;
  observed.no_fleet = "ServingFleet vision/cpu does not exist";
  observed.fleet = MakeNodeNames({});
  const auto stalled = [&](Duration after) {
    const Decision decision = Decide(model, observed, kStart + after);
    const auto& conditions = decision.status.conditions;
    const api::Condition& found = *std::ranges::find(conditions, "Stalled", &api::Condition::type);
    const Duration again = decision.check_again_in.value_or(Duration(0));
    return fmt::format("{} {} {}, again in {} s", found.status, found.reason, found.message, again / seconds(1));
  };
  EXPECT_EQ(stalled(Duration(0)), "False None , again in 10 s") << "it may be applied after the Model";
  model.status.conditions = {{"FleetFound", "False", "NotFound", observed.no_fleet, 1, kStart}};
  EXPECT_EQ(stalled(seconds(4)), "False None , again in 6 s");
  EXPECT_EQ(stalled(seconds(10)), "True NoFleet ServingFleet vision/cpu does not exist, again in 0 s");
  observed.no_fleet.clear();
  EXPECT_EQ(stalled(seconds(11)), "False None , again in 0 s");
}

}  // namespace
}  // namespace longshore::rollout
