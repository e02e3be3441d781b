#include "controller/console/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::console {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kNow{std::chrono::hours(1000)};

api::Model Digits() {
  api::Model model;
  model.metadata.namespace_ = "vision";
  model.metadata.name = "digits";
  model.spec.fleet = "infra/gpu";
  model.spec.served_name = "digits";
  model.spec.version = 4;
  model.status.stable_version = 3;
  model.status.conditions = {{"Ready", "True", "Serving", "Version 3 serves.", 0, {}}};
  return model;
}

api::Model InTheSecondStep() {
  api::Model model = Digits();
  api::RolloutStatus& rollout = model.status.rollout;
  rollout.phase = api::RolloutPhase::kStep;
  rollout.stable = 3;
  rollout.candidate = 4;
  rollout.step_index = 1;
  rollout.weight_percent = 25;
  rollout.step_started_at = kNow;
  rollout.analysis = {{"secret", "of the analysis"}};
  rollout.verdict = {"Undecided",
                     "NotProven",
                     "words",
                     {{"errorDifferenceLow", -0.01}, {"errorDifferenceHigh", 0.01}, {"candidateRequests", 5}}};
  return model;
}

TEST(ConsoleViews, TheOverviewSaysInWordsHowEachObjectIs) {
  api::ServingFleet fleet;
  fleet.metadata.namespace_ = "infra";
  fleet.metadata.name = "gpu";
  const Json json = OverviewJson(
      {.fleets = {fleet}, .models = {Digits()}, .unreadable = {{{api::kModelKind, "a", "b"}, "b.json is damaged"}}},
      kNow);
  EXPECT_EQ(json["models"][0]["name"], "digits");
  EXPECT_EQ(json["models"][0]["standing"], "under way");
  EXPECT_EQ(json["models"][0]["why"], "version 4 has not begun its rollout");
  EXPECT_EQ(json["models"][0]["rolloutInShort"], "");
  EXPECT_EQ(json["fleets"][0]["why"],
            "no controller has processed this manifest yet; on a cluster, is namespace infra one that the controller "
            "watches (watchNamespaces)?");
  EXPECT_EQ(json["unreadable"][0]["object"], "Model a/b");
  EXPECT_EQ(json["unreadable"][0]["why"], "b.json is damaged");
  EXPECT_EQ(json["manifests"].size(), 0u);
  EXPECT_EQ(json["models"][0]["disagreement"], "");
}

TEST(ConsoleViews, TheOverviewShowsManifestFilesThatAreNotAsTheirObjects) {
  Snapshot snapshot{.models = {Digits()}};
  snapshot.seen.manifests = {{"/m/x.yaml", true, {cli::text::Standing::kFailed, "x.yaml:3: no spec"}}};
  snapshot.disagreements = {{{api::kModelKind, "vision", "digits"}, "/m/digits.yaml", "digits.yaml says version 5"}};
  const Json json = OverviewJson(snapshot, kNow);
  ASSERT_EQ(json["manifests"].size(), 2u);
  EXPECT_EQ(json["manifests"][0]["file"], "/m/x.yaml");
  EXPECT_EQ(json["manifests"][0]["state"], "failed");
  EXPECT_EQ(json["manifests"][0]["why"], "x.yaml:3: no spec");
  EXPECT_EQ(json["manifests"][1]["state"], "differs");
  EXPECT_THAT(json["models"][0]["disagreement"].get<std::string>(),
              HasSubstr("says version 5. A file is applied again"));
}

TEST(ConsoleViews, AStatusOfAnEarlierControllerIsNotTheCurrentState) {
  api::Model model = Digits();
  model.spec.version = 3;
  model.status.epoch = 6;
  EXPECT_EQ(OverviewJson({.models = {model}, .seen = {.epoch = 6}}, kNow)["models"][0]["standing"], "as wanted");
  EXPECT_EQ(OverviewJson({.models = {model}, .seen = {.epoch = 7}}, kNow)["models"][0]["standing"], "under way");
}

TEST(ConsoleViews, AModelShowsItsStepsItsSplitAndItsVerdict) {
  const Json json = ModelJson(InTheSecondStep(), {}, kNow);
  EXPECT_EQ(json["rolloutInShort"], "3 -> 4, step 2 of 3 at 25 %");
  EXPECT_EQ(json["waits"], "The step lasts at least 30 s more.");
  ASSERT_EQ(json["steps"].size(), 3u);
  EXPECT_EQ(json["steps"][0]["proof"], "Sampled");
  EXPECT_EQ(json["steps"][2]["proof"], "Required");
  EXPECT_EQ(json["rollout"]["weight"], 25);
  EXPECT_EQ(json["rollout"]["verdict"]["numbers"]["candidateRequests"], 5);
  EXPECT_EQ(json["verdict"].get<std::string>().substr(0, 11), "  Undecided");
  EXPECT_EQ(json["limits"]["errorDifference"], 0.005);
  EXPECT_EQ(json["limits"]["runTimeRatio"], 1.1);
  EXPECT_EQ(json["limits"]["runTime"], "at most 10 % or 0.1 ms longer");
  EXPECT_THAT(DumpJson(json), testing::Not(HasSubstr("secret"))) << "the state of the analysis is no number for people";
}

