// Runs tests/golden/analysis. A case has
//   spec:     fields that differ from a model with the default canary and requestsMin 100
//   baseline: an arm; windows: [{candidate: arm, stable: arm, times: 3}]
//   arm:      {requests: 100, errors: 2, nonFinite: 0, ms: 10, spread: 3, drift: {pairs: 5, sum: 0.1}}
//             rows: 8, overloaded: 1, pairs: {count: 100, candidateFailed: 1, stableFailed: 1, bothFailed: 0,
//             ratio: 1.2} run times are spread evenly over `spread` buckets, of which the last is the bucket of `ms`;
//             all pairs that both versions answered have the ratio; mismatched: 1, mismatch: why,
//             outputs: [{rule: "o: Top1", pairs: 100, differs: 1, noise: 0, both: 0}]
//             bins: {requests: 100, bad: 1} are the counts of each bin; weight: of the candidate in percent
//   proof:    what the step requires: Required, Sampled (the default) or None; minutes: since the step began
//   withoutWeight: true in the phases Shadow and Preview
#include <gtest/gtest.h>

#include <cmath>

#include "controller/api/parse.h"
#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/histogram.h"
#include "tests/golden/golden.h"

namespace longshore::analysis {
namespace {

using golden::Child;
using golden::Get;

constexpr char kSaltOfBins[] = "u/2/1";

api::PairEvidence PairsFrom(const Json& json) {
  api::PairEvidence pairs{Get<int64_t>(json, "count", 0),
                          Get<int64_t>(json, "candidateFailed", 0),
                          Get<int64_t>(json, "stableFailed", 0),
                          Get<int64_t>(json, "bothFailed", 0),
                          {}};
  const int64_t answered = pairs.pairs - pairs.candidate_failed - pairs.stable_failed - pairs.both_failed;
  const int bucket = RatioBucketOf(std::log2(Get(json, "ratio", 1.0)));
  pairs.ratio_buckets.resize(static_cast<size_t>(bucket) + 1);
  pairs.ratio_buckets.back() = answered;
  pairs.mismatched = Get<int64_t>(json, "mismatched", 0);
  pairs.mismatch = Get<std::string>(json, "mismatch", "");
  for (const Json& output : Child(json, "outputs")) {
    pairs.outputs.push_back({Get<std::string>(output, "rule", ""), Get<int64_t>(output, "pairs", pairs.pairs),
                             Get<int64_t>(output, "differs", 0), Get<int64_t>(output, "noise", 0),
                             Get<int64_t>(output, "both", 0)});
  }
  return pairs;
}

api::BinEvidence BinsFrom(const Json& json) {
  if (json.is_null()) return {};
  return {kSaltOfBins, std::vector(kBins, Get<int64_t>(json, "requests", 0)),
          std::vector(kBins, Get<int64_t>(json, "bad", 0))};
}

api::ArmEvidence ArmFrom(const Json& json) {
  api::ArmEvidence arm;
  arm.requests = Get<int64_t>(json, "requests", 0);
  arm.errors = Get<int64_t>(json, "errors", 0);
  arm.non_finite = Get<int64_t>(json, "nonFinite", 0);
  arm.overloaded = Get<int64_t>(json, "overloaded", 0);
  arm.pairs = PairsFrom(Child(json, "pairs"));
  arm.bins = BinsFrom(Child(json, "bins"));
  arm.drift.pairs = Get<int64_t>(Child(json, "drift"), "pairs", 0);
  arm.drift.difference_sum = Get(Child(json, "drift"), "sum", 0.0);
  if (!json.is_object() || !json.contains("ms")) return arm;
  const int top = BucketOf(Duration(static_cast<int64_t>(Get(json, "ms", 1.0) * 1000)));
  const int spread = Get(json, "spread", 1);
  Buckets& run_times = arm.run_times[Get(json, "rows", 0)];
  run_times.resize(static_cast<size_t>(top) + 1);
  for (int64_t i = 0; i < arm.requests; ++i) ++run_times[static_cast<size_t>(top - i % spread)];
  return arm;
}

api::ModelSpec SpecFrom(const Json& json) {
  Json spec{{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}};
  if (json.contains("spec")) spec.merge_patch(Child(json, "spec"));
  const auto parsed = api::ModelSpecFromJson(spec, "digits");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

Analysis Analyse(const Json& json, const api::ModelSpec& spec) {
  Analysis analysis = Begin(spec, ArmFrom(Child(json, "baseline")));
  analysis.bins.Follow({kSaltOfBins, static_cast<int>(std::lround(100 * Get(json, "weight", 0.0)))});
  for (const Json& window : Child(json, "windows")) {
    const WindowEvidence evidence{ArmFrom(Child(window, "candidate")), ArmFrom(Child(window, "stable"))};
    for (int i = 0; i < Get(window, "times", 1); ++i) analysis = Update(std::move(analysis), "a", evidence);
  }
  return analysis;
}

StepFacts StepFrom(const Json& json, const Analysis& analysis, const api::Rollout& rollout) {
  static const std::map<std::string, api::Proof> kProofs = {
      {"Required", api::Proof::kRequired}, {"Sampled", api::Proof::kSampled}, {"None", api::Proof::kNone}};
  const bool without_weight = Get(json, "withoutWeight", false);
  return {kProofs.at(Get<std::string>(json, "proof", "Sampled")),
          without_weight ? analysis.candidate.pairs.pairs : CandidateRequests(analysis, rollout),
          std::chrono::minutes(Get(json, "minutes", 1)), without_weight};
}

TEST(AnalysisGolden, EachCaseGivesTheExpectedVerdict) {
  const auto cases = golden::LoadCases("analysis");
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_GE(cases->size(), 12u);
  for (const golden::Case& test : *cases) {
    const api::ModelSpec spec = SpecFrom(test.json);
    const Analysis analysis = Analyse(test.json, spec);
    const api::Verdict verdict = Judge(analysis, spec, StepFrom(test.json, analysis, spec.rollout));
    const Json outcome{{"result", verdict.result},
                       {"reason", verdict.reason},
                       {"message", verdict.message},
                       {"numbers", verdict.numbers}};
    for (const std::string& difference : golden::Differences(Child(test.json, "expect"), outcome)) {
      ADD_FAILURE() << test.where << "\n  " << difference << "\n  " << verdict.message << " " << outcome.dump();
    }
    const auto again = FromJson(ToJson(analysis));
    ASSERT_TRUE(again) << test.where << again.error().message;
    EXPECT_EQ(ToJson(*again), ToJson(analysis)) << test.where;
  }
}

}  // namespace
}  // namespace longshore::analysis
