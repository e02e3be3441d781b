#include <fmt/format.h>

#include <array>
#include <chrono>

#include "controller/exposition/conditions.h"
#include "controller/exposition/exposition.h"

namespace longshore::exposition {
namespace {

using api::RolloutPhase;
using metrics::Exposition;
using metrics::Labels;
using metrics::Name;

constexpr Name kCondition{"longshore_model_condition", "1 while the Model's condition is True."};
constexpr Name kStable{"longshore_model_stable_version", "The stable version; 0 before the first."};
constexpr Name kCandidate{"longshore_model_candidate_version", "The candidate of the last rollout."};
constexpr Name kWeight{"longshore_model_weight_ratio", "The share of the requests that a version should get."};
constexpr Name kFailed{"longshore_model_failed_versions", "Number of versions that are marked as failed."};
constexpr Name kSloLatency{"longshore_model_slo_latency_seconds",
                           "The latency target in the slo of the spec, by quantile."};
constexpr Name kSloErrors{"longshore_model_slo_error_ratio",
                          "The share of failed requests that the slo of the spec allows."};

constexpr Name kPhase{"longshore_model_rollout_phase", "1 for the current phase of the last rollout."};
constexpr Name kWaiting{"longshore_model_rollout_waiting", "1 while the rollout waits for a person."};
constexpr Name kVerdict{"longshore_model_rollout_verdict",
                        "Always 1; the labels have the result and reason of the last verdict."};
constexpr Name kAttempts{"longshore_model_rollout_attempts_total", "Number of rollouts since the Model was created."};
constexpr Name kEnded{"longshore_model_rollouts_total", "Rollouts that ended since the controller started, by result."};
constexpr Name kStep{"longshore_model_rollout_step", "The current or last step of the last rollout, from 1."};
constexpr Name kSteps{"longshore_model_rollout_steps", "Number of steps in the spec."};
constexpr Name kSince{"longshore_model_rollout_step_start_time_seconds",
                      "When the last rollout reached its phase and weight, in seconds since 1970."};
constexpr Name kRequests{"longshore_model_rollout_requests", "Requests of the last rollout that are in the analysis."};
constexpr Name kErrors{"longshore_model_rollout_errors",
                       "Failed requests of the last rollout that are in the analysis."};
constexpr Name kNonFinite{"longshore_model_rollout_nonfinite",
                          "Answers of the candidate with NaN or Inf for inputs to which stable gave finite ones."};
constexpr Name kRunSeconds{"longshore_model_rollout_run_seconds", "Run times in the analysis, by quantile."};
constexpr Name kEvidence{
    "longshore_model_rollout_evidence_ratio",
    "Evidence against the candidate divided by the limit of the test: at 1 the candidate fails the test."};
constexpr Name kProof{
    "longshore_model_rollout_proof_ratio",
    "Evidence that the candidate is not worse by more than the tolerance, divided by what a proof needs: "
    "at 1 the proof is complete."};
constexpr Name kDifference{"longshore_model_rollout_error_difference_ratio",
                           "The bounds of the candidate's error rate less stable's, with 95 % confidence."};
constexpr Name kDetectable{
    "longshore_model_rollout_error_detectable_ratio",
    "The smallest increase of the error rate that the evidence so far finds, with a power of 80 %."};
constexpr Name kRunRatio{"longshore_model_rollout_run_time_ratio",
                         "The bounds of the candidate's median run time divided by stable's, with 95 % confidence."};
constexpr Name kPairs{"longshore_model_rollout_pairs", "Inputs of the last rollout that ran on both versions."};

// The metric for each number of a verdict. Missing numbers are not shown.
struct Shown {
  const char* number;
  Name name;
  Labels labels;
  double unit = 1;
  const char* limit = nullptr;  // The number is divided by the verdict's number of this name; nullptr: by none.
};

const std::vector<Shown>& ShownNumbers() {
  static const auto run = [](const char* number, const char* arm, const char* quantile) {
    return Shown{number, kRunSeconds, {{"arm", arm}, {"quantile", quantile}}, 1e-3};
  };
  static const auto evidence = [](const char* number, const char* limit, const char* test) {
    return Shown{number, kEvidence, {{"test", test}}, 1, limit};
  };
  static const std::vector<Shown> shown = {
      {"candidateRequests", kRequests, {{"arm", "candidate"}}},
      {"stableRequests", kRequests, {{"arm", "stable"}}},
      {"candidateErrors", kErrors, {{"arm", "candidate"}}},
      {"stableErrors", kErrors, {{"arm", "stable"}}},
      {"candidateNonFinite", kNonFinite, {}},
      run("candidateP50Ms", "candidate", "0.5"),
      run("candidateP99Ms", "candidate", "0.99"),
      run("stableP50Ms", "stable", "0.5"),
      run("stableP99Ms", "stable", "0.99"),
      run("baselineP50Ms", "baseline", "0.5"),
      run("baselineP99Ms", "baseline", "0.99"),
      evidence("eErrors", "eErrorsLimit", "ErrorRate"),
      evidence("eLatency", "eLatencyLimit", "Latency"),
      evidence("eLatencyBaseline", "eLatencyBaselineLimit", "LatencyBaseline"),
      evidence("eOutputs", "eOutputsLimit", "Outputs"),
      {"eErrorsProof", kProof, {{"test", "ErrorRate"}}, 1, "eProofLimit"},
      {"eLatencyProof", kProof, {{"test", "Latency"}}, 1, "eProofLimit"},
      {"eOutputsProof", kProof, {{"test", "Outputs"}}, 1, "eProofLimit"},
      {"errorDifferenceLow", kDifference, {{"bound", "low"}}},
      {"errorDifferenceHigh", kDifference, {{"bound", "high"}}},
      {"errorDifferenceDetectable", kDetectable, {}},
      {"runTimeRatioLow", kRunRatio, {{"bound", "low"}}},
      {"runTimeRatioHigh", kRunRatio, {{"bound", "high"}}},
      {"pairs", kPairs, {}},
  };
  return shown;
}

Labels With(Labels labels, const Labels& more) {
  labels.insert(more.begin(), more.end());
  return labels;
}

double Seconds(TimePoint at) { return std::chrono::duration<double>(at.time_since_epoch()).count(); }

void ShowNumbers(const std::map<std::string, double>& numbers, const Labels& labels, Exposition* out) {
  for (const Shown& shown : ShownNumbers()) {
    const auto found = numbers.find(shown.number);
    const auto limit = shown.limit == nullptr ? numbers.end() : numbers.find(shown.limit);
    if (found == numbers.end() || (shown.limit != nullptr && limit == numbers.end())) continue;
    const double of = limit == numbers.end() ? 1 : limit->second;
    out->Set(shown.name, With(labels, shown.labels), found->second * shown.unit / of);
  }
}

void ShowWeights(const api::ModelStatus& status, const Labels& labels, Exposition* out) {
  const bool under_way = api::IsUnderWay(status.rollout.phase);
  const double candidate = under_way ? status.rollout.weight_percent / 100 : 0;
  const auto show = [&](int64_t version, double share) {
    out->Set(kWeight, With(labels, {{"version", std::to_string(version)}}), share);
  };
  if (status.stable_version != 0) show(status.stable_version, 1 - candidate);
  if (under_way) show(status.rollout.candidate, candidate);
}

void ShowRollout(const api::Model& model, const Labels& labels, Exposition* out) {
  const api::RolloutStatus& rollout = model.status.rollout;
  for (const RolloutPhase phase : {RolloutPhase::kValidating, RolloutPhase::kLoading, RolloutPhase::kShadow,
                                   RolloutPhase::kPreview, RolloutPhase::kStep, RolloutPhase::kPaused,
                                   RolloutPhase::kPromoting, RolloutPhase::kCompleted, RolloutPhase::kRolledBack}) {
    out->Set(kPhase, With(labels, {{"phase", std::string(api::RolloutPhaseName(phase))}}), rollout.phase == phase);
  }
  out->Set(kWaiting, labels, api::IsUnderWay(rollout.phase) && !rollout.paused_reason.empty());
  out->Set(kSteps, labels, static_cast<double>(model.spec.rollout.steps.size()));
  out->Count(kAttempts, labels, rollout.attempt);
  if (rollout.phase == RolloutPhase::kNone) return;
  out->Set(kCandidate, labels, static_cast<double>(rollout.candidate));
  out->Set(kStep, labels, rollout.step_index + 1);
  out->Set(kSince, labels, Seconds(rollout.step_started_at));
  if (!rollout.verdict.result.empty())
    out->Set(kVerdict, With(labels, {{"result", rollout.verdict.result}, {"reason", rollout.verdict.reason}}), 1);
  ShowNumbers(rollout.verdict.numbers, labels, out);
}

void ShowSlo(const api::Slo& slo, const Labels& labels, Exposition* out) {
  if (slo.latency_target) {
    out->Set(kSloLatency, With(labels, {{"quantile", fmt::format("{:g}", slo.latency_quantile)}}),
             std::chrono::duration<double>(*slo.latency_target).count());
  }
  if (slo.error_rate) out->Set(kSloErrors, labels, *slo.error_rate);
}

}  // namespace

void Show(const api::Model& model, const Outcomes& outcomes, Exposition* out) {
  const Labels labels{{"namespace", model.metadata.namespace_},
                      {"name", model.metadata.name},
                      {"fleet", api::FleetOf(model.metadata, model.spec)},
                      {"model", model.spec.served_name}};
  ShowConditions(kCondition, labels, model.status.conditions, out);
  out->Set(kStable, labels, static_cast<double>(model.status.stable_version));
  out->Set(kFailed, labels, static_cast<double>(model.status.failed.size()));
  out->Count(kEnded, With(labels, {{"result", "Completed"}}), static_cast<double>(outcomes.completed));
  out->Count(kEnded, With(labels, {{"result", "RolledBack"}}), static_cast<double>(outcomes.rolled_back));
  ShowWeights(model.status, labels, out);
  ShowRollout(model, labels, out);
  ShowSlo(model.spec.slo, labels, out);
}

}  // namespace longshore::exposition