// Otherwise a page that shows nothing new would be sent again at each reading.
TEST(ConsoleViews, AModelHasTheTimeOfItsNumbersAndNotTheirAge) {
  api::Model model = InTheSecondStep();
  EXPECT_EQ(ModelJson(model, {}, kNow)["numbersAt"], "");
  model.status.rollout.evidence_used_at = kNow;
  const Json json = ModelJson(model, {}, kNow);
  EXPECT_EQ(json["numbersAt"], json["rollout"]["evidenceUsedAt"]);
  EXPECT_EQ(ModelJson(model, {}, kNow + std::chrono::seconds(40))["verdict"], json["verdict"]);
}

TEST(ConsoleViews, AShadowIsComparedByItsPairsAndItsDriftIsTold) {
  api::Model model = InTheSecondStep();
  model.status.rollout.verdict.numbers = {{"pairs", 410},
                                          {"pairsOnlyCandidateFailed", 2},
                                          {"runTimePairs", 410},
                                          {"runTimeRatioLow", 0.98},
                                          {"runTimeRatioHigh", 1.14},
                                          {"driftPairs", 408},
                                          {"driftMean", 0.968},
                                          {"driftTop1Changed", 408}};
  const Json json = ModelJson(model, {}, kNow);
  const auto row = [&](const std::string& what) {
    for (const Json& one : json["compared"]) {
      if (one["what"] == what) return DumpJson(one);
    }
    return "there is no row " + what;
  };
  EXPECT_EQ(
      row("inputs that both versions ran"),
      R"({"what":"inputs that both versions ran","stable":"410","candidate":"410","difference":"","allowed":""})");
  EXPECT_THAT(row("run time on the same input"), HasSubstr("2.0 % shorter to 14 % longer"));
  EXPECT_THAT(row("mean difference of the answers to the same input"), HasSubstr("0.97"));
  EXPECT_THAT(row("requests"), HasSubstr("there is no row"));
  EXPECT_THAT(json["pairs"].get<std::string>(), HasSubstr("in 408 of 408 pairs the largest value of the answer"));
}

TEST(ConsoleViews, ATestThatFailsBeforeThereIsAnIntervalIsExplained) {
  api::Model model = InTheSecondStep();
  model.status.rollout.verdict = {
      .result = "Fail", .reason = "Latency", .message = "", .numbers = {{"candidateRequests", 9}}};
  EXPECT_THAT(ModelJson(model, {}, kNow)["comparedNote"].get<std::string>(), HasSubstr("fewer requests"));
}

TEST(ConsoleViews, AModelWithoutARolloutWaitsForNothing) {
  const Json json = ModelJson(Digits(), {}, kNow);
  EXPECT_EQ(json["comparedNote"], "");
  EXPECT_EQ(json["waits"], "");
  EXPECT_EQ(json["isUnderWay"], false);
  EXPECT_TRUE(json["limits"]["errorDifference"].is_null());
  EXPECT_TRUE(json["evidence"].is_null());
  EXPECT_TRUE(json["goldenSet"].is_null());
}

TEST(ConsoleViews, TheNewestEvidenceIsThatOfTheComparison) {
  api::Model model = InTheSecondStep();
  model.status.rollout.verdict.numbers = {{"errorDifferenceLow", -0.5}, {"errorDifferenceHigh", 0.25}};
  const Json evidence = ModelJson(model, {}, kNow)["evidence"];
  ASSERT_EQ(evidence.size(), 7u) << "a point, as in the history";
  EXPECT_EQ(evidence[0], 3600000000);
  EXPECT_EQ(evidence[1], -0.5);
  EXPECT_EQ(evidence[2], 0.25);
}

TEST(ConsoleViews, AFleetOfPodsIsKnownAsSuch) {
  api::ServingFleet fleet;
  EXPECT_EQ(FleetJson(fleet, {}, {}, kNow)["hasPods"], false);
  fleet.status.selector = "longshore.dev/fleet=cpu";
  EXPECT_EQ(FleetJson(fleet, {}, {}, kNow)["hasPods"], true);
}

