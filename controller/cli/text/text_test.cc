// Compares texts with the files of tests/golden/cli. LONGSHORE_GOLDEN_WRITE=1 rewrites them after an intended change.
#include "controller/cli/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "common/os/file.h"
#include "controller/api/parse.h"
#include "controller/cli/text/compared.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/golden_run.h"
#include "controller/cli/text/plan.h"
#include "controller/cli/text/rollout.h"
#include "controller/cli/text/standing.h"
#include "controller/cli/text/table.h"
#include "controller/decide/analysis/analysis.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::cli::text {
namespace {

using api::RolloutPhase;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr TimePoint kNow{std::chrono::seconds(1'800'000'000)};
constexpr TimePoint Ago(int64_t seconds) { return kNow - std::chrono::seconds(seconds); }

void ExpectGolden(const std::string& name, const std::string& text) {
  const Path path = source_tree::Root() / "tests/golden/cli" / (name + ".txt");
  if (std::getenv("LONGSHORE_GOLDEN_WRITE") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text));
  }
  const auto golden = ReadFile(path);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(text, *golden) << "differs from " << path;
}

api::Model MakeModel() {
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.namespace_ = "vision";
  model.metadata.generation = 4;
  model.spec.fleet = "cpu";
  model.spec.served_name = "my_digits";
  model.spec.source_uri = "file:///models/digits";
  model.spec.version = 3;
  model.status.observed_generation = 4;
  model.status.stable_version = 2;
  model.status.conditions = {{"Ready", "True", "Serving", "version 2 is ready on 2 of 2 nodes", 4, Ago(3000)}};
  model.status.nodes = {{"cpu-0", "2:Ready 3:Ready"}, {"cpu-1", "2:Ready"}};
  model.status.history = {{Ago(3100), 1, "Promoted", "The first version."},
                          {Ago(900), 2, "Promoted", "No evidence against it in 4100 requests."},
                          {Ago(40), 3, "Started", "2 -> 3"}};
  return model;
}

api::Model RollingOut() {
  api::Model model = MakeModel();
  api::RolloutStatus& rollout = model.status.rollout;
  rollout.phase = RolloutPhase::kStep;
  rollout.stable = 2;
  rollout.candidate = 3;
  rollout.step_index = 1;
  rollout.weight_percent = 25;
  rollout.started_at = Ago(40);
  rollout.step_started_at = Ago(12);
  rollout.step_candidate_requests = 40;
  rollout.verdict = {.result = "Undecided",
                     .reason = "TooFewRequests",
                     .message = "60 of 100 requests",
                     .numbers = {{"candidateRequests", 100},
                                 {"candidateErrors", 3},
                                 {"candidateP50Ms", 11.3},
                                 {"candidateP99Ms", 20.7},
                                 {"stableRequests", 1900},
                                 {"stableErrors", 19},
                                 {"stableP50Ms", 10.4},
                                 {"stableP99Ms", 19},
                                 {"eErrors", 3},
                                 {"eErrorsLimit", 222},
                                 {"eErrorsProof", 0.4},
                                 {"eLatency", 0.1},
                                 {"eLatencyLimit", 222},
                                 {"eLatencyProof", 4.5},
                                 {"eProofLimit", 20},
                                 {"errorDifferenceLow", -0.012},
                                 {"errorDifferenceHigh", 0.052},
                                 {"runTimeRatioLow", 0.98},
                                 {"runTimeRatioHigh", 1.14}}};
  model.status.accepted_commands = {"promote", "pause", "abort", "undo"};
  return model;
}

api::Model Failed() {
  api::Model model = MakeModel();
  model.status.rollout.phase = RolloutPhase::kRolledBack;
  model.status.rollout.candidate = 3;
  model.status.rollout.verdict = {
      .result = "Fail", .reason = "GoldenSet", .message = "score 0.11 is below 0.95", .numbers = {}};
  model.status.rollout.step_started_at = Ago(30);
  model.status.failed = {{3, "abc", 4, "GoldenSet", "score 0.11 is below 0.95", Ago(30)}};
  model.status.accepted_commands = {"undo", "retry"};
  return model;
}

api::Model Stalled() {
  api::Model model = Failed();
  model.status.conditions.push_back(
      {"Stalled", "True", "GoldenSet", "version 3 failed: score 0.11 is below 0.95", 4, Ago(30)});
  return model;
}

api::Model MakeAsWanted() {
  api::Model model = MakeModel();
  model.status.stable_version = 3;
  model.status.conditions[0].message = "version 3 is ready on 2 of 2 nodes";
  return model;
}

api::ServingFleet MakeFleet() {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.metadata.namespace_ = "vision";
  fleet.spec.replicas_min = 2;
  fleet.spec.replicas_max = 4;
  fleet.status.replicas = 3;
  fleet.status.ready_replicas = 2;
  fleet.status.grpc_address = "127.0.0.1:8500";
  fleet.status.rest_address = "127.0.0.1:8501";
  fleet.status.autoscale.desired = 3;
  fleet.status.autoscale.reason = "QueueDelay";
  fleet.status.autoscale.message = "31 ms is above 10 ms";
  fleet.status.autoscale.evidence_at = Ago(1);
  fleet.status.conditions = {{"Ready", "False", "NodesStarting", "2 of 3 nodes are ready", 1, Ago(2)}};
  fleet.status.nodes = {{"cpu-0", 100, "Ready", "127.0.0.1:1"}, {"cpu-2", 0, "Starting", ""}};
  return fleet;
}

TEST(Text, ModelsTableShowsServedAndWantedVersions) {
  api::Model fresh;
  fresh.metadata.name = "new";
  fresh.spec.fleet = "cpu";
  ExpectGolden("models", ModelsTable({RollingOut(), Stalled(), MakeAsWanted(), fresh}, kNow));
}
api::Model Shadowed() {
  api::Model model = RollingOut();
  model.status.rollout.verdict.message = "the candidate has had 60 of the 100 pairs that this phase requires";
  model.spec.rollout.strategy = api::Strategy::kShadow;
  model.spec.rollout.steps.clear();
  model.spec.rollout.shadow.emplace();
  model.spec.rollout.shadow->compare = {{.output = "probabilities"},
                                        {.output = "text", .measure = api::Measure::kEqual, .rows = 0.95}};
  api::RolloutStatus& rollout = model.status.rollout;
  rollout.phase = RolloutPhase::kShadow;
  rollout.verdict.numbers = {{"pairs", 410}, {"pairsOnlyCandidateFailed", 2}, {"errorDifferenceLow", -1}};
  rollout.verdict.numbers.insert({{"errorDifferenceHigh", 1}, {"eProofLimit", 20}});
  rollout.step_candidate_requests = 350;
  rollout.step_index = 0;
  rollout.weight_percent = 0;
  auto analysis = analysis::Begin(model.spec, {});
  analysis::WindowEvidence window;
  window.candidate.pairs.pairs = 410;
  window.candidate.pairs.outputs = {{"probabilities: Top1", 410, 2, 1, 0}, {"text: Equal", 400, 0, 8, 4}};
  window.candidate.pairs.dropped = {.busy = 280, .budget = 15, .queue = 5};
  rollout.analysis = ToJson(analysis::Update(std::move(analysis), "cpu-0", window));
  return model;
}

TEST(Text, ExplainInThePhaseShadowSaysWhatTheOutputsHaveShown) {
  ExpectGolden("explain_shadow", ExplainModel(Shadowed(), kNow));
}

TEST(Text, ExplainAndStatusWarnOfOtherAnswersThatNothingLimits) {
  api::Model model = Shadowed();
  model.status.rollout.paused_reason = "ShadowPassed";
  model.status.rollout.verdict.numbers.insert({{"driftPairs", 410}, {"driftTop1Changed", 400}, {"driftMean", 0.968}});
  constexpr const char* kWarning = "But the two versions answer differently: in 400 of 410 pairs";
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr(kWarning))) << "spec.rollout.shadow.compare limits it";
  model.spec.rollout.shadow->compare.clear();
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr(kWarning));
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("mean difference of the answers to the same input"));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr(kWarning));
  model.status.rollout.verdict.numbers["driftTop1Changed"] = 4;
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr(kWarning))) << "below 1 %";
}

