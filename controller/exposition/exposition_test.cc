#include "controller/exposition/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace longshore::exposition {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns "name{a=b,c=d} value" for each series with this prefix, without the labels that identify the object.
std::vector<std::string> Shown(const metrics::Exposition& exposition, const std::string& prefix) {
  std::vector<std::string> lines;
  for (const auto& [name, family] : exposition.families()) {
    if (!name.starts_with(prefix)) continue;
    for (const auto& [labels, metric] : family.metrics) {
      std::string words;
      for (const auto& [label, value] : labels) {
        if (label == "namespace" || label == "name" || label == "fleet" || label == "model") continue;
        words += (words.empty() ? "" : ",") + label + "=" + value;
      }
      lines.push_back(fmt::format("{}{{{}}} {:g}", name, words, metric.value));
    }
  }
  return lines;
}

api::Model Digits() {
  api::Model model;
  model.metadata.namespace_ = "vision";
  model.metadata.name = "digits";
  model.spec.fleet = "infra/gpu";
  model.spec.served_name = "my_digits";
  model.status.stable_version = 3;
  model.status.rollout.attempt = 4;
  model.status.rollout.phase = api::RolloutPhase::kStep;
  model.status.rollout.stable = 3;
  model.status.rollout.candidate = 4;
  model.status.rollout.step_index = 1;
  model.status.rollout.weight_percent = 25;
  model.status.rollout.step_started_at = TimePoint(std::chrono::seconds(1000));
  return model;
}

metrics::Exposition Of(const api::Model& model, const Outcomes& outcomes = {}) {
  metrics::Exposition exposition;
  Show(model, outcomes, &exposition);
  return exposition;
}

TEST(ModelExposition, EachSeriesNamesItsObjectFleetAndServedName) {
  const metrics::Exposition exposition = Of(Digits());
  for (const auto& [name, family] : exposition.families()) {
    for (const auto& [labels, _] : family.metrics) {
      EXPECT_EQ(labels.at("namespace") + "/" + labels.at("name"), "vision/digits") << name;
      EXPECT_EQ(labels.at("fleet"), "infra/gpu") << name;
      EXPECT_EQ(labels.at("model"), "my_digits") << name;
    }
  }
}

TEST(ModelExposition, WeightsAreSharesThatAddUpToOne) {
  EXPECT_THAT(
      Shown(Of(Digits()), "longshore_model_weight"),
      ElementsAre("longshore_model_weight_ratio{version=3} 0.75", "longshore_model_weight_ratio{version=4} 0.25"));
}

TEST(ModelExposition, OneVersionHasAllWeightAfterARollout) {
  api::Model model = Digits();
  model.status.rollout.phase = api::RolloutPhase::kRolledBack;
  model.status.rollout.weight_percent = 0;
  EXPECT_THAT(Shown(Of(model), "longshore_model_weight"), ElementsAre("longshore_model_weight_ratio{version=3} 1"));
  model.status.rollout.phase = api::RolloutPhase::kCompleted;
  model.status.rollout.weight_percent = 100;
  model.status.stable_version = 4;
  EXPECT_THAT(Shown(Of(model), "longshore_model_weight"), ElementsAre("longshore_model_weight_ratio{version=4} 1"));
}

TEST(ModelExposition, ModelWithoutAVersionHasNoWeightAndNoRollout) {
  api::Model model = Digits();
  model.status = {};
  const metrics::Exposition exposition = Of(model);
  EXPECT_THAT(Shown(exposition, "longshore_model_weight"), IsEmpty());
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_verdict"), IsEmpty());
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_attempts"),
              ElementsAre("longshore_model_rollout_attempts_total{} 0"));
}

TEST(ModelExposition, ARolloutWaitsForAPersonInAnyPhase) {
  api::Model model = Digits();
  EXPECT_THAT(Shown(Of(model), "longshore_model_rollout_waiting"), ElementsAre("longshore_model_rollout_waiting{} 0"));
  model.status.rollout.phase = api::RolloutPhase::kShadow;
  model.status.rollout.paused_reason = "ShadowPassed";
  EXPECT_THAT(Shown(Of(model), "longshore_model_rollout_waiting"), ElementsAre("longshore_model_rollout_waiting{} 1"));
  model.status.rollout.phase = api::RolloutPhase::kRolledBack;
  EXPECT_THAT(Shown(Of(model), "longshore_model_rollout_waiting"), ElementsAre("longshore_model_rollout_waiting{} 0"));
}

TEST(ModelExposition, ExactlyOnePhaseIsSet) {
  EXPECT_THAT(
      Shown(Of(Digits()), "longshore_model_rollout_phase"),
      ElementsAre("longshore_model_rollout_phase{phase=Completed} 0", "longshore_model_rollout_phase{phase=Loading} 0",
                  "longshore_model_rollout_phase{phase=Paused} 0", "longshore_model_rollout_phase{phase=Preview} 0",
                  "longshore_model_rollout_phase{phase=Promoting} 0",
                  "longshore_model_rollout_phase{phase=RolledBack} 0", "longshore_model_rollout_phase{phase=Shadow} 0",
                  "longshore_model_rollout_phase{phase=Step} 1", "longshore_model_rollout_phase{phase=Validating} 0"));
  EXPECT_THAT(Shown(Of(Digits()), "longshore_model_rollout_step"),
              ElementsAre("longshore_model_rollout_step{} 2", "longshore_model_rollout_step_start_time_seconds{} 1000",
                          "longshore_model_rollout_steps{} 3"));
}

