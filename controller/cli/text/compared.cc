#include "controller/cli/text/compared.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/units.h"
#include "controller/cli/text/table.h"
#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/difference.h"

namespace longshore::cli::text {
namespace {

using analysis::TwoDigits;

// The numbers of a verdict by their names; a missing one is 0.
class Numbers {
 public:
  explicit Numbers(const api::Verdict& verdict) : numbers_(verdict.numbers) {}

  bool has(const std::string& name) const { return numbers_.contains(name); }
  double operator[](const std::string& name) const { return has(name) ? numbers_.at(name) : 0; }
  std::string count(const std::string& name) const { return fmt::format("{:.0f}", (*this)[name]); }

 private:
  const std::map<std::string, double>& numbers_;
};

std::string RateText(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("{} %", TwoDigits(100 * part / whole));
}

std::string MsText(double ms) { return ms == 0 ? "-" : fmt::format("{} ms", TwoDigits(ms)); }

// "0.21 points lower".
std::string PointsText(double difference) {
  return fmt::format("{} points {}", TwoDigits(100 * std::abs(difference)), difference < 0 ? "lower" : "higher");
}

// The cells of a row after those of the two versions.
struct Judged {
  std::string difference;
  std::string allowed;
};

constexpr const char* kNoInterval = "too few for an interval";

bool HasErrorInterval(const Numbers& numbers) {
  return numbers["errorDifferenceLow"] > -1 || numbers["errorDifferenceHigh"] < 1;
}

Bounds ErrorBounds(const Numbers& numbers, const api::Rollout& rollout) {
  const double requests = numbers["stableRequests"];
  const double rate = requests == 0 ? 0 : numbers["stableErrors"] / requests;
  return {.low = numbers["errorDifferenceLow"],
          .high = numbers["errorDifferenceHigh"],
          .limit = analysis::TolerancesOf(rollout).errors.LimitFor(rate) - rate};
}

Judged JudgedErrors(const Numbers& numbers, const api::Rollout& rollout) {
  if (!rollout.error_rate.enabled) return {"not compared", ""};
  const Bounds bounds = ErrorBounds(numbers, rollout);
  return {HasErrorInterval(numbers) ? fmt::format("{} to {}", PointsText(bounds.low), PointsText(bounds.high))
                                    : kNoInterval,
          fmt::format("at most {}", PointsText(bounds.limit))};
}

bool HasRunTimeInterval(const Numbers& numbers) { return numbers.has("runTimeRatioHigh"); }

// Whether the difference of the run times is that of pairs. The medians of all requests say little about it: the two
// versions get other inputs, other batches and other neighbours.
bool ArePairsTimed(const Numbers& numbers) { return numbers["candidateRequests"] == 0 || numbers["runTimePairs"] > 0; }

Bounds RunTimeBounds(const Numbers& numbers, const api::Rollout& rollout) {
  return {.low = numbers["runTimeRatioLow"] - 1,
          .high = numbers["runTimeRatioHigh"] - 1,
          .limit = rollout.latency.tolerance};
}

// Without requests, pairs prove that the run times are within the tolerance.
std::string RunTimeAllowed(const Numbers& numbers, const api::Rollout& rollout) {
  const bool by_pairs = numbers["candidateRequests"] == 0 || analysis::IsJudgedByPairs(rollout);
  return "at most " + analysis::RunTimeLimitText(rollout, by_pairs);
}

Judged JudgedRunTimes(const Numbers& numbers, const api::Rollout& rollout) {
  if (!rollout.latency.enabled) return {"not compared", ""};
  const Bounds bounds = RunTimeBounds(numbers, rollout);
  return {HasRunTimeInterval(numbers) ? analysis::RatioIntervalText(1 + bounds.low, 1 + bounds.high) : kNoInterval,
          RunTimeAllowed(numbers, rollout)};
}

using Rows = std::vector<ComparedRow>;

ComparedRow Row(std::string what, std::string stable, std::string candidate, const Judged& judged = {}) {
  return {std::move(what), std::move(stable), std::move(candidate), judged.difference, judged.allowed};
}

void AddRequests(const Numbers& numbers, const api::Rollout& rollout, Rows& rows) {
  const auto count = [&](const char* what, const char* stable, const char* candidate) {
    rows.push_back(Row(what, numbers.count(stable), numbers.count(candidate)));
  };
  count("requests", "stableRequests", "candidateRequests");
  count("failed requests", "stableErrors", "candidateErrors");
  rows.push_back(Row("error rate", RateText(numbers["stableErrors"], numbers["stableRequests"]),
                     RateText(numbers["candidateErrors"], numbers["candidateRequests"]),
                     JudgedErrors(numbers, rollout)));
  if (numbers["stableOverloaded"] + numbers["candidateOverloaded"] > 0)
    count("refused or late because of the queue", "stableOverloaded", "candidateOverloaded");
  rows.push_back(Row("run time, median", MsText(numbers["stableP50Ms"]), MsText(numbers["candidateP50Ms"]),
                     ArePairsTimed(numbers) ? Judged{} : JudgedRunTimes(numbers, rollout)));
  rows.push_back(Row("run time, 99th percentile", MsText(numbers["stableP99Ms"]), MsText(numbers["candidateP99Ms"])));
}

// Without requests, the differences are those of the pairs.
void AddPairs(const Numbers& numbers, const api::Rollout& rollout, Rows& rows) {
  const bool are_judged = numbers["candidateRequests"] == 0;
  const std::string pairs = numbers.count("pairs");
  rows.push_back(Row("inputs that both versions ran", pairs, pairs));
  rows.push_back(Row("of these, failed only here", numbers.count("pairsOnlyStableFailed"),
                     numbers.count("pairsOnlyCandidateFailed"),
                     are_judged ? JudgedErrors(numbers, rollout) : Judged{}));
  if (ArePairsTimed(numbers))
    rows.push_back(Row("run time on the same input", "", "", JudgedRunTimes(numbers, rollout)));
}

// How far the answers of pairs differ. Without a limit in the manifest, this fails no rollout, so it is told in any
// case.
void AddDrift(const Numbers& numbers, const api::Rollout& rollout, Rows& rows) {
  if (numbers["driftPairs"] == 0) return;
  const auto& max = rollout.drift.max;
  rows.push_back(
      Row("mean difference of the answers to the same input", "", "",
          {TwoDigits(numbers["driftMean"]), max ? fmt::format("at most {}", TwoDigits(*max)) : "not limited"}));
  rows.push_back(Row("of these, the largest value is at another place", "", numbers.count("driftTop1Changed")));
}

// What a step or a phase counts.
struct Counted {
  double all = 0;         // Since the rollout began.
  double in_step = 0;     // Since the step or phase began.
  const char* noun = "";  // In the plural.
};

Counted CountedIn(const api::Model& model, const Numbers& numbers) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const bool without_weight = IsWithoutWeight(rollout.phase);
  const bool counts_pairs = without_weight || analysis::IsKeyed(model.spec.rollout);
  const double requests = without_weight ? 0 : numbers["candidateRequests"];
  const double all = requests + (counts_pairs ? numbers["pairs"] : 0);
  const char* noun = without_weight ? "pairs" : counts_pairs ? "requests and pairs" : "requests";
  return {all, all - static_cast<double>(rollout.step_candidate_requests), noun};
}

std::string About(double count, const char* noun) {
  return fmt::format("about {:.0f} more {}", std::max(1.0, api::RoundedTo(2, std::max(count, 1.0))), noun);
}

// The proof that the step or phase requires; nullopt if the rollout is not judged in its phase.
std::optional<api::Proof> ProofNow(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const api::Rollout& policy = model.spec.rollout;
  if (IsWithoutWeight(rollout.phase)) return policy.shadow ? std::optional(ProofOfShadow(policy)) : std::nullopt;
  const bool in_step = rollout.phase == api::RolloutPhase::kStep || rollout.phase == api::RolloutPhase::kPaused;
  const auto index = static_cast<size_t>(std::max(0, rollout.step_index));
  if (!in_step || rollout.weight_percent == 0 || index >= policy.steps.size()) return std::nullopt;
  return ProofOf(policy, index);
}

// One of the tests: the names of its e-values and limits in Verdict::numbers.
struct Test {
  const char* subject;
  bool enabled;
  const char* e;
  const char* limit;
  const char* proof;
};

// What the proof of this test still takes; "" if it is complete.
std::string UntilProof(const Test& test, const Numbers& numbers, const Counted& counted) {
  const double e = numbers[test.proof];
  if (!test.enabled || e >= numbers["eProofLimit"]) return "";
  const auto times = analysis::EvidenceNeeded(e, numbers["eProofLimit"]);
  if (!times)
    return fmt::format(
        "  It is too early to say how many more {} the proof takes that the {} are within the tolerance.\n",
        counted.noun, test.subject);
  return fmt::format("  If the {} stay as they are, the proof that they are within the tolerance takes {}.\n",
                     test.subject, About((*times - 1) * counted.all, counted.noun));
}

// When the test fails if the candidate goes on as it has; "" if nothing points there.
std::string UntilFailure(const Test& test, const Numbers& numbers, const Counted& counted) {
  const double e = numbers[test.e];
  const auto times = analysis::EvidenceNeeded(e, numbers[test.limit]);
  if (!test.enabled || !times || *times <= 1) return "";
  return fmt::format("  If the {} stay as they are, the rollout fails after {}.\n", test.subject,
                     About((*times - 1) * counted.all, counted.noun));
}

}  // namespace

