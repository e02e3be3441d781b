#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/api/units.h"
#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/texts.h"

namespace longshore::analysis {
namespace {

// Minimum number of pairs before their mean difference is compared with the limit.
constexpr int64_t kDriftPairsMin = 30;

// Reason and message of the first failed rule; empty if none failed.
std::pair<std::string, std::string> FailureOfOutputs(const Seen& seen, const Alphas& alphas) {
  for (const OutputSeen& output : seen.outputs) {
    if (output.worse < 1 / alphas.outputs) continue;
    return {"OutputDiffers", fmt::format("{}: {}", ToText(*output.test), EValueText(output.worse, 1 / alphas.outputs))};
  }
  return {};
}

// Reason and message of the first failed test; empty if none failed.
std::pair<std::string, std::string> Failure(const Seen& seen, const api::ModelSpec& spec, const Alphas& alphas) {
  const api::Rollout& rollout = spec.rollout;
  if (spec.validation.non_finite_reject && seen.candidate.non_finite > 0) {
    return {"NonFinite",
            fmt::format("{} candidate answers contained NaN or Inf where stable's were finite on the same input",
                        seen.candidate.non_finite)};
  }
  const api::PairEvidence& compared = seen.candidate.pairs;
  if (rollout.shadow && compared.mismatched > 0) {
    return {"OutputMismatch", fmt::format("in {} of {} pairs the outputs of the versions cannot be compared: {}",
                                          compared.mismatched, compared.pairs, compared.mismatch)};
  }
  if (rollout.error_rate.enabled && seen.errors >= 1 / alphas.errors) {
    return {"ErrorRate", ErrorsMessage(seen, alphas.errors)};
  }
  if (alphas.bins > 0 && seen.bins && seen.bins->failed()) return {"ErrorRate", ToText(*seen.bins)};
  if (rollout.latency.enabled && seen.latency >= 1 / alphas.latency) {
    return {"Latency", LatencyMessage(seen, {seen.stable, "stable", seen.latency, 1 / alphas.latency}, spec)};
  }
  if (auto failure = FailureOfOutputs(seen, alphas); !failure.first.empty()) return failure;
  const int64_t pairs = seen.candidate.drift.pairs;
  if (rollout.drift.max && pairs >= kDriftPairsMin && DriftMean(seen) > *rollout.drift.max) {
    return {"Drift", fmt::format("mean difference {:.3g} over {} pairs of answers is above {:.3g}", DriftMean(seen),
                                 pairs, *rollout.drift.max)};
  }
  return {};
}

// Whether the test LatencyBaseline holds the rollout at its current step. This test only holds and never fails a
// candidate: it cannot tell a candidate that slows down stable in the same process from a slow period of the machine.
bool HoldsForBaseline(const Seen& seen, const Analysis& analysis, const api::Rollout& rollout) {
  return rollout.latency.enabled && !analysis.slo_missed.empty() && seen.latency_baseline >= 1 / kBaselineDelta;
}

bool IsProven(double e) { return e >= 1 / kAlphaProof; }

// The proofs that are still missing: "its error rate", "output probabilities: Top1".
std::vector<std::string> MissingProofs(const Seen& seen, const api::Rollout& rollout) {
  std::vector<std::string> missing;
  if (rollout.error_rate.enabled && !IsProven(seen.errors_proof)) missing.emplace_back("its error rate");
  if (rollout.latency.enabled && !IsProven(seen.latency_proof)) missing.emplace_back("its run times");
  for (const OutputSeen& output : seen.outputs) {
    if (!IsProven(output.proof)) missing.push_back(fmt::format("output {}", output.test->counts.rule));
  }
  return missing;
}

// "its error rate and its run times are"
std::string JoinedSubject(const std::vector<std::string>& missing) {
  if (missing.size() == 1) return missing.front() + (missing.front() == "its run times" ? " are" : " is");
  const std::vector<std::string> all_but_last(missing.begin(), missing.end() - 1);
  return fmt::format("{} and {} are", fmt::join(all_but_last, ", "), missing.back());
}

// What is known about the rules whose proofs are missing.
std::string OutputsText(const Seen& seen) {
  std::string text;
  for (const OutputSeen& output : seen.outputs) {
    if (IsProven(output.proof)) continue;
    text += "; " + ToText(*output.test);
    const std::optional<double> pairs = PairsToProve(*output.test, 1 / kAlphaProof);
    text += pairs ? fmt::format("; the proof takes about {:.0f} more pairs if that stays so", api::RoundedTo(2, *pairs))
                  : "; more pairs do not lead to a proof if that stays so";
  }
  return text;
}

// What the step counts, over the whole rollout.
int64_t CountOf(const Seen& seen, const api::Rollout& rollout, const StepFacts& step) {
  return step.without_weight ? seen.candidate.pairs.pairs : RequestsOf(seen.candidate, rollout);
}

// The time until the missing proofs are complete, if both versions are equal and the traffic stays as in this step;
// nullopt if it is unknown.
std::optional<Duration> TimeToProof(const Seen& seen, const api::Rollout& rollout, const StepFacts& step) {
  const double seconds = std::chrono::duration<double>(step.elapsed).count();
  if (step.requests == 0 || seconds <= 0) return std::nullopt;
  const double per_second = static_cast<double>(step.requests) / seconds;
  const auto seen_so_far = static_cast<double>(CountOf(seen, rollout, step));
  double needed = 0;
  const auto add = [&](bool enabled, double e) {
    if (!enabled || IsProven(e)) return true;
    const std::optional<double> times = EvidenceNeeded(e, 1 / kAlphaProof);
    if (times) needed = std::max(needed, (*times - 1) * seen_so_far);
    return times.has_value();
  };
  if (!add(rollout.error_rate.enabled, seen.errors_proof) || !add(rollout.latency.enabled, seen.latency_proof)) {
    return std::nullopt;
  }
  for (const OutputSeen& output : seen.outputs) {
    if (IsProven(output.proof)) continue;
    const std::optional<double> pairs = PairsToProve(*output.test, 1 / kAlphaProof);
    if (!pairs || output.test->counts.pairs == 0) return std::nullopt;
    needed = std::max(needed, *pairs * seen_so_far / static_cast<double>(output.test->counts.pairs));
  }
  return api::DurationOf(needed / per_second);
}

std::string NotProvenMessage(const Seen& seen, const api::ModelSpec& spec, const StepFacts& step,
                             const std::vector<std::string>& missing) {
  const std::string message = fmt::format("it is not shown yet that {} within the tolerance: {}{}",
                                          JoinedSubject(missing), DifferenceText(seen, spec), OutputsText(seen));
  const auto time = TimeToProof(seen, spec.rollout, step);
  return message + (time ? fmt::format("; at this traffic the proof takes about {} more if the versions are equal",
                                       api::RoughDuration(*time))
                         : "; there is too little evidence to tell how much longer the proof takes");
}

// Does not name the time since the step began: without new requests the message is not written again, so the time would
// stand still. The forecast is that of the last request, "at this traffic".
std::string TooFewMessage(const Seen& seen, const api::ModelSpec& spec, const StepFacts& step) {
  const int64_t required = spec.rollout.requests_min;
  std::string message = fmt::format("the candidate has had {} of the {} {} that this {} requires; so far, {}",
                                    step.requests, required, step.without_weight ? "pairs" : "requests",
                                    step.without_weight ? "phase" : "step", DifferenceText(seen, spec));
  if (step.requests == 0) return message;
  const double left = static_cast<double>(required) / static_cast<double>(step.requests) - 1;
  const double seconds = left * std::chrono::duration<double>(step.elapsed).count();
  return message +
         fmt::format("; at this traffic the others take about {}", api::RoughDuration(api::DurationOf(seconds)));
}

// The first rule that has compared fewer than requestsMin pairs since it exists; nullptr if there is none. In a step,
// which counts requests, there need not be any pairs.
const OutputTest* RuleWithTooFewPairs(const Seen& seen, const api::Rollout& rollout, const StepFacts& step) {
  if (!step.without_weight) return nullptr;
  const auto found = std::ranges::find_if(
      seen.outputs, [&](const OutputSeen& output) { return output.test->counts.pairs < rollout.requests_min; });
  return found == seen.outputs.end() ? nullptr : found->test;
}

std::string TooFewComparedMessage(const OutputTest& rule, int64_t required, const StepFacts& step) {
  if (rule.counts.pairs == 0)
    return fmt::format("of {} pairs, none has an output that the rule \"{}\" can compare", step.requests,
                       rule.counts.rule);
  return fmt::format("the rule \"{}\" has compared {} of the {} pairs that this phase requires", rule.counts.rule,
                     rule.counts.pairs, required);
}

// The result of a step that requires a sample and has enough requests or pairs.
api::Verdict JudgeSample(const Seen& seen, const api::ModelSpec& spec, const StepFacts& step) {
  if (const OutputTest* rule = RuleWithTooFewPairs(seen, spec.rollout, step)) {
    return {step.elapsed < spec.rollout.patience ? "Undecided" : "Inconclusive",
            "TooFewRequests",
            TooFewComparedMessage(*rule, spec.rollout.requests_min, step),
            {}};
  }
  return {"Pass",
          "NoRegression",
          fmt::format("no test failed in {} of this {}; {}",
                      step.without_weight ? fmt::format("{} pairs", step.requests)
                                          : fmt::format("{} candidate requests", step.requests),
                      step.without_weight ? "phase" : "step", DifferenceText(seen, spec)),
          {}};
}

// The run times that the proof allows: the interval of short ones may go far beyond the tolerance.
std::string RunTimeNote(const api::Rollout& rollout, const StepFacts& step) {
  if (!rollout.latency.enabled) return "";
  return fmt::format("; a run time at most {} is allowed",
                     RunTimeLimitText(rollout, step.without_weight || IsJudgedByPairs(rollout)));
}

// The result of a step without a failed test.
api::Verdict JudgeStep(const Seen& seen, const api::ModelSpec& spec, const StepFacts& step) {
  const api::Rollout& rollout = spec.rollout;
  if (step.proof == api::Proof::kNone) {
    return {"Pass",
            "NoRegression",
            fmt::format("no test failed; the {} requires no evidence", step.without_weight ? "phase" : "step"),
            {}};
  }
  const bool patient = step.elapsed < rollout.patience;
  if (step.requests < rollout.requests_min) {
    return {patient ? "Undecided" : "Inconclusive", "TooFewRequests", TooFewMessage(seen, spec, step), {}};
  }
  if (step.proof == api::Proof::kSampled) return JudgeSample(seen, spec, step);
  const std::vector<std::string> missing = MissingProofs(seen, rollout);
  if (missing.empty()) {
    return {"Pass",
            "Proven",
            fmt::format("the candidate is not worse than stable by more than the tolerance: {}{}",
                        DifferenceText(seen, spec), RunTimeNote(rollout, step)),
            {}};
  }
  if (patient) {
    return {"Undecided", "NotProven", NotProvenMessage(seen, spec, step, missing), {}};
  }
  return {"Inconclusive",
          "NotProven",
          fmt::format("after {} there is neither a failed test nor a proof; {}", api::RoughDuration(step.elapsed),
                      NotProvenMessage(seen, spec, step, missing)),
          {}};
}

// The verdict without its numbers.
api::Verdict Conclude(const Seen& seen, const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step) {
  if (auto [reason, message] = Failure(seen, spec, AlphasOf(spec)); !reason.empty()) {
    return {"Fail", std::move(reason), std::move(message), {}};
  }
  if (HoldsForBaseline(seen, analysis, spec.rollout)) {
    return {
        "Undecided",
        "LatencyBaseline",
        "the latency objective is missed, and " +
            LatencyMessage(
                seen, {analysis.baseline, "stable did before the rollout", seen.latency_baseline, 1 / kBaselineDelta},
                spec),
        {}};
  }
  return JudgeStep(seen, spec, step);
}

}  // namespace

api::Verdict Judge(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step) {
  const Seen seen = SeenIn(analysis, spec, step);
  api::Verdict verdict = Conclude(seen, analysis, spec, step);
  verdict.numbers = Numbers(seen, analysis, AlphasOf(spec));
  return verdict;
}

api::Verdict JudgeWithoutNumbers(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step) {
  return Conclude(SeenIn(analysis, spec, step), analysis, spec, step);
}

}  // namespace longshore::analysis
