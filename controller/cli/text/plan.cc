#include "controller/cli/text/plan.h"

#include <algorithm>
#include <cmath>

#include "controller/api/format.h"
#include "controller/api/units.h"
#include "controller/cli/text/shadow.h"
#include "controller/cli/text/table.h"
#include "controller/cli/text/text.h"
#include "controller/decide/analysis/analysis.h"

namespace longshore::cli::text {
namespace {

std::string Line(const char* name, const std::string& text) { return fmt::format("  {:<10} {}\n", name, text); }

// Rounds to seconds, because a preview determines the end of a hold with an error of up to a millisecond.
std::string After(Duration duration) {
  const auto whole = std::chrono::round<std::chrono::seconds>(duration);
  return whole.count() > 0 ? api::FormatDuration(whole) : "0s";
}

std::string MomentsText(const rollout::Preview& preview) {
  Table table({"AFTER", "WEIGHT", "NODES", "WHAT"});
  for (const rollout::Moment& moment : preview.moments) {
    table.Add({After(moment.after), Percent(moment.event.weight_percent), std::to_string(moment.nodes),
               moment.event.reason + ": " + moment.event.message});
  }
  return table.Text(2);
}

std::string RequestsText(const api::Rollout& rollout) {
  if (rollout.requests_min == 0) return "none: a step ends after its hold";
  std::string text = fmt::format("{} to the new version in each step", rollout.requests_min);
  for (const api::Step& step : rollout.steps) {
    const auto all =
        static_cast<int64_t>(std::ceil(static_cast<double>(rollout.requests_min) * 100 / step.weight_percent));
    text += fmt::format("{} about {} at {}", &step == &rollout.steps.front() ? "; in total" : ",", all,
                        Percent(step.weight_percent));
  }
  return text;
}

// The number in two digits: 13712 becomes "14,000".
std::string Rounded(double number) {
  const std::string digits = fmt::format("{:.0f}", api::RoundedTo(2, number));
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// What the proof of the error rate takes: requests, or pairs if users are assigned or the candidate has no weight.
struct ProofNeed {
  const char* pairs_share = nullptr;  // The field with the share of the pairs; nullptr if requests count.
  double share = 0;                   // The share of all requests that the candidate gets, or that become pairs.
  analysis::ErrorTolerance tolerance;

  std::optional<double> If(double error_rate) const {
    return pairs_share != nullptr ? analysis::PairsToProve(error_rate, tolerance)
                                  : analysis::RequestsToProve(error_rate, share, tolerance);
  }
  const char* unit() const { return pairs_share != nullptr ? "pairs" : "requests"; }
};

// How long the proof of the error rate takes at the traffic of the last day; if that is unknown, how many requests or
// pairs it takes.
std::string ProofTimeText(const api::Rollout& rollout, const ProofNeed& need, const api::Traffic& traffic) {
  constexpr double kFewErrors = 0.0001;
  if (need.pairs_share != nullptr && need.share == 0)
    return fmt::format("; it is impossible, because only pairs count and {} is 0", need.pairs_share);
  const auto if_hardly_any_fails = need.If(kFewErrors);
  if (traffic.over == Duration(0)) {
    const auto if_some_fail = need.If(0.01);
    if (!if_some_fail || !if_hardly_any_fails) return "; no number of requests suffices for this tolerance";
    return fmt::format(
        "; the error rate takes about {} {} if 1 % of them fail, and {} if hardly any of them fails; how long that "
        "takes is unknown, because no traffic has been counted yet",
        Rounded(*if_some_fail), need.unit(), Rounded(*if_hardly_any_fails));
  }
  const auto needed = need.If(std::max(traffic.error_rate, kFewErrors));
  const std::string last =
      fmt::format("the traffic of the last {} ({:g} requests/s, {:g} % of them fail)", api::RoughDuration(traffic.over),
                  traffic.requests_per_second, 100 * traffic.error_rate);
  if (!needed) return fmt::format("; at {} no number of requests suffices for this tolerance", last);
  const double per_second = traffic.requests_per_second * (need.pairs_share != nullptr ? need.share : 1);
  const Duration time = api::DurationOf(*needed / std::max(per_second, 1e-9));
  std::string text = fmt::format("; the error rate takes about {} {}, so about {} at {}", Rounded(*needed), need.unit(),
                                 api::RoughDuration(time), last);
  if (time > rollout.patience) text += "; that is longer than the patience";
  return text;
}

// What a proof requires, and how much it takes. `text`: where it is required.
std::string ProofText(std::string text, const api::Rollout& rollout, const ProofNeed& need,
                      const api::Traffic& traffic) {
  if (rollout.error_rate.enabled) {
    text += fmt::format(": an error rate at most {:g} percentage points or {} above the old version's",
                        100 * rollout.error_rate.tolerance, Percent(100 * rollout.error_rate.relative_tolerance));
  }
  if (rollout.latency.enabled) {
    text += fmt::format("{} run time at most {}", rollout.error_rate.enabled ? ", a" : ": a",
                        analysis::RunTimeLimitText(rollout, need.pairs_share != nullptr));
  }
  if (!rollout.error_rate.enabled) return text + "; how long the run times take depends on how much they vary";
  return text + ProofTimeText(rollout, need, traffic);
}

const char* AfterInconclusive(api::OnInconclusive action) {
  switch (action) {
    case api::OnInconclusive::kPromote: return "the rollout goes on";
    case api::OnInconclusive::kRollback: return "all traffic returns to the old version";
    case api::OnInconclusive::kPause: break;
  }
  return "it goes on as paused, until its proof or a command";
}

// The share of all requests that become pairs while the candidate has no weight: pairs are made on the nodes that hold
// both versions.
double ShareInPhase(const api::Model& model, const rollout::Preview& preview, size_t nodes) {
  const double share = model.spec.rollout.shadow->share;
  const auto phase = std::ranges::find_if(preview.moments, [](const rollout::Moment& moment) {
    return moment.event.reason == "Shadow" || moment.event.reason == "Preview";
  });
  const auto all = static_cast<int>(nodes);
  const int stable = std::min(model.spec.replicas.value_or(all), all);
  return phase == preview.moments.end() || stable == 0 ? share : share * std::min(phase->nodes, stable) / stable;
}

std::string ProofLines(const api::Model& model, const rollout::Preview& preview, size_t nodes) {
  const api::Rollout& rollout = model.spec.rollout;
  const api::Traffic& traffic = model.status.traffic;
  std::string text;
  if (api::ProofOfShadow(rollout) == api::Proof::kRequired) {
    const ProofNeed need{"shadow.share", ShareInPhase(model, preview, nodes),
                         analysis::ToleranceOf(rollout.error_rate)};
    text += Line("proof", ProofText("before the version gets requests", rollout, need, traffic));
  }
  for (size_t i = 0; i < rollout.steps.size(); ++i) {
    if (api::ProofOf(rollout, i) != api::Proof::kRequired) continue;
    const double weight = rollout.steps[i].weight_percent;
    const bool by_pairs = analysis::IsKeyed(rollout);
    const ProofNeed need{by_pairs ? "analysis.pairs.share" : nullptr,
                         by_pairs ? rollout.pairs.share : std::clamp(weight / 100, 0.01, 0.99),
                         analysis::ToleranceOf(rollout.error_rate)};
    text += Line("proof", ProofText(fmt::format("in the step at {}", Percent(weight)), rollout, need, traffic));
  }
  return text + Line("undecided",
                     fmt::format("after {} in a {}: {}", api::RoughDuration(rollout.patience),
                                 rollout.steps.empty() ? "phase" : "step", AfterInconclusive(rollout.on_inconclusive)));
}

std::string ChecksText(const api::ModelSpec& spec) {
  const api::Validation& validation = spec.validation;
  std::string text = "it loads in a rehearsal process";
  if (spec.warm_up) text += ", warms up";
  if (!validation.golden_set.empty()) {
    text += fmt::format(", and at least {1} of golden set {0} pass ({2}", validation.golden_set,
                        Percent(validation.minimum * 100), validation.metric);
    text += validation.metric == "tolerance" ? fmt::format(", relative {:g})", validation.relative_tolerance) : ")";
  }
  if (validation.deterministic) text += ", and the same input twice gives the same bits";
  return text;
}

std::string JudgedText(const api::ModelSpec& spec) {
  const api::Rollout& rollout = spec.rollout;
  std::string text = spec.validation.non_finite_reject ? "no NaN or Inf where the old version's values are finite" : "";
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (rollout.error_rate.enabled) add("error rate, not worse");
  if (rollout.latency.enabled) add(fmt::format("latency, at most {} slower", Percent(rollout.latency.tolerance * 100)));
  add(rollout.drift.max ? fmt::format("drift, at most {:g}", *rollout.drift.max) : "drift, reported only");
  if (rollout.shadow && !rollout.shadow->compare.empty()) add("outputs, by rules");
  return text +
         fmt::format("; an equally good version fails in at most {} of rollouts", Percent(analysis::kAlphaTotal * 100));
}

std::string EndText(const rollout::Preview& preview) {
  if (preview.held == "Spec") return "the rollout stops there: spec.rollout.paused is true";
  if (preview.held == "Command") return "the rollout stops there until `longshore resume`";
  if (!preview.held.empty()) return "the rollout stops there: " + preview.held;
  const Duration least = preview.moments.empty() ? Duration(0) : preview.moments.back().after;
  std::string text = After(least) + ", plus the time for loading and for the requests";
  if (preview.keep_warm > Duration(0))
    text += fmt::format("; version {} then stays loaded for {}, for undo", preview.stable, After(preview.keep_warm));
  return text;
}

// Whether the rollout makes pairs on nodes that execute one run at a time.
std::string CautionLine(const api::Rollout& rollout, const PlannedFleet& fleet) {
  const bool in_phase = rollout.shadow && rollout.shadow->share > 0;
  const bool in_steps = rollout.strategy == api::Strategy::kCanary && rollout.pairs.share > 0;
  if (fleet.concurrent_runs_max != 1 || !(in_phase || in_steps)) return "";
  return Line("caution", fmt::format("engine.concurrentRuns of the fleet is 1, so a request that arrives during a run "
                                     "of a pair waits until that run has ended, and a node that is never idle makes no "
                                     "pairs; raise it if the nodes have more processors, or lower {}",
                                     in_phase ? "rollout.shadow.budget" : "rollout.analysis.pairs.budget"));
}

std::string PolicyText(const api::Model& model, const rollout::Preview& preview, const PlannedFleet& fleet) {
  const api::Rollout& rollout = model.spec.rollout;
  std::string text = Line("at least", EndText(preview)) + Line("checked", ChecksText(model.spec));
  const bool steps = rollout.strategy == api::Strategy::kCanary && preview.stable != 0;
  if (preview.stable != 0) text += PhaseLines(model);
  if (steps) text += Line("requests", RequestsText(rollout));
  const bool is_judged = steps || (rollout.shadow && preview.stable != 0);
  if (is_judged)
    text +=
        Line("judged", JudgedText(model.spec)) + ProofLines(model, preview, fleet.nodes) + CautionLine(rollout, fleet);
  if (is_judged) {
    text += Line("if worse", rollout.on_failure == api::OnFailure::kRollback
                                 ? "all traffic returns to the old version; the new one is not retried"
                                 : "the rollout pauses and waits for a command");
  }
  return text + Line("gives up", "after " + api::FormatDuration(rollout.progress_deadline) + " without progress");
}

std::string WayText(const api::Model& model, const rollout::Preview& preview) {
  const std::string from = preview.stable == 0 ? "no version yet" : fmt::format("version {}", preview.stable);
  if (model.spec.version) return fmt::format("{} -> version {}", from, preview.candidate);
  return fmt::format("{} -> the next version that nodes find (this plan assumes {})", from, preview.candidate);
}

}  // namespace

std::string PlanText(const api::Model& model, const rollout::Preview& preview, const PlannedFleet& fleet) {
  const std::string name = model.metadata.namespace_ + "/" + model.metadata.name;
  if (!preview.no_rollout_reason.empty())
    return fmt::format("Model {}: no rollout: {}\n", name, preview.no_rollout_reason);
  if (preview.moments.empty()) return fmt::format("Model {}: its rollout waits: {}\n", name, RolloutInShort(model));
  return fmt::format("Model {}: {}, on {} nodes of fleet {}\n", name, WayText(model, preview), fleet.nodes,
                     model.spec.fleet) +
         MomentsText(preview) + PolicyText(model, preview, fleet);
}

}  // namespace longshore::cli::text