// The medians of all requests may differ by more or less than those of the pairs.
TEST(Text, AnIntervalOfPairsIsNotInTheRowOfTheRequestsMedians) {
  api::Model model = RollingOut();
  const auto difference = [&](const std::string& what) {
    for (const ComparedRow& row : ComparedRows(model)) {
      if (row.what == what) return row.difference;
    }
    return std::string("no such row");
  };
  EXPECT_EQ(difference("run time, median"), "2.0 % shorter to 14 % longer");
  EXPECT_EQ(difference("run time on the same input"), "no such row");
  model.status.rollout.verdict.numbers.insert({{"pairs", 123}, {"runTimePairs", 0}});
  EXPECT_EQ(difference("run time, median"), "2.0 % shorter to 14 % longer") << "too few pairs for an interval";
  model.status.rollout.verdict.numbers["runTimePairs"] = 123;
  EXPECT_EQ(difference("run time, median"), "");
  EXPECT_EQ(difference("run time on the same input"), "2.0 % shorter to 14 % longer");
}

TEST(Text, ExplainSaysWhyThereAreNoPairsIfAllWereDropped) {
  api::Model model = Shadowed();
  analysis::WindowEvidence window;
  window.candidate.pairs.dropped.busy = 7;
  model.status.rollout.analysis = ToJson(analysis::Update(analysis::Begin(model.spec, {}), "cpu-0", window));
  EXPECT_THAT(ExplainModel(model, kNow),
              HasSubstr("0 inputs ran on both versions; 7 more were dropped: 7 because the node was busy.\n"));
}

TEST(Text, ExplainAndStatusSayThatPairsHaveTooLittleRoom) {
  api::Model model = Shadowed();
  model.status.conditions.push_back({"PairsHaveRoom", "False", "NeverIdle", "no slot was idle", 4, kNow});
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("Pairs have too little room (NeverIdle): no slot was idle\n"));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("trouble   PairsHaveRoom: no slot was idle"));
}

TEST(Text, StatusNamesKindsThatAreOlderThanTheController) {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.status.conditions = {
      {"Ready", "True", "Ready", "", 1, kNow},
      {"ManifestAccepted", "False", "OldKinds", "the CRDs are older than the controller", 1, kNow}};
  EXPECT_THAT(StatusTable({fleet}, {}), HasSubstr("the CRDs are older than the controller"));
  EXPECT_EQ(ReportOf(fleet).standing, Standing::kAsWanted) << "it is served as wanted";
}

