#include "controller/cli/text/shadow.h"

#include <algorithm>

#include "controller/api/units.h"
#include "controller/decide/analysis/analysis.h"

namespace longshore::cli::text {
namespace {

using api::Strategy;

std::string PlanLine(const char* name, const std::string& text) { return fmt::format("  {:<10} {}\n", name, text); }

std::string PercentOf(double share) { return fmt::format("{:g} %", 100 * share); }

// Before the steps of a canary, only the nodes of the first step hold the candidate.
std::string SharesText(const api::Rollout& rollout) {
  return fmt::format("{} of the old version's requests{}", PercentOf(rollout.shadow->share),
                     rollout.strategy == Strategy::kCanary ? " on the nodes that hold both versions" : "");
}

std::string PreviewText(const api::Preview& preview) {
  const std::string promotes =
      preview.auto_promote ? fmt::format("gets all requests after {}", api::RoughDuration(*preview.auto_promote))
                           : "waits for promote";
  return fmt::format("{}; header {}, label {}", promotes, preview.header, api::kPreviewName);
}

std::string RequiredText(const api::Rollout& rollout) {
  switch (api::ProofOfShadow(rollout)) {
    case api::Proof::kRequired: return "and until there is a proof";
    case api::Proof::kSampled: return fmt::format("and until there are {} pairs", rollout.requests_min);
    case api::Proof::kNone: break;
  }
  return "if no test fails";
}

// "280 because the node was busy, 15 because the budget was spent".
std::string DropsText(const api::PairDrops& dropped) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t count, const char* why) {
    if (count > 0) parts.push_back(fmt::format("{} because {}", count, why));
  };
  add(dropped.busy, "the node was busy");
  add(dropped.budget, "the budget for pairs was spent");
  add(dropped.queue, "too many pairs waited already");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// How many pairs the rule needs at least: if the outputs agree in all of them.
std::string ProofText(const analysis::OutputTest& test) {
  const auto pairs = analysis::PairsToProve(test, 1 / analysis::kAlphaProof);
  return pairs ? fmt::format("a proof takes at least about {:.0f} pairs", api::RoundedTo(2, *pairs))
               : "no proof is possible";
}

std::string RulesText(const api::Shadow& shadow) {
  if (shadow.compare.empty()) return PlanLine("outputs", "names, types and shapes; no rule compares values");
  std::vector<analysis::OutputTest> tests;
  analysis::ApplyRules(shadow.compare, tests);
  std::string text;
  for (size_t i = 0; i < tests.size(); ++i) {
    text += PlanLine("output", fmt::format("{}: at least {} of the rows must agree; {}", tests[i].counts.rule,
                                           PercentOf(shadow.compare[i].rows), ProofText(tests[i])));
  }
  return text;
}

}  // namespace

std::string PhaseText(const api::Rollout& rollout) {
  std::string text;
  if (rollout.shadow) {
    text = fmt::format("shadow for {} on {} -> ", api::RoughDuration(rollout.shadow->hold), SharesText(rollout));
  }
  if (rollout.strategy == Strategy::kShadow) text += "promote -> ";
  if (rollout.strategy == Strategy::kBlueGreen) text += fmt::format("preview ({}) -> ", PreviewText(rollout.preview));
  return text;
}

std::string HowToTry(const api::RolloutStatus& status, const api::Preview& preview) {
  if (status.phase != api::RolloutPhase::kPreview) return "";
  return fmt::format("Requests with the header {} or for the label {} get version {}. ", preview.header,
                     api::kPreviewName, status.candidate);
}

std::string WaitInPhase(const api::Model& model, TimePoint now) {
  const api::RolloutStatus& status = model.status.rollout;
  const api::Rollout& rollout = model.spec.rollout;
  Duration least = rollout.shadow ? rollout.shadow->hold : Duration(0);
  if (rollout.strategy == Strategy::kBlueGreen) least = std::max(least, rollout.preview.auto_promote.value_or(least));
  const Duration left = least - (now - status.step_started_at);
  const std::string what = rollout.shadow ? fmt::format("Nodes run {} on both versions. ", SharesText(rollout)) : "";
  if (left > Duration(0)) return fmt::format("{}The phase lasts at least {} more.", what, api::RoughDuration(left));
  return what + "The phase lasts until its verdict is Pass.";
}

std::string PhaseLines(const api::Model& model) {
  const api::Rollout& rollout = model.spec.rollout;
  std::string text;
  if (rollout.strategy == Strategy::kBlueGreen) text += PlanLine("preview", PreviewText(rollout.preview));
  if (!rollout.shadow) return text;
  const api::Shadow& shadow = *rollout.shadow;
  text +=
      PlanLine("shadow", fmt::format("{} run on both versions, when no client waits and in at most {} of a node's run "
                                     "slots, for at least {}, {}",
                                     SharesText(rollout), PercentOf(shadow.budget), api::RoughDuration(shadow.hold),
                                     RequiredText(rollout)));
  if (!shadow.memory_max.empty()) {
    text += PlanLine("memory", fmt::format("until it gets requests, a node loads it only if it needs at most {}",
                                           shadow.memory_max));
  }
  return text + RulesText(shadow);
}

std::string OutputsText(const api::RolloutStatus& rollout) {
  const auto analysis = analysis::FromJson(rollout.analysis);
  std::string text;
  if (!analysis) return text;
  for (const analysis::OutputTest& test : analysis->outputs) text += "  " + analysis::ToText(test) + "\n";
  return text;
}

std::string PairsText(const api::RolloutStatus& rollout) {
  const auto analysis = analysis::FromJson(rollout.analysis);
  if (!analysis) return "";
  const api::PairEvidence& pairs = analysis->candidate.pairs;
  const int64_t dropped = pairs.dropped.total();
  if (pairs.pairs + dropped == 0) return "";
  std::string text = fmt::format("  {} inputs ran on both versions", pairs.pairs);
  if (dropped > 0) text += fmt::format("; {} more were dropped: {}", dropped, DropsText(pairs.dropped));
  return text + ".\n";
}

}  // namespace longshore::cli::text
