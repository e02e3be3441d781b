// rollout.shadow and rollout.preview.
#include <algorithm>

#include "common/base/lower_case.h"
#include "controller/api/fields.h"
#include "controller/api/format.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr size_t kRulesMax = 32;
constexpr int kTopMax = 1000;
constexpr int kKeepWorstMax = 1000;
constexpr std::pair<const char*, Measure> kMeasures[] = {{"Top1", Measure::kTop1},
                                                         {"TopK", Measure::kTopK},
                                                         {"Cosine", Measure::kCosine},
                                                         {"Within", Measure::kWithin},
                                                         {"Equal", Measure::kEqual}};
// The fields that belong to one measure only.
constexpr std::pair<const char*, Measure> kOwners[] = {
    {"k", Measure::kTopK},          {"overlap", Measure::kTopK},    {"similarity", Measure::kCosine},
    {"relative", Measure::kWithin}, {"absolute", Measure::kWithin}, {"whitespace", Measure::kEqual}};

const char* Name(Measure measure) { return kMeasures[static_cast<size_t>(measure)].first; }

OutputRule ReadRule(Fields& rule) {
  OutputRule out;
  rule.Text("output", out.output, kOutputName, Need::kRequired);
  rule.Choice<Measure>("measure", out.measure, {kMeasures[0], kMeasures[1], kMeasures[2], kMeasures[3], kMeasures[4]},
                       Need::kRequired);
  for (const auto& [field, owner] : kOwners) {
    if (out.measure == owner || !rule.Has(field)) continue;
    rule.Refuse(field, fmt::format("has no effect with measure {}: it belongs to {}", Name(out.measure), Name(owner)));
  }
  rule.Number("rows", out.rows, 0, 1);
  rule.Integer("k", out.k, 1, kTopMax, out.measure == Measure::kTopK ? Need::kRequired : Need::kOptional);
  rule.Number("overlap", out.overlap, 0, 1);
  rule.Number("similarity", out.similarity, -1, 1);
  rule.Number("relative", out.relative, 0, 1e9);
  rule.Number("absolute", out.absolute, 0, 1e9);
  rule.Choice<bool>("whitespace", out.collapse_whitespace, {{"Exact", false}, {"Collapse", true}});
  return out;
}

void ReadRules(Fields& shadow, std::vector<OutputRule>& out) {
  shadow.Objects("compare", kRulesMax, [&](Fields& item) {
    const OutputRule rule = ReadRule(item);
    const bool is_known = std::ranges::any_of(
        out, [&](const OutputRule& other) { return other.output == rule.output && other.measure == rule.measure; });
    if (is_known) {
      item.Refuse("output", fmt::format("\"{}\" is compared by {} already: leave out one of the two rules", rule.output,
                                        Name(rule.measure)));
    }
    out.push_back(rule);
  });
}

void ReadShadowFields(Fields& shadow, Shadow& out) {
  shadow.Number("share", out.share, 0, 1);
  shadow.Number("budget", out.budget, 0, 1);
  shadow.Time("for", out.hold, Duration(0), hours(24 * 30));
  ReadProof(shadow, out.proof);
  shadow.Integer("keepWorst", out.keep_worst, 0, kKeepWorstMax);
  shadow.Text("memoryMax", out.memory_max, kMemory);
  ReadRules(shadow, out.compare);
  for (const auto& [field, value] : {std::pair("share", out.share), {"budget", out.budget}}) {
    if (value > 0 || out.proof == Proof::kNone) continue;
    shadow.Refuse(field, "0 leaves no pairs, so nothing can be shown: set a number above 0, or `proof: None`");
  }
}

void ReadPreview(Fields& preview, Rollout& out) {
  preview.Text("header", out.preview.header, kHeaderName);
  out.preview.header = LowerCase(out.preview.header);
  if (const std::string why = WhyNotChosenBy(out.preview.header); !why.empty())
    preview.Refuse("header", fmt::format("\"{}\" {}", out.preview.header, why));
  preview.Time("autoPromote", out.preview.auto_promote.emplace(), seconds(1), hours(24 * 30));
  if (!preview.Has("autoPromote")) out.preview.auto_promote.reset();
}

void CheckPreview(Fields& rollout, const Rollout& out) {
  if (rollout.Has("preview") && out.strategy != Strategy::kBlueGreen)
    rollout.Refuse("preview.header", "preview has no effect without `strategy: BlueGreen`");
}

// A request with the header of the preview goes to the candidate, so the header cannot assign users, too.
void CheckHeader(Fields& rollout, const Rollout& out) {
  if (out.strategy != Strategy::kBlueGreen || out.assignment_by != AssignmentBy::kHeader) return;
  if (LowerCase(out.assignment_key) != out.preview.header) return;
  rollout.Refuse("preview.header",
                 fmt::format("\"{}\" is assignment.key, too: choose another header", out.preview.header));
}

void CheckShadow(Fields& rollout, const Rollout& out) {
  if (out.strategy == Strategy::kImmediate && out.shadow)
    rollout.Refuse("shadow", "has no effect with `strategy: Immediate`");
  if (out.shadow && out.shadow->proof == Proof::kRequired && !IsProvable(out))
    rollout.Refuse("shadow.proof", kProofImpossible);
  if (out.strategy == Strategy::kShadow && out.on_inconclusive == OnInconclusive::kPromote) {
    rollout.Refuse("onInconclusive",
                   "Promote is impossible with `strategy: Shadow`, which promotes only by the command promote");
  }
}

Json RuleToJson(const OutputRule& rule) {
  Json json{{"output", rule.output}, {"measure", Name(rule.measure)}, {"rows", rule.rows}};
  switch (rule.measure) {
    case Measure::kTop1: break;
    case Measure::kTopK:
      json["k"] = rule.k;
      json["overlap"] = rule.overlap;
      break;
    case Measure::kCosine: json["similarity"] = rule.similarity; break;
    case Measure::kWithin:
      json["relative"] = rule.relative;
      json["absolute"] = rule.absolute;
      break;
    case Measure::kEqual: json["whitespace"] = rule.collapse_whitespace ? "Collapse" : "Exact"; break;
  }
  return json;
}

}  // namespace

void ReadShadow(Fields& rollout, Rollout& out) {
  if (out.strategy == Strategy::kShadow || rollout.Has("shadow")) out.shadow.emplace();
  rollout.Object("shadow", [&](Fields& shadow) { ReadShadowFields(shadow, *out.shadow); });
  rollout.Object("preview", [&](Fields& preview) { ReadPreview(preview, out); });
  CheckPreview(rollout, out);
  CheckHeader(rollout, out);
  CheckShadow(rollout, out);
}

void PutShadow(const Rollout& rollout, Json& json) {
  if (rollout.shadow) {
    Json& shadow = json["shadow"] = {{"share", rollout.shadow->share},
                                     {"budget", rollout.shadow->budget},
                                     {"for", FormatDuration(rollout.shadow->hold)},
                                     {"keepWorst", rollout.shadow->keep_worst}};
    if (!rollout.shadow->memory_max.empty()) shadow["memoryMax"] = rollout.shadow->memory_max;
    if (rollout.shadow->proof) shadow["proof"] = ProofName(*rollout.shadow->proof);
    for (const OutputRule& rule : rollout.shadow->compare) shadow["compare"].push_back(RuleToJson(rule));
  }
  if (rollout.strategy != Strategy::kBlueGreen) return;
  json["preview"] = {{"header", rollout.preview.header}};
  if (rollout.preview.auto_promote) json["preview"]["autoPromote"] = FormatDuration(*rollout.preview.auto_promote);
}

}  // namespace longshore::api