TEST(Text, APreviewThatWaitsForAPersonIsNotCalledPaused) {
  api::Model model = Shadowed();
  model.status.rollout.phase = RolloutPhase::kPreview;
  model.status.rollout.paused_reason = "Preview";
  EXPECT_EQ(RolloutInShort(model), "2 -> 3, Preview, waits for promote");
  model.status.rollout.paused_reason = "Command";
  EXPECT_EQ(RolloutInShort(model), "2 -> 3, Preview, paused");
}

TEST(Text, AFirstVersionReplacesNone) {
  api::Model model;
  model.status.rollout.phase = RolloutPhase::kValidating;
  model.status.rollout.candidate = 1;
  EXPECT_EQ(RolloutInShort(model), "new: 1, Validating");
}

TEST(Text, FleetsTableShowsNodesAndTheReasonForTheirNumber) { ExpectGolden("fleets", FleetsTable({MakeFleet()})); }
TEST(Text, AFleetWithoutAutoscalingShowsNoWantedNumberOfNodes) {
  api::ServingFleet fleet = MakeFleet();
  fleet.status.autoscale = {};
  EXPECT_EQ(DescribeFleet(fleet, kNow).find("Scaling"), std::string::npos) << DescribeFleet(fleet, kNow);
  EXPECT_NE(FleetsTable({fleet}).find("  -  "), std::string::npos) << FleetsTable({fleet});
}
TEST(Text, DescribesAModel) { ExpectGolden("describe_model", DescribeModel(Failed(), kNow)); }
TEST(Text, DescribesAFleet) { ExpectGolden("describe_fleet", DescribeFleet(MakeFleet(), kNow)); }
TEST(Explain, SaysWhyAStepIsHeldWithTheNumbers) { ExpectGolden("explain_step", ExplainModel(RollingOut(), kNow)); }
TEST(Rollout, ShowsAStepWithItsIntervals) { ExpectGolden("rollout_step", RolloutView(RollingOut(), kNow, "")); }
TEST(Rollout, ShowsHowTheLastOneEnded) { ExpectGolden("rollout_failed", RolloutView(Failed(), kNow, "")); }
TEST(Explain, SaysWhyTheWantedVersionIsNotServed) { ExpectGolden("explain_failed", ExplainModel(Failed(), kNow)); }

TEST(Text, ShowsTheRunOfAGoldenSetOnEachNode) {
  using api::GoldenRunState;
  api::GoldenRequest request{.id = "v", .at = kNow, .ended = true, .passed = 1, .failed = 1};
  request.nodes = {{"b", GoldenRunState::kFailed, "9 of 10 records passed: first difference: record 3: output \"y\""},
                   {"a", GoldenRunState::kPassed, "10 of 10 records passed"}};
  std::string text = GoldenRunText(request);
  request = {.id = "v", .at = kNow, .waiting = 2, .passed = 101};
  request.nodes = {{"c", GoldenRunState::kWaiting, ""}, {"d", GoldenRunState::kWaiting, ""}};
  ExpectGolden("golden_run", text + "\n" + GoldenRunText(request));
}

TEST(Explain, SaysThatAGoldenSetFailsAndWhatAPersonCanDo) {
  api::Model model = Failed();
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("The golden set")));
  model.spec.validation.golden_every = std::chrono::hours(24);
  model.status.conditions.push_back(
      {"GoldenSetPasses", "True", "Passed", "version 2 passed on all 3 nodes", 4, Ago(9)});
  EXPECT_THAT(ExplainModel(model, kNow),
              AllOf(HasSubstr("The golden set\n  Runs again every 24 h: version 2 passed on all 3 nodes.\n"),
                    Not(HasSubstr("undo vision"))));
  model.status.conditions.back().status = "False";
  model.status.conditions.back().message = "version 2 fails its golden set on 1 of 3 nodes";
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("version 2 fails its golden set on 1 of 3 nodes.\n  No weight "
                                                   "changes by itself. `longshore undo digits -n vision`"));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("trouble   GoldenSetPasses: version 2 fails"));
  model.status.conditions.back() = {"GoldenSetPasses", "Unknown", "Overdue", "its run is overdue", 4, Ago(9)};
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("its run is overdue.\n  A busy node runs it only in idle slots."));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("trouble   GoldenSetPasses: its run is overdue"));
}

TEST(Explain, AVersionThatLackedMemoryIsTriedAgainByItself) {
  api::Model model = Failed();
  model.status.failed.back().reason = "NotEnoughMemory";
  EXPECT_NE(ExplainModel(model, kNow).find("It is tried again when one of these nodes has enough memory"),
            std::string::npos)
      << ExplainModel(model, kNow);
}

TEST(Explain, AStepWaitsForItsNodesThenItsHoldThenForEvidence) {
  api::Model model = RollingOut();
  EXPECT_NE(ExplainModel(model, kNow).find("lasts at least 18 s more"), std::string::npos) << ExplainModel(model, kNow);
  model.status.rollout.step_started_at = Ago(31);
  EXPECT_NE(ExplainModel(model, kNow).find("lasts until its verdict is Pass"), std::string::npos);
  model.status.rollout.weight_percent = 5;
  EXPECT_NE(ExplainModel(model, kNow).find("The step to 25 % waits until enough nodes"), std::string::npos);
}