std::string DriftWarning(const api::Model& model) {
  constexpr double kShareTold = 0.01;
  const api::Rollout& rollout = model.spec.rollout;
  const Numbers numbers(model.status.rollout.verdict);
  const double pairs = numbers["driftPairs"], changed = numbers["driftTop1Changed"];
  const bool is_judged = rollout.drift.max || (rollout.shadow && !rollout.shadow->compare.empty());
  if (is_judged || pairs == 0 || changed < kShareTold * pairs) return "";
  return fmt::format(
      "But the two versions answer differently: in {:.0f} of {:.0f} pairs the largest value of the answer is at "
      "another place. The manifest does not limit this (rollout.shadow.compare, rollout.analysis.drift.max).",
      changed, pairs);
}

std::vector<ComparedRow> ComparedRows(const api::Model& model) {
  const Numbers numbers(model.status.rollout.verdict);
  Rows rows;
  if (numbers["candidateRequests"] > 0) AddRequests(numbers, model.spec.rollout, rows);
  if (numbers["pairs"] > 0) AddPairs(numbers, model.spec.rollout, rows);
  if (!rows.empty()) AddDrift(numbers, model.spec.rollout, rows);
  if (!rows.empty() && numbers["candidateNonFinite"] > 0)
    rows.push_back(Row("NaN or Inf where stable's was finite", "", numbers.count("candidateNonFinite"), {"", "none"}));
  return rows;
}