TEST(ModelExposition, ShowsReasonAndNumbersOfAVerdictInBaseUnits) {
  api::Model model = Digits();
  model.status.rollout.verdict = {"Fail",
                                  "ErrorRate",
                                  "words",
                                  {{"candidateRequests", 200},
                                   {"candidateErrors", 30},
                                   {"candidateP99Ms", 7},
                                   {"eErrors", 10},
                                   {"eErrorsLimit", 1000},
                                   {"unheardOf", 1},
                                   {"eLatency", 5}}};
  const metrics::Exposition exposition = Of(model);
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_verdict"),
              ElementsAre("longshore_model_rollout_verdict{reason=ErrorRate,result=Fail} 1"));
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_requests"),
              ElementsAre("longshore_model_rollout_requests{arm=candidate} 200"));
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_errors"),
              ElementsAre("longshore_model_rollout_errors{arm=candidate} 30"));
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_run"),
              ElementsAre("longshore_model_rollout_run_seconds{arm=candidate,quantile=0.99} 0.007"));
  EXPECT_THAT(Shown(exposition, "longshore_model_rollout_evidence"),
              ElementsAre("longshore_model_rollout_evidence_ratio{test=ErrorRate} 0.01"))
      << "a number without its limit is not shown";
}

TEST(ModelExposition, ConditionsOutcomesAndTheSloAreShown) {
  api::Model model = Digits();
  model.status.conditions = {{"Ready", "True", "Serving", "words", 1, {}}, {"Stalled", "False", "None", "", 1, {}}};
  model.spec.slo = {0.95, std::chrono::milliseconds(50), 0.001};
  const metrics::Exposition exposition = Of(model, {.completed = 2, .rolled_back = 1});
  EXPECT_THAT(Shown(exposition, "longshore_model_condition"),
              ElementsAre("longshore_model_condition{reason=None,type=Stalled} 0",
                          "longshore_model_condition{reason=Serving,type=Ready} 1"));
  EXPECT_THAT(Shown(exposition, "longshore_model_rollouts_"),
              ElementsAre("longshore_model_rollouts_total{result=Completed} 2",
                          "longshore_model_rollouts_total{result=RolledBack} 1"));
  EXPECT_THAT(Shown(exposition, "longshore_model_slo"),
              ElementsAre("longshore_model_slo_error_ratio{} 0.001",
                          "longshore_model_slo_latency_seconds{quantile=0.95} 0.05"));
}

api::ServingFleet Cpu() {
  api::ServingFleet fleet;
  fleet.metadata.namespace_ = "vision";
  fleet.metadata.name = "cpu";
  fleet.spec.replicas_min = 2;
  fleet.spec.replicas_max = 5;
  fleet.status.replicas = 3;
  fleet.status.ready_replicas = 1;
  fleet.status.nodes = {{"a", 1, "Ready", ""}, {"b", 2, "Restarting", ""}, {"c", 3, "Restarting", ""}};
  return fleet;
}

std::vector<std::string> ShownOf(const api::ServingFleet& fleet, const std::string& prefix) {
  metrics::Exposition exposition;
  Show(fleet, &exposition);
  return Shown(exposition, prefix);
}

TEST(FleetExposition, CountsNodesByState) {
  EXPECT_THAT(ShownOf(Cpu(), "longshore_fleet_nodes"),
              ElementsAre("longshore_fleet_nodes{state=Draining} 0", "longshore_fleet_nodes{state=NotAnswering} 0",
                          "longshore_fleet_nodes{state=Ready} 1", "longshore_fleet_nodes{state=Restarting} 2",
                          "longshore_fleet_nodes{state=Starting} 0"));
}

TEST(FleetExposition, WantsTheMinimumWithoutAutoscaling) {
  EXPECT_THAT(ShownOf(Cpu(), "longshore_fleet_replicas"),
              ElementsAre("longshore_fleet_replicas{} 3", "longshore_fleet_replicas_max{} 5",
                          "longshore_fleet_replicas_min{} 2", "longshore_fleet_replicas_ready{} 1",
                          "longshore_fleet_replicas_wanted{} 2"));
  EXPECT_THAT(ShownOf(Cpu(), "longshore_fleet_autoscale"), IsEmpty());
}

TEST(FleetExposition, ShowsWantedReplicasAndReasonOfAutoscaling) {
  api::ServingFleet fleet = Cpu();
  fleet.spec.autoscaling.emplace();
  fleet.status.autoscale.desired = 4;
  fleet.status.autoscale.reason = "QueueDelay";
  fleet.status.autoscale.value = 0.03;
  fleet.status.autoscale.target = 0.01;
  EXPECT_THAT(ShownOf(fleet, "longshore_fleet_replicas_wanted"), ElementsAre("longshore_fleet_replicas_wanted{} 4"));
  EXPECT_THAT(ShownOf(fleet, "longshore_fleet_autoscale"),
              ElementsAre("longshore_fleet_autoscale_pressure_ratio{} 3",
                          "longshore_fleet_autoscale_reason{reason=QueueDelay} 1"));
}

}  // namespace
}  // namespace longshore::exposition