TEST(Explain, ACandidateThatIsNotReadyComesWithTheReportOfTheNodes) {
  api::Model model = RollingOut();
  model.status.rollout.phase = RolloutPhase::kValidating;
  model.status.conditions.push_back(
      {"Reconciling", "True", "Validating", "node a: no directory of version 3 in /m", 4, Ago(9)});
  EXPECT_THAT(ExplainModel(model, kNow),
              HasSubstr("  But node a: no directory of version 3 in /m.\n"
                        "  The rollout goes on when this is resolved; otherwise, in 10 min (progressDeadline is 600s), "
                        "it ends.\n"));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("  waits     The rollout goes on when this is resolved;"));
  EXPECT_THAT(StatusTable({}, {model}), HasSubstr("2 -> 3, Validating: node a: no directory of version 3 in /m\n"));
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("2 -> 3, Validating: node a: no directory of version 3 in /m\n"));
  EXPECT_THAT(ModelsTable({model}, kNow), HasSubstr("2 -> 3, Validating   node a: no directory of version 3 in /m\n"));
}

TEST(Explain, AtTheDeadlineARolloutMayGoOnWithoutSomeNodes) {
  api::Model model = RollingOut();
  model.status.rollout.phase = RolloutPhase::kLoading;
  model.status.conditions.push_back({"Reconciling", "True", "Loading", "node a: bad disk", 4, Ago(9)});
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("it goes on without the nodes that are not ready, if these are at "
                                                   "most 10 % of the nodes (maxUnavailable), or ends."));
  model.spec.rollout.max_unavailable = {.value = 1, .is_percent = false};
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("at most 1 node (maxUnavailable)"));
  model.spec.rollout.max_unavailable.value = 0;
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("(progressDeadline is 600s), it ends."));
}

TEST(Explain, NamesAGoldenSetOnlyIfTheManifestHasOne) {
  api::Model model = RollingOut();
  model.status.rollout.phase = RolloutPhase::kValidating;
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("golden set")));
  EXPECT_THAT(StatusOfModel(model, kNow), Not(HasSubstr("golden set")));
  model.spec.validation.golden_set = "golden.tfrecord";
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("warms it up and runs its golden set"));
}

TEST(Explain, OffersExactlyTheAcceptedCommandsAndOnlyForTheManifestThatTheControllerHasProcessed) {
  api::Model model = RollingOut();
  model.status.accepted_commands = {"abort", "undo"};
  std::string text = ExplainModel(model, kNow, " --manifests /m");
  EXPECT_THAT(text, HasSubstr("\nWhat you can do now\n  longshore abort digits -n vision --manifests /m   end the "
                              "rollout; version 2 gets all requests\n"));
  for (const char* refused : {"longshore promote", "longshore pause", "longshore undo", "longshore retry"})
    EXPECT_THAT(text, Not(HasSubstr(refused)));
  model.metadata.generation = 5;
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("longshore abort")));
}

TEST(Explain, AFailureOfAnEarlierManifestOrBeforeTheRolloutUnderWayIsNotShown) {
  api::Model model = RollingOut();
  model.status.failed = {{3, "abc", 4, "Aborted", "aborted by command", Ago(300)}};
  EXPECT_THAT(ExplainModel(model, kNow), AllOf(Not(HasSubstr("tried again")), Not(HasSubstr("retry"))));
  model = Failed();
  model.status.failed[0].generation = 3;
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("tried again")));
}

TEST(Explain, ARolloutThatComparedNothingHasNoVerdict) {
  api::Model model = MakeAsWanted();
  model.status.rollout.phase = RolloutPhase::kCompleted;
  model.status.rollout.candidate = 3;
  EXPECT_THAT(ExplainModel(model, kNow),
              HasSubstr("The verdict\n  A first version is compared with no other one, so it has no verdict.\n"));
  model.status.rollout.stable = 2;
  model.status.rollout.verdict = {"Undecided", "NotStarted", "the candidate has had no traffic yet", {}};
  EXPECT_THAT(
      ExplainModel(model, kNow),
      AllOf(HasSubstr("The verdict\n  No verdict: version 3 got all requests without one; nothing was compared.\n"),
            Not(HasSubstr("Undecided"))));
}

TEST(Explain, ARolloutThatAPersonEndedHasNoVerdictOfItsOwn) {
  api::Model model = RollingOut();
  model.status.rollout.phase = RolloutPhase::kCompleted;
  model.status.rollout.promoted_by_command = true;
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("  No verdict: a person promoted version 3 before; the last one was "
                                                   "Undecided (TooFewRequests).\n"));
  model = Failed();
  model.status.rollout.verdict = {"Fail", "Aborted", "aborted by command", {}};
  model.status.failed[0].reason = "Aborted";
  model.status.failed[0].message = "aborted by command";
  EXPECT_THAT(ExplainModel(model, kNow),
              AllOf(HasSubstr("  A person aborted the rollout of version 3 30s ago.\n"),
                    HasSubstr("The verdict\n  No verdict: version 3 was aborted by command.\n")));
}

TEST(Text, ATableOfModelsSaysWhyAVersionFailedAndNothingOfItOnceAnotherIsWanted) {
  api::Model model = Stalled();
  EXPECT_THAT(ModelsTable({model}, kNow), HasSubstr("GoldenSet: version 3 failed: score 0.11 is below 0.95\n"));
  model.spec.version = 2;
  model.status.conditions.back().status = "False";
  model.status.history.push_back({Ago(30), 3, "RolledBack", "version 3: GoldenSet"});
  EXPECT_THAT(ModelsTable({model}, kNow),
              AllOf(HasSubstr("version 2 began to serve 15m ago\n"), Not(HasSubstr("RolledBack"))));
}

