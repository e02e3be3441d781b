#include "serving-node/golden_files/check_version.h"

#include <charconv>
#include <ostream>

#include "common/json/json.h"
#include "common/version_files/folder.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/golden_files/brief.h"
#include "serving-node/golden_files/progress.h"
#include "serving-node/rehearsal/rehearsal.h"

namespace longshore::golden_files {
namespace {

using golden_set::Judgement;

// A record that does not pass, as texts: the tensors of the judgement live only during the call.
struct FailingRecord {
  int64_t index = 0;
  std::string signature;
  std::string difference;
  double relative_difference = 0;
  std::string tensors;  // The input, the known answer and the answer.
};

FailingRecord Describe(const Judgement& judged) {
  return {.index = judged.index,
          .signature = judged.record.request.signature,
          .difference = judged.difference,
          .relative_difference = judged.relative_difference,
          .tensors = Brief(judged.record.request.inputs, "  input     ") +
                     Brief(judged.record.expected, "  expected  ") + Brief(judged.outputs, "  got       ")};
}

// "12/", "0012" and "12" are the version 12; other names are version 0.
int64_t NumberOf(const Path& version_dir) {
  const std::string name = (version_dir.has_filename() ? version_dir : version_dir.parent_path()).filename().string();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

rehearsal::RehearsalOptions RehearsalOf(const VersionOptions& version, const Path& version_dir) {
  rehearsal::RehearsalOptions options;
  options.version = NumberOf(version_dir);
  options.version_dir = version_dir;
  // The folder may have leading zeros.
  if (!version.stable.empty())
    options.stable_dir =
        version_files::FindVersionDir(version.stable.parent_path(), NumberOf(version.stable)).value_or(version.stable);
  options.validation = version.validation;
  options.warm_up = version.warm_up;
  return options;
}

struct Outcome {
  Result<control::GoldenResult> result;
  std::vector<FailingRecord> failing;
};

Outcome Rehearse(const VersionOptions& version, const Path& version_dir, std::ostream& notes) {
  Outcome outcome{.result = control::GoldenResult(), .failing = {}};
  Progress progress("judged", notes);
  const auto engine = engine::cpu::MakeEngine();
  outcome.result = rehearsal::Judge(*engine, RehearsalOf(version, version_dir), [&](const Judgement& judged) {
    if (!judged.difference.empty() && outcome.failing.size() < version.rows)
      outcome.failing.push_back(Describe(judged));
    progress.Done(static_cast<size_t>(judged.index + 1));
  });
  return outcome;
}

// Why the version would not pass; "" if it passes.
std::string ReasonOf(const Outcome& outcome) {
  return outcome.result ? outcome.result->message() : ToString(outcome.result.error());
}

std::string ScoreText(const control::Validation& validation, const control::GoldenResult& result) {
  std::string text = fmt::format("  records     {} of {} pass\n", result.passed(), result.records());
  text += fmt::format("  score       {:.4f}; at least {:.4f}\n", result.score(), validation.minimum());
  if (validation.metric() == "tolerance")
    text += fmt::format("  difference  at most {:.3g}; a record passes up to {:g}\n",
                        result.worst_relative_difference(), validation.relative_tolerance());
  return text;
}

std::string RulesText(const VersionOptions& version) {
  const control::Validation& rules = version.validation;
  std::string text = fmt::format("  rules       {}\n", version.rules);
  text += fmt::format("  signatures  {}\n", version.stable.empty()
                                                ? "not compared, because " + version.why_no_stable
                                                : "must accept the requests of " + version.stable.string());
  if (rules.golden_set().empty()) return text + "  golden set  none\n";
  return text + fmt::format("  golden set  {}, metric {}\n", rules.golden_set(), rules.metric());
}

std::string ToText(const VersionOptions& version, const Path& version_dir, const Outcome& outcome) {
  const std::string reason = ReasonOf(outcome);
  std::string text = fmt::format("{}: {}\n", version_dir.string(), reason.empty() ? "would pass" : "would not pass");
  text += RulesText(version);
  if (outcome.result && outcome.result->records() > 0) text += ScoreText(version.validation, *outcome.result);
  if (!reason.empty()) text += fmt::format("  because     {}\n", reason);
  for (const FailingRecord& record : outcome.failing) {
    text += fmt::format("record {}, signature {}: {}\n{}", record.index, record.signature, record.difference,
                        record.tensors);
  }
  const int64_t failed = outcome.result ? outcome.result->records() - outcome.result->passed() : 0;
  const auto shown = static_cast<int64_t>(outcome.failing.size());
  if (failed > shown && shown > 0) text += fmt::format("and {} more records; --rows shows more\n", failed - shown);
  return text;
}

Json ToJson(const VersionOptions& version, const Path& version_dir, const Outcome& outcome) {
  const control::Validation& rules = version.validation;
  Json json = {{"version_dir", version_dir.string()},
               {"passes", ReasonOf(outcome).empty()},
               {"reason", ReasonOf(outcome)},
               {"golden_set", rules.golden_set()},
               {"metric", rules.metric()},
               {"minimum", rules.minimum()},
               {"relative_tolerance", rules.relative_tolerance()}};
  if (outcome.result) {
    json["records"] = outcome.result->records();
    json["passed"] = outcome.result->passed();
    json["score"] = outcome.result->score();
    json["worst_relative_difference"] = outcome.result->worst_relative_difference();
  }
  json["failing"] = Json::array();
  for (const FailingRecord& record : outcome.failing)
    json["failing"].push_back({{"record", record.index},
                               {"signature", record.signature},
                               {"difference", record.difference},
                               {"relative_difference", record.relative_difference}});
  return json;
}

}  // namespace

int CheckVersion(const Options& options, const Path& version_dir, std::ostream& out, std::ostream& notes) {
  const Outcome outcome = Rehearse(options.version, version_dir, notes);
  out << (options.json ? DumpJson(ToJson(options.version, version_dir, outcome), 2) + "\n"
                       : ToText(options.version, version_dir, outcome));
  return ReasonOf(outcome).empty() ? kExitOk : kExitFailed;
}

void PrintCrash(const Options& options, const Path& version_dir, const std::string& why, std::ostream& out) {
  if (options.verb != Verb::kCheckVersion || !options.json) return;
  const Outcome outcome{.result = tl::make_unexpected(Error{Code::kInternal, why}), .failing = {}};
  out << DumpJson(ToJson(options.version, version_dir, outcome), 2) << "\n";
}

}  // namespace longshore::golden_files