TEST(ConsoleViews, AFleetShowsWhatItsNodesReport) {
  api::ServingFleet fleet;
  fleet.metadata.namespace_ = "infra";
  fleet.metadata.name = "gpu";
  api::Model elsewhere = Digits();
  elsewhere.spec.fleet = "infra/cpu";
  fleet.status.nodes = {{"a", 7, "Ready", "127.0.0.1:1"}, {"b", 8, "Starting", ""}};
  auto view = std::make_shared<nodes::NodeView>();
  view->hello.set_node("a");
  view->connected = true;
  view->ack_error = "no room";
  auto report = std::make_shared<control::Report>();
  report->mutable_load()->set_queued(3);
  control::VersionReport& version = *report->add_versions();
  version.set_served_name("digits");
  version.set_version(4);
  version.set_state(control::VersionReport::NOT_FOUND);
  version.set_weight_bp(2500);
  view->report = report;
  const Json json = FleetJson(fleet, {view}, {.models = {Digits(), elsewhere}}, kNow);
  EXPECT_EQ(json["nodes"][0]["connected"], true);
  EXPECT_EQ(json["nodes"][0]["problem"], "no room");
  EXPECT_EQ(json["nodes"][0]["load"]["queued"], 3);
  EXPECT_EQ(json["nodes"][0]["versions"][0]["state"], "not found");
  EXPECT_EQ(json["nodes"][0]["versions"][0]["weightPercent"], 25);
  EXPECT_EQ(json["nodes"][1]["connected"], false);
  EXPECT_TRUE(json["nodes"][1]["load"].is_null());
  ASSERT_EQ(json["models"].size(), 1u);
  EXPECT_EQ(json["models"][0]["name"], "digits");
}

TEST(ConsoleViews, PeopleAreToldOfTheEndOfARolloutAndOfARolloutThatNeedsThem) {
  api::Model model = InTheSecondStep();
  model.status.rollout.id = "uid/4/1";
  const auto notice = [&] { return ModelJson(model, {}, kNow)["notice"]; };
  EXPECT_TRUE(notice().is_null());
  model.status.rollout.paused_reason = "Manual";
  EXPECT_EQ(notice()["text"], "The step waits for `longshore promote`.");
  const Json paused = notice()["id"];
  model.status.rollout.step_index = 2;
  EXPECT_NE(notice()["id"], paused) << "the next step needs a person again";
  model.status.rollout.phase = api::RolloutPhase::kRolledBack;
  EXPECT_EQ(notice()["text"], "Version 4 was rolled back.");
  model.status.rollout.phase = api::RolloutPhase::kCompleted;
  EXPECT_EQ(notice()["text"], "Version 4 was promoted.");
  EXPECT_EQ(notice()["id"], "uid/4/1 promoted");
  model.status.conditions.push_back({"Stalled", "True", "Deadline", "too slow", 0, {}});
  EXPECT_EQ(notice()["text"], "Deadline: too slow");
  model.status.rollout.phase = api::RolloutPhase::kRolledBack;
  EXPECT_EQ(notice()["text"], "Version 4 was rolled back. Deadline: too slow");
}

TEST(ConsoleViews, AHistoryIsAListOfShortNumbers) {
  ModelHistory history;
  history.versions[3].push_back({kNow, 1.0F / 3, 0, 2, 4});
  history.attempt = 2;
  history.evidence.push_back(
      {.at = kNow, .error_low = -1, .error_high = 1, .error_limit = 0.005F, .ratio_limit = 1.1F});
  EXPECT_EQ(
      DumpJson(HistoryJson(history, "", kNow)),
      R"({"now":3600000000,"intervalMs":5000,"versions":[{"version":3,"points":[[3600000000,0.3333,0.0,2.0,4.0]]}],)"
      R"("evidenceAttempt":2,"evidence":[[3600000000,-1.0,1.0,0.005,null,null,1.1]],"worstPairs":[],"ratioTold":15.0})");
}

TEST(ConsoleViews, AHistoryHasTheWorstPairsWithoutValues) {
  NodePair one{.node = "a"};
  control::WorstPair& pair = one.pair;
  pair.set_at_unix_ms(5);
  pair.set_trace_id("4bf9");
  pair.set_signature("serving_default");
  pair.set_rows(3);
  pair.set_output("y");
  pair.set_stable_type("DT_FLOAT [3]");
  pair.set_candidate_type("DT_FLOAT [3,1]");
  pair.set_relative_difference(0.5);
  pair.set_stable_us(1500);
  ModelHistory history;
  history.worst_pairs = {one};
  pair.set_candidate_error("INTERNAL");
  pair.set_absolute_difference(2);
  history.worst_pairs.push_back(one);
  history.rollout = "uid/4/2";
  EXPECT_TRUE(HistoryJson(history, "uid/5/3", kNow)["worstPairs"].empty()) << "another rollout has begun";
  const Json pairs = HistoryJson(history, history.rollout, kNow)["worstPairs"];
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(
      DumpJson(pairs[0]),
      R"({"node":"a","at":5,"traceId":"4bf9","signature":"serving_default","rows":3,"output":"y",)"
      R"("relativeDifference":0.5,"absoluteDifference":null,"stable":{"type":"DT_FLOAT [3]","error":"","ms":1.5},)"
      R"("candidate":{"type":"DT_FLOAT [3,1]","error":"","ms":0.0}})");
  EXPECT_EQ(pairs[1]["absoluteDifference"], 2);
  EXPECT_EQ(pairs[1]["candidate"]["error"], "INTERNAL");
}

}  // namespace
}  // namespace longshore::console