// A Model whose rollout from version 2 to version 3 ended a minute ago.
api::Model ModelAfter(RolloutPhase phase, int64_t serves) {
  api::Model model = MakeModel();
  model.status.stable_version = serves;
  model.status.rollout.phase = phase;
  model.status.rollout.stable = 2;
  model.status.rollout.candidate = 3;
  model.status.rollout.step_started_at = Ago(60);
  return model;
}

TEST(Explain, NamesTheWayBackAfterAnUndo) {
  api::Model model = ModelAfter(RolloutPhase::kRolledBack, 2);
  model.status.rollout.verdict = {"Fail", "Undone", "version 3 was undone by command", {}};
  model.status.history = {{Ago(600), 3, "Promoted", ""}, {Ago(60), 2, "Undone", ""}};
  model.status.accepted_commands = {"retry"};
  EXPECT_THAT(
      ExplainModel(model, kNow),
      HasSubstr("  longshore undo digits -n vision --to 3   go forward to version 3 again, at once; it stays loaded"));
  model.spec.rollout.keep_warm = std::chrono::seconds(0);
  EXPECT_THAT(ExplainModel(model, kNow + std::chrono::hours(9)),
              HasSubstr("go forward to version 3 again, by a rollout without steps"));
  model.spec.rollout.paused = true;
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("longshore undo"))) << "it would be refused";
  model.spec.rollout.paused = false;
  model.status.history = {{Ago(60), 2, "Undone", ""}};
  EXPECT_THAT(ExplainModel(model, kNow), Not(HasSubstr("longshore undo"))) << "version 3 has not served";
}

TEST(Explain, OffersUndoWhileTheVersionBeforeIsWarm) {
  api::Model model = ModelAfter(RolloutPhase::kCompleted, 3);
  model.status.accepted_commands = {"undo"};
  EXPECT_THAT(
      ExplainModel(model, kNow),
      HasSubstr("  longshore undo digits -n vision   return to version 2 at once; it stays loaded for 9 min more\n"));
  model.spec.rollout.keep_warm = std::chrono::seconds(60);
  EXPECT_THAT(ExplainModel(model, kNow), HasSubstr("return to version 2 by a rollout without steps"));
}

TEST(DescribeModel, ShowsTheCommandsThatWaitAndTheLastAnswer) {
  api::Model model = MakeModel();
  model.status.command_result = "pause: done";
  EXPECT_NE(DescribeModel(model, kNow).find("  last command   pause: done\n"), std::string::npos);
  model.status.answers = {{"a", "undo", api::CommandResult::kRefused, "no version served before version 2", Ago(9)}};
  model.status.commands = {{.verb = "abort", .id = "b", .at = Ago(3)}};
  EXPECT_NE(DescribeModel(model, kNow)
                .find("  waits          abort, given 3s ago\n"
                      "  last command   undo: refused: no version served before version 2\n"),
            std::string::npos)
      << DescribeModel(model, kNow);
}

TEST(Explain, APausedRolloutSaysWhyAndOffersResume) {
  api::Model model = RollingOut();
  model.status.rollout.phase = RolloutPhase::kPaused;
  model.status.rollout.paused_reason = "Command";
  model.status.accepted_commands = {"resume", "abort"};
  const std::string text = ExplainModel(model, kNow);
  EXPECT_NE(text.find("The rollout is paused by a command"), std::string::npos);
  EXPECT_NE(text.find("longshore resume digits -n vision"), std::string::npos);
  EXPECT_EQ(text.find("longshore pause"), std::string::npos);
  model.status.rollout.paused_reason = "Manual";
  EXPECT_NE(ExplainModel(model, kNow).find("waits for `longshore promote`"), std::string::npos);
}

TEST(Standing, TableHasOneRowPerObjectAndTheWorstDecides) {
  api::ServingFleet fleet = MakeFleet();
  fleet.status.observed_generation = 1;
  ExpectGolden("status", StatusTable({fleet}, {RollingOut(), Stalled(), MakeAsWanted()}));
  EXPECT_EQ(StandingOf({}, {MakeAsWanted()}), Standing::kAsWanted);
  EXPECT_EQ(StandingOf({fleet}, {MakeAsWanted()}), Standing::kUnderWay);
  EXPECT_EQ(StandingOf({fleet}, {Stalled(), MakeAsWanted()}), Standing::kFailed);
}

TEST(Standing, AModelIsAsWantedWithoutABadNodeAndTheTroubleIsShown) {
  api::Model model = MakeAsWanted();
  model.status.conditions.push_back({"NodesAvailable", "False", "BadNodes", "node b: bad disk", 4, kNow});
  EXPECT_EQ(ReportOf(model).standing, Standing::kAsWanted);
  EXPECT_NE(StatusOfModel(model, kNow).find("NodesAvailable: node b: bad disk"), std::string::npos);
  EXPECT_THAT(StatusTable({}, {model}), HasSubstr("NodesAvailable: node b: bad disk"));
  EXPECT_NE(ExplainModel(model, kNow).find("  Nodes without a version that they should have: node b: bad disk\n"),
            std::string::npos)
      << ExplainModel(model, kNow);
}