std::string ComparedNote(const api::Model& model) {
  const api::Verdict& verdict = model.status.rollout.verdict;
  const Numbers numbers(verdict);
  const bool is_unbounded = (verdict.reason == "Latency" && !HasRunTimeInterval(numbers)) ||
                            (verdict.reason == "ErrorRate" && !HasErrorInterval(numbers));
  if (verdict.result != "Fail" || !is_unbounded) return "";
  return "The failed test needs fewer requests than the interval: it only finds that the candidate is worse than "
         "allowed, and not by how much.";
}

std::string ComparedText(const api::Model& model) {
  const std::vector<ComparedRow> rows = ComparedRows(model);
  if (rows.empty()) return "";
  const api::RolloutStatus& rollout = model.status.rollout;
  Table table({"", fmt::format("STABLE ({})", rollout.stable), fmt::format("CANDIDATE ({})", rollout.candidate),
               "DIFFERENCE", "ALLOWED"});
  for (const ComparedRow& row : rows) table.Add({row.what, row.stable, row.candidate, row.difference, row.allowed});
  const std::string note = ComparedNote(model);
  return table.Text(2) +
         "  Counted since the rollout began. The true difference is in its interval with 95 % confidence; points are "
         "percentage points.\n" +
         (note.empty() ? "" : "  " + note + "\n");
}

std::vector<NamedBounds> BoundsOf(const api::Model& model) {
  const api::Rollout& rollout = model.spec.rollout;
  const Numbers numbers(model.status.rollout.verdict);
  if (numbers["candidateRequests"] + numbers["pairs"] == 0) return {};
  std::vector<NamedBounds> differences;
  if (rollout.error_rate.enabled && HasErrorInterval(numbers))
    differences.push_back({"error rate", ErrorBounds(numbers, rollout)});
  if (rollout.latency.enabled && HasRunTimeInterval(numbers))
    differences.push_back({"run time", RunTimeBounds(numbers, rollout)});
  return differences;
}

std::string RunTimeAllowed(const api::Model& model) {
  return RunTimeAllowed(Numbers(model.status.rollout.verdict), model.spec.rollout);
}

std::string OutlookText(const api::Model& model) {
  const std::optional<api::Proof> proof = ProofNow(model);
  const Numbers numbers(model.status.rollout.verdict);
  const std::string& result = model.status.rollout.verdict.result;
  if (!proof || !numbers.has("eProofLimit") || (result != "Undecided" && result != "Inconclusive")) return "";
  const api::Rollout& policy = model.spec.rollout;
  const Counted counted = CountedIn(model, numbers);
  std::string text;
  const double missing = static_cast<double>(policy.requests_min) - counted.in_step;
  if (*proof != api::Proof::kNone && missing > 0)
    text += fmt::format("  This {} still needs {:.0f} more {} of version {} (rollout.requestsMin is {}).\n",
                        IsWithoutWeight(model.status.rollout.phase) ? "phase" : "step", missing, counted.noun,
                        model.status.rollout.candidate, policy.requests_min);
  for (const Test& test : {Test{"error rates", policy.error_rate.enabled, "eErrors", "eErrorsLimit", "eErrorsProof"},
                           Test{"run times", policy.latency.enabled, "eLatency", "eLatencyLimit", "eLatencyProof"}}) {
    if (*proof == api::Proof::kRequired) text += UntilProof(test, numbers, counted);
    text += UntilFailure(test, numbers, counted);
  }
  return text;
}

}  // namespace longshore::cli::text
