#include "controller/cli/text/rollout.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "controller/api/units.h"
#include "controller/cli/text/compared.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/interval_bar.h"
#include "controller/cli/text/offers.h"
#include "controller/cli/text/standing.h"
#include "controller/cli/text/table.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::text {
namespace {

using api::RolloutPhase;

constexpr size_t kNodesShownMax = 10;
constexpr size_t kEventsShownMax = 5;
constexpr int kSplitColumns = 40;

// The index of the step that the rollout is in; the number of steps if all are over, -1 before the first.
int StepOf(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const int count = static_cast<int>(model.spec.rollout.steps.size());
  switch (rollout.phase) {
    case RolloutPhase::kStep:
    case RolloutPhase::kPaused: return rollout.step_index;
    case RolloutPhase::kPromoting:
    case RolloutPhase::kCompleted: return count;
    default: return -1;
  }
}

std::string StepsText(const api::Model& model) {
  const std::vector<api::Step>& steps = model.spec.rollout.steps;
  Table table({"STEP", "REQUESTS", "STATE", "AT LEAST", "PROOF", "THEN"});
  const int now = StepOf(model);
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const api::Step& step = steps[static_cast<size_t>(i)];
    table.Add({std::to_string(i + 1), Percent(step.weight_percent),
               i < now    ? "✓ done"
               : i == now ? "● now"
                          : "· later",
               api::FormatDuration(step.hold.value_or(model.spec.rollout.hold)),
               std::string(ProofName(ProofOf(model.spec.rollout, static_cast<size_t>(i)))),
               step.manual_pause ? "waits for promote" : ""});
  }
  return table.empty() ? "" : table.Text(2);
}

std::string SplitLine(int64_t version, const char* role, double percent) {
  std::string bar;
  for (int i = 0; i < std::lround(percent / 100 * kSplitColumns); ++i) bar += "█";
  return fmt::format("  version {:<6} {:<10} {:>6}  {}\n", version, role, Percent(percent), bar);
}

std::string SplitText(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  if (!IsUnderWay(rollout.phase)) return "";
  const std::string candidate = SplitLine(rollout.candidate, "candidate", rollout.weight_percent);
  if (rollout.stable == 0) return candidate;
  return SplitLine(rollout.stable, "stable", 100 - rollout.weight_percent) + candidate;
}

// The state of the version in a text such as "1:Ready 2:Loading", with a mark; "-" if the node does not name it.
std::string StateOf(const std::string& states, int64_t version) {
  const std::string name = std::to_string(version) + ":";
  std::istringstream words(states);
  for (std::string word; words >> word;) {
    if (!word.starts_with(name)) continue;
    const std::string state = word.substr(name.size());
    const bool is_bad = state == "Failed" || state == "Quarantined" || state == "NoMemory";
    return (state == "Ready" ? "✓ " : is_bad ? "✗ " : "◌ ") + state;
  }
  return "-";
}

// One column for stable and, during a rollout, one for the candidate.
std::string NodesText(const api::Model& model) {
  const std::vector<api::NodeStatus>& nodes = model.status.nodes;
  const api::RolloutStatus& rollout = model.status.rollout;
  std::vector<int64_t> versions = {model.status.stable_version};
  if (rollout.candidate != 0 && rollout.candidate != versions[0]) versions.push_back(rollout.candidate);
  std::erase(versions, 0);
  std::vector<std::string> titles = {"NODE"};
  for (const int64_t version : versions) titles.push_back(fmt::format("VERSION {}", version));
  Table table(titles);
  for (size_t i = 0; i < std::min(nodes.size(), kNodesShownMax); ++i) {
    std::vector<std::string> row = {nodes[i].node};
    for (const int64_t version : versions) row.push_back(StateOf(nodes[i].state, version));
    table.Add(row);
  }
  if (table.empty()) return "";
  const size_t more = nodes.size() - std::min(nodes.size(), kNodesShownMax);
  return table.Text(2) + (more == 0 ? "" : fmt::format("  and {} more: longshore describe model\n", more));
}

// "  error rate   ────━━0━━━──┃────", one line for each difference that has an interval.
std::string IntervalsText(const api::Model& model) {
  std::string text;
  for (const NamedBounds& difference : BoundsOf(model))
    text += fmt::format("  {:<12} {}\n", difference.subject, IntervalBar(difference.bounds));
  return text.empty() ? "" : text + "  ━ is where the true difference is, with 95 % confidence; ┃ is the limit.\n";
}

std::string EventsText(const api::Model& model, TimePoint now) {
  const std::vector<api::HistoryEntry>& history = model.status.history;
  Table table({"AGO", "VERSION", "WHAT", "MESSAGE"});
  for (size_t i = 0; i < std::min(history.size(), kEventsShownMax); ++i) {
    const api::HistoryEntry& entry = history[history.size() - 1 - i];
    table.Add({Age(entry.at, now), std::to_string(entry.version), entry.what, entry.message});
  }
  return table.empty() ? "" : table.Text(2);
}

}  // namespace

bool WasRolledBack(const api::Model& model) {
  const api::RolloutStatus& rollout = model.status.rollout;
  return rollout.phase == RolloutPhase::kRolledBack && rollout.candidate != model.status.stable_version;
}

std::string OutcomeText(const api::Model& model, const Report& report) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const std::string serves = fmt::format("version {} serves all requests", model.status.stable_version);
  if (WasRolledBack(model)) return fmt::format("✗ Version {} was rolled back: {}.\n", rollout.candidate, serves);
  if (rollout.phase == RolloutPhase::kCompleted) return fmt::format("✓ The rollout is complete: {}.\n", serves);
  if (IsUnderWay(rollout.phase))
    return fmt::format("The rollout is not over, and no controller continues it: {}.\n", RolloutInShort(model));
  return fmt::format("No rollout is under way: {}. {}\n", serves, report.why);
}

std::string RolloutView(const api::Model& model, TimePoint now, const std::string& place) {
  const bool is_judged = IsUnderWay(model.status.rollout.phase);
  return fmt::format("Model {}/{} on fleet {}\n", model.metadata.namespace_, model.metadata.name, model.spec.fleet) +
         RolloutText(model, now) + Section("Steps", is_judged ? StepsText(model) : "") +
         Section("Requests", SplitText(model)) + Section("Nodes", NodesText(model)) +
         Section("What was compared", ComparedText(model) + IntervalsText(model)) +
         Section("The verdict", DatedVerdictText(model, now)) +
         Section("Events, the newest first", EventsText(model, now)) +
         Section("What you can do now", OffersText(model, place, now));
}

}  // namespace longshore::cli::text
