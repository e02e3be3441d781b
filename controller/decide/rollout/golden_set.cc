#include "controller/decide/rollout/golden_set.h"

#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/api/units.h"

namespace longshore::rollout {
namespace {

constexpr const char* kCondition = "GoldenSetPasses";
// The message shows the time of the last run rounded down to a multiple of this, or of the interval if that is longer:
// otherwise each run on each node would write the status.
constexpr Duration kShownTimeMin = std::chrono::minutes(10);

// The repeated runs on the nodes on which stable is ready.
struct Runs {
  int nodes = 0;     // On which stable is ready.
  int reported = 0;  // The nodes among them that have reported a run.
  std::vector<api::Sentence> failures{};
  bool all_unreadable = true;  // Whether each failed node could not read the file.
  TimePoint last{};
};

Runs RunsOf(const Draft& draft) {
  Runs runs;
  for (const NodeSeen* node : draft.nodes()) {
    const auto found = node->versions.find(draft.status().stable_version);
    if (found == node->versions.end() || found->second.state != NodeState::kReady) continue;
    ++runs.nodes;
    const std::optional<GoldenSeen>& golden = found->second.golden_again;
    if (!golden) continue;
    ++runs.reported;
    runs.last = std::max(runs.last, golden->at);
    if (golden->ok) continue;
    const bool is_unreadable = golden->records == 0;
    runs.all_unreadable = runs.all_unreadable && is_unreadable;
    const std::string passed = fmt::format("{} of {} records passed: ", golden->passed, golden->records);
    runs.failures.push_back({fmt::format("node {}: ", node->name), (is_unreadable ? "" : passed) + golden->message});
  }
  return runs;
}

TimePoint ShownTime(TimePoint at, Duration every) {
  const Duration step = std::max(every, kShownTimeMin);
  return TimePoint{at.time_since_epoch() / step * step};
}

api::Condition ConditionOf(const Draft& draft, const Runs& runs) {
  const Duration every = draft.spec().validation.golden_every;
  const int64_t stable = draft.status().stable_version;
  api::Condition condition{kCondition, "True", "Passed", "", draft.generation(), draft.now()};
  if (!runs.failures.empty()) {
    condition.status = "False";
    condition.reason = runs.all_unreadable ? "GoldenSetUnreadable" : "GoldenSetFailed";
    condition.message = fmt::format("version {} fails its golden set on {} of {} nodes, and continues to serve. {}",
                                    stable, runs.failures.size(), runs.nodes,
                                    api::JoinSentences(runs.failures, {.count_max = Draft::kNodesNamedMax}));
  } else if (runs.reported == 0) {
    condition.status = "Unknown";
    condition.reason = "NotRunYet";
    condition.message =
        fmt::format("no node has run the golden set of version {} again yet; each node runs it every {}", stable,
                    api::RoughDuration(every));
  } else {
    const std::string nodes = runs.reported == runs.nodes ? fmt::format("all {}", runs.nodes)
                                                          : fmt::format("{} of {}", runs.reported, runs.nodes);
    condition.message = fmt::format("version {} passed on {} nodes; the last run was after {}", stable, nodes,
                                    api::FormatTime(ShownTime(runs.last, every)));
  }
  return condition;
}

}  // namespace

void DescribeGoldenSet(Draft& draft) {
  std::vector<api::Condition>& conditions = draft.status().conditions;
  const int64_t stable = draft.status().stable_version;
  if (draft.spec().validation.golden_every == Duration(0) || stable == 0) {
    std::erase_if(conditions, [](const api::Condition& condition) { return condition.type == kCondition; });
    return;
  }
  const auto before = std::ranges::find(conditions, kCondition, &api::Condition::type);
  const bool failed_before = before != conditions.end() && before->status == "False";
  const api::Condition now = ConditionOf(draft, RunsOf(draft));
  api::SetCondition(conditions, now);
  if (now.status == "False" && !failed_before) draft.RecordOf(stable, now.reason, now.message, true);
  if (now.status == "True" && failed_before) draft.RecordOf(stable, "GoldenSetPassed", now.message, false);
}

}  // namespace longshore::rollout