TEST(Standing, ShowsTheNodesOnWhichMatchRulesDoNotWork) {
  api::Model model = MakeAsWanted();
  model.status.conditions.push_back({"RulesApplied", "False", "OldRelease", "match rules do not work on b", 4, kNow});
  EXPECT_EQ(ReportOf(model).standing, Standing::kUnderWay);
  EXPECT_NE(StatusOfModel(model, kNow).find("RulesApplied: match rules do not work on b"), std::string::npos);
  EXPECT_NE(ExplainModel(model, kNow).find("  But match rules do not work on b\n"), std::string::npos);
}

TEST(Standing, TextOfOneModelSaysWhatItWaitsFor) {
  ExpectGolden("status_model", StatusOfModel(RollingOut(), kNow) + "\n" + StatusOfModel(Stalled(), kNow));
}

TEST(Standing, IsUnderWayUntilAControllerHasSeenTheManifestAndNoConditionReportsAProblem) {
  api::Model model = MakeAsWanted();
  model.metadata.generation = 5;
  EXPECT_EQ(ReportOf(model).standing, Standing::kUnderWay);
  EXPECT_EQ(ReportOf(api::Model{}).standing, Standing::kUnderWay) << "it has no conditions yet";
  model = MakeAsWanted();
  model.status.conditions.push_back(
      {"LabelsServed", "False", "NotReady", "label \"old\": not ready on any node", 4, kNow});
  EXPECT_EQ(ReportOf(model).why, "LabelsServed: label \"old\": not ready on any node");
  EXPECT_EQ(ReportOf(model).standing, Standing::kUnderWay);
  model = MakeAsWanted();
  model.status.stable_version = 2;
  EXPECT_EQ(ReportOf(model).standing, Standing::kUnderWay) << "between two rollouts";
  model.spec.version.reset();
  EXPECT_EQ(ReportOf(model).standing, Standing::kAsWanted);
}

// A status is older than the deletion, the creation or a change of the fleet until the controller has processed it.
TEST(Standing, AModelIsUnderWayUntilItsStatusIsAboutItsFleetAsItIsNow) {
  const api::Key fleet{api::kServingFleetKind, "vision", "cpu"};
  const api::ObservedFleet three{"u-1", 2, 3};
  struct Row {
    const char* what;
    bool found;
    api::ObservedFleet observed;
    std::optional<api::ObservedFleet> now;  // nullopt: the fleet does not exist.
    const char* why;                        // "": the status counts.
  };
  const std::string not_processed = ", which the controller has not processed yet";
  for (const Row& row : std::vector<Row>{
           {"nothing has changed", true, three, three, ""},
           {"deleted", true, three, std::nullopt, "does not exist"},
           {"deleted, which is processed", false, {}, std::nullopt, ""},
           {"created", false, {}, three, "exists now"},
           {"deleted and created again", true, three, {{"u-2", 1, 3}}, "was created again"},
           {"scaled by its manifest", true, three, {{"u-1", 3, 1}}, "has changed"},
           {"scaled by autoscaling", true, three, {{"u-1", 2, 4}}, "has changed"},
           {"another field has changed", true, three, {{"u-1", 3, 3}}, "has changed"},
           {"it cannot be read", true, three, {{}}, ""},
           {"the status is of release 0.1", true, {}, three, ""},
       }) {
    api::Model model = MakeAsWanted();
    model.spec.fleet = fleet.name;
    model.status.observed_fleet = row.observed;
    model.status.conditions.push_back({"FleetFound", row.found ? "True" : "False", "r", "", 4, kNow});
    HostSeen seen;
    seen.fleets.emplace();
    if (row.now) seen.fleets->emplace(fleet, *row.now);
    const std::string why = *row.why == '\0' ? "" : "ServingFleet vision/cpu " + (row.why + not_processed);
    for (const bool is_stalled : {false, true}) {
      if (is_stalled) model.status.conditions.push_back({"Stalled", "True", "NoFleet", "gone", 4, kNow});
      const Report report = ReportOf(model, seen);
      if (!why.empty()) {
        EXPECT_EQ(report.why, why) << row.what;
      }
      const Standing by_status = is_stalled ? Standing::kFailed : row.found ? Standing::kAsWanted : Standing::kUnderWay;
      EXPECT_EQ(report.standing, why.empty() ? by_status : Standing::kUnderWay) << row.what << is_stalled;
      EXPECT_EQ(ReportOf(model).standing, by_status) << "the fleets were not read";
    }
  }
}

TEST(Standing, AModelIsUnderWayUntilTheManifestOfItsFleetIsRead) {
  api::Model model = MakeAsWanted();
  model.spec.fleet = "cpu";
  HostSeen seen{.manifests = {{"fleet.yaml", false, {Standing::kUnderWay, "not read"}}}};
  EXPECT_EQ(ReportOf(model, seen).standing, Standing::kAsWanted);
  seen.manifest_of[{api::kServingFleetKind, "vision", "cpu"}] = 0;
  EXPECT_EQ(ReportOf(model, seen).why, "fleet.yaml: not read");
  EXPECT_EQ(ReportOf(model, seen).standing, Standing::kUnderWay);
  seen.manifests[0] = {"fleet.yaml", true, {Standing::kFailed, "a mistake"}};
  EXPECT_EQ(ReportOf(model, seen).standing, Standing::kAsWanted) << "the fleet is as an earlier text says";
}

TEST(Standing, AFailureThatTheControllerRetriesIsNotForGood) {
  api::ServingFleet fleet;
  fleet.status.conditions = {{"Ready", "False", "NodesNotReady", "0 of 1 nodes are ready", 0, kNow},
                             {"Stalled", "True", "NeedsHelp", "the disk is full", 0, kNow}};
  EXPECT_EQ(ReportOf(fleet).standing, Standing::kFailed);
  EXPECT_FALSE(HasFailedForGood({fleet}, {MakeAsWanted()}));
  EXPECT_TRUE(HasFailedForGood({fleet}, {Stalled()})) << "a version that failed is not tried again";
  HostSeen seen;
  seen.manifests = {{"a.yaml", true, {Standing::kFailed, "a mistake"}}};
  EXPECT_TRUE(HasFailedForGood({fleet}, {}, seen));
  fleet.status.conditions.back().reason = "ReservedName";
  EXPECT_TRUE(HasFailedForGood({fleet}, {}));
  EXPECT_FALSE(HasFailedForGood({}, {MakeAsWanted()}));
}

TEST(Standing, SaysThatNoVersionServesWithoutAFleet) {
  api::Model model = MakeModel();
  const std::string missing = "ServingFleet vision/cpu does not exist";
  model.status.conditions = {{"Ready", "False", "NoFleet", missing, 4, Ago(3)}};
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("  serves    no version: " + missing + "\n"));
  EXPECT_THAT(StatusTable({}, {model}), HasSubstr("vision/digits   under way   -        " + missing));
  EXPECT_THAT(ModelsTable({model}, kNow), HasSubstr("no version serves: " + missing));
  EXPECT_THAT(DescribeModel(model, kNow), HasSubstr("  serves         no version: " + missing + "\n"));
  model.status.conditions[0].reason = "NotReachable";
  EXPECT_THAT(StatusOfModel(model, kNow), HasSubstr("  serves    version 2\n"));
}

std::string Plan(const std::string& spec, int64_t stable, const api::Traffic& traffic = {},
                 int concurrent_runs_max = 0) {
  api::Model model = MakeModel();
  model.status = {};
  model.status.stable_version = stable;
  model.status.traffic = traffic;
  const auto parsed = ParseJson(spec);
  model.spec = api::ModelSpecFromJson(parsed.value(), "digits").value();
  const std::optional<int64_t> newest = model.spec.version ? std::nullopt : std::optional(stable + 1);
  return PlanText(model, rollout::PredictRollout(model, {"cpu-0", "cpu-1", "cpu-2", "cpu-3"}, newest, kNow),
                  {.nodes = 4, .concurrent_runs_max = concurrent_runs_max});
}

TEST(Plan, ShowsTheExpectedHistoryAndTheCriteria) {
  const std::string source = R"("fleet": "cpu", "source": {"uri": "file:///m"})";
  ExpectGolden("plan", Plan("{" + source + R"(, "version": 3,
    "validation": {"goldenSet": {"path": "golden/g.tfrecord", "metric": "tolerance"}, "deterministic": true},
    "rollout": {"steps": [{"weight": 5}, {"weight": 30, "hold": "5m", "pause": "Manual"}], "onFailure": "Pause",
                "analysis": {"latency": {"tolerance": 4}, "drift": {"max": 0.1}}}})",
                            2));
  ExpectGolden("plan_immediate", Plan("{" + source + R"(, "rollout": {"strategy": "Immediate"}})", 2));
  ExpectGolden("plan_shadow", Plan("{" + source + R"(, "version": 3, "rollout": {"strategy": "Shadow", "shadow": {
    "compare": [{"output": "probabilities", "measure": "Top1"}]}}})",
                                   2));
  ExpectGolden("plan_blue_green", Plan("{" + source + R"(, "version": 3, "rollout": {"strategy": "BlueGreen",
    "preview": {"autoPromote": "30m"}}})",
                                       2));
  ExpectGolden("plan_canary_shadow", Plan("{" + source + R"(, "version": 3, "rollout": {"steps": [{"weight": 50}],
    "shadow": {"for": "5m", "compare": [{"output": "scores", "measure": "Within", "rows": 1}]}}})",
                                          2));
  EXPECT_EQ(Plan("{" + source + R"(, "version": 2})", 2),
            "Model vision/digits: no rollout: version 2 serves already\n");
  EXPECT_NE(
      Plan("{" + source + R"(, "version": 3, "rollout": {"paused": true}})", 2).find("spec.rollout.paused is true"),
      std::string::npos);
}

TEST(Plan, WarnsIfPairsWouldDelayUsersBecauseANodeExecutesOneRunAtATime) {
  const std::string start = R"({"fleet": "cpu", "version": 3, "source": {"uri": "file:///m"}, "rollout": {)";
  const std::string shadow = start + R"("strategy": "Shadow"}})";
  EXPECT_THAT(Plan(shadow, 2, {}, 1), HasSubstr("engine.concurrentRuns of the fleet is 1"));
  EXPECT_THAT(Plan(shadow, 2, {}, 1), HasSubstr("lower rollout.shadow.budget\n"));
  EXPECT_THAT(Plan(shadow, 2, {}, 2), Not(HasSubstr("concurrentRuns")));
  const std::string canary = start + R"("steps": [{"weight": 50}])";
  EXPECT_THAT(Plan(canary + "}}", 2, {}, 1), HasSubstr("lower rollout.analysis.pairs.budget\n"));
  const std::string no_pairs = canary + R"(, "analysis": {"pairs": {"share": 0}}}})";
  EXPECT_THAT(Plan(no_pairs, 2, {}, 1), Not(HasSubstr("concurrentRuns")));
}

TEST(Plan, SaysTheMemoryThatTheVersionMayNeed) {
  EXPECT_THAT(Plan(R"({"fleet": "cpu", "version": 3, "source": {"uri": "file:///m"},
                       "rollout": {"strategy": "Shadow", "shadow": {"memoryMax": "512Mi"}}})",
                   2),
              HasSubstr("  memory     until it gets requests, a node loads it only if it needs at most 512Mi\n"));
}

TEST(Plan, SaysHowLongAProofTakesAtTheLastTraffic) {
  const std::string with_step = R"({"fleet": "cpu", "version": 3, "source": {"uri": "file:///m"}, "rollout": {)";
  const api::Traffic busy{kNow, std::chrono::hours(24), 12.3, 0.01};
  const auto expect = [](const std::string& plan, const std::string& text) {
    EXPECT_NE(plan.find(text), std::string::npos) << plan;
  };
  const std::string steps = R"("steps": [{"weight": 50}])";
  expect(Plan(with_step + steps + "}}", 2, busy),
         "takes about 10,000 requests, so about 14 min at the traffic of the last 24 h (12.3 requests/s, 1 % of them "
         "fail)");
  expect(Plan(with_step + steps + R"(, "assignment": {"by": "Cookie", "key": "user"}}})", 2, busy),
         " pairs, so about ");
  const api::Traffic quiet{kNow, std::chrono::hours(2), 0.01, 0};
  expect(Plan(with_step + steps + "}}", 2, quiet), "longer than the patience");
  expect(Plan(with_step + steps + R"(, "analysis": {"errorRate": {"tolerance": 0.02}}}})", 2, busy),
         "takes about 840 requests, so about 68 s");
  expect(Plan(with_step + steps + R"(, "analysis": {"errorRate": {"enabled": false}}}})", 2, busy),
         "how long the run times take depends on how much they vary");
  const std::string keyed = R"(, "assignment": {"by": "Cookie", "key": "user"}, "analysis": {"pairs": {"share": 0}}}})";
  expect(Plan(with_step + steps + keyed, 2, busy), "only pairs count and analysis.pairs.share is 0");
  const std::string shadow = R"("strategy": "Shadow", "shadow": {"proof": "Required"}}})";
  expect(Plan(with_step + shadow, 2, busy), "pairs, so about 2 h");
  const std::string one_of_four_nodes = R"("steps": [{"weight": 25}], "shadow": {"proof": "Required"}}})";
  expect(Plan(with_step + one_of_four_nodes, 2, busy), "pairs, so about 7 h");
}

TEST(Explain, SaysOfAModelWithoutAFleetThatNoRequestArrives) {
  api::Model model = MakeModel();
  model.status.rollout.phase = RolloutPhase::kCompleted;
  model.status.conditions = {{"Ready", "False", "NoFleet", "ServingFleet vision/cpu does not exist", 4, Ago(3)}};
  EXPECT_THAT(ExplainModel(model, kNow, ""),
              HasSubstr("  Version 2 is to get all requests.\n  ServingFleet vision/cpu does not exist.\n"));
}

TEST(StatusTable, NamesTheLikelyCauseIfNoControllerEverSawAModel) {
  api::Model model = MakeModel();
  const auto why = [&](const HostSeen& seen) { return ReportOf(model, seen).why; };
  model.status = {};
  EXPECT_THAT(why({}), HasSubstr("is namespace vision one that the controller watches (watchNamespaces)?"));
  EXPECT_EQ(why({.is_host = true}), "no controller has processed this manifest yet") << "on a host";
  model.status.observed_generation = 3;
  EXPECT_EQ(why({}), "no controller has processed this manifest yet");
}

TEST(FleetsTable, ShowsWhyAFleetNeedsHelpAndWhichNodesLeave) {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.metadata.namespace_ = "vision";
  fleet.status.conditions = {{"Stalled", "True", "NeedsHelp", "cpu-1: the disk is full", 4, Ago(3)}};
  fleet.status.nodes = {{"cpu-0", 1, "Draining", ""}, {"cpu-1", 2, "Ready", ""}};
  const std::string table = FleetsTable({fleet}, {.wide = true});
  EXPECT_THAT(table, HasSubstr("cpu-1: the disk is full"));
  EXPECT_THAT(table, HasSubstr("cpu-0 (draining),cpu-1 "));
}

TEST(Age, UsesAUnitThatIsEasyToRead) {
  EXPECT_EQ(Age(TimePoint{}, kNow), "-");
  EXPECT_EQ(Age(Ago(0), kNow), "0s");
  EXPECT_EQ(Age(Ago(119), kNow), "119s");
  EXPECT_EQ(Age(Ago(600), kNow), "10m");
  EXPECT_EQ(Age(Ago(3 * 3600), kNow), "3h");
  EXPECT_EQ(Age(Ago(4 * 86400), kNow), "4d");
  EXPECT_EQ(Age(Ago(-5), kNow), "0s");
}

TEST(Table, AlignsByDisplayedCharacters) {
  Table table({"A", "B"});
  table.Add({"ü", "x\ny"});
  table.Add({"long", ""});
  EXPECT_EQ(table.Text(1), " A      B\n ü      x y\n long\n");
}

}  // namespace
}  // namespace longshore::cli::text
