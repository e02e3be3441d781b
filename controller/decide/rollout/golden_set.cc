#include "controller/decide/rollout/golden_set.h"

#include <algorithm>
#include <tuple>

#include "common/base/text.h"
#include "common/node_contract/homes.h"
#include "controller/api/sentences.h"
#include "controller/api/units.h"

namespace longshore::rollout {
namespace {

using api::GoldenFailure;
using api::GoldenRun;
using api::GoldenRunState;

constexpr const char* kCondition = "GoldenSetPasses";
constexpr const char* kOverdue = "Overdue";
// The message shows the time of the last run rounded down to a multiple of this, or of the interval if that is longer:
// otherwise each run on each node would write the status.
constexpr Duration kShownTimeMin = std::chrono::minutes(10);
// How long the failure on a node counts after the version is no longer ready there. It is enough for a restart.
constexpr Duration kGoneMax = std::chrono::minutes(10);
// Nodes begin the first run at most this long after their start.
constexpr Duration kFirstRunMax = std::chrono::minutes(5);
// How long nodes are asked for a requested run.
constexpr Duration kRequestMax = std::chrono::hours(1);
constexpr size_t kRunMessageBytesMax = 1024;

// A node on which stable is ready, and what it reports about it.
struct ReadyNode {
  std::string name;
  const VersionSeen& seen;
};

std::vector<ReadyNode> ReadyNodes(const Draft& draft) {
  std::vector<ReadyNode> ready;
  for (const NodeSeen* node : draft.nodes()) {
    const auto found = node->versions.find(draft.status().stable_version);
    if (found != node->versions.end() && found->second.state == NodeState::kReady)
      ready.push_back({node->name, found->second});
  }
  return ready;
}

Duration Every(const Draft& draft) { return draft.spec().validation.golden_every; }
Duration ShownStep(const Draft& draft) { return std::max(Every(draft), kShownTimeMin); }
TimePoint ShownTime(const Draft& draft, TimePoint at) {
  return TimePoint{at.time_since_epoch() / ShownStep(draft) * ShownStep(draft)};
}

// A run is overdue after three intervals without one. A node says when the run was due, one interval after the last
// one.
Duration LateMax(const Draft& draft) { return 2 * Every(draft); }
// The same for `last_run` of the status, which may be one step of the shown time older than the last run, or than the
// time at which nodes had the version again.
Duration QuietMax(const Draft& draft) { return 2 * Every(draft) + ShownStep(draft) + kFirstRunMax; }

std::string SettingsOf(const api::Validation& spec) {
  const std::string all = fmt::format("{} {} {} {} {} {}", spec.golden_set, spec.metric, spec.minimum,
                                      spec.relative_tolerance, spec.non_finite_reject, spec.deterministic);
  return fmt::format("{:016x}", node_contract::HashOfName(all));
}

std::string TextOf(const GoldenSeen& seen) {
  if (seen.records == 0) return CutText(seen.message, kRunMessageBytesMax);
  const std::string passed = fmt::format("{} of {} records passed", seen.passed, seen.records);
  return CutText(seen.ok ? passed : passed + ": " + seen.message, kRunMessageBytesMax);
}

// Returns the failure as it counts now; nullopt if it counts no longer, because the node has run the golden set again
// or is gone for long.
std::optional<GoldenFailure> Kept(GoldenFailure failure, const std::vector<ReadyNode>& ready, TimePoint now) {
  const auto node = std::ranges::find(ready, failure.node, &ReadyNode::name);
  if (node == ready.end()) {
    if (failure.gone_since == TimePoint{}) failure.gone_since = now;
    return now - failure.gone_since < kGoneMax ? std::optional(failure) : std::nullopt;
  }
  failure.gone_since = TimePoint{};
  return node->seen.golden_again ? std::nullopt : std::optional(failure);
}

void UpdateFailures(Draft& draft, const std::vector<ReadyNode>& ready) {
  std::vector<GoldenFailure> failures;
  for (const GoldenFailure& before : draft.status().golden_set.failures) {
    if (const auto kept = Kept(before, ready, draft.now())) failures.push_back(*kept);
  }
  for (const auto& [name, seen] : ready) {
    const std::optional<GoldenSeen>& run = seen.golden_again;
    if (run && !run->ok) failures.push_back({name, run->at, run->records == 0, TextOf(*run), {}});
  }
  std::ranges::sort(failures, {}, &GoldenFailure::node);
  failures.resize(std::min(failures.size(), api::kGoldenNodesMax));
  draft.status().golden_set.failures = std::move(failures);
}

TimePoint LastRunOf(const std::vector<ReadyNode>& ready) {
  TimePoint last{};
  for (const auto& [_, seen] : ready) {
    if (seen.golden_again) last = std::max(last, seen.golden_again->at);
  }
  return last;
}

void UpdateLastRun(Draft& draft, const std::vector<ReadyNode>& ready) {
  TimePoint& last = draft.status().golden_set.last_run;
  if (last == TimePoint{}) last = draft.now();
  // Time without nodes that could run it does not count.
  last = std::max(last, ShownTime(draft, ready.empty() ? draft.now() : LastRunOf(ready)));
}

// Since when the run of a node is late; nullopt if it is not.
std::optional<TimePoint> OverdueSince(const Draft& draft, const ReadyNode& node, TimePoint last) {
  const std::optional<TimePoint>& due = node.seen.golden_due;
  if (due && draft.now() - *due >= LateMax(draft)) return due;
  if (!node.seen.golden_again && draft.now() - last >= QuietMax(draft)) return last;
  return std::nullopt;
}

// Names the nodes whose runs are late; "" if there are none.
std::string OverdueText(const Draft& draft, const std::vector<ReadyNode>& ready) {
  const TimePoint last = std::max(draft.status().golden_set.last_run, LastRunOf(ready));
  std::vector<api::Sentence> late;
  for (const ReadyNode& node : ready) {
    if (const auto since = OverdueSince(draft, node, last))
      late.push_back({fmt::format("node {}", node.name), fmt::format(" since {}", api::FormatTime(*since))});
  }
  if (late.empty()) return "";
  return fmt::format("the golden set of version {} is to run every {}, and its run is overdue on {} of {} nodes: {}",
                     draft.status().stable_version, api::RoughDuration(Every(draft)), late.size(), ready.size(),
                     api::JoinSentences(late, {.count_max = Draft::kNodesNamedMax}));
}

api::Condition ConditionAs(const Draft& draft, const char* status, const char* reason, std::string message) {
  return {kCondition, status, reason, std::move(message), draft.generation(), draft.now()};
}

api::Condition FailedCondition(const Draft& draft, size_t ready, const std::string& overdue) {
  const std::vector<GoldenFailure>& failures = draft.status().golden_set.failures;
  std::vector<api::Sentence> sentences;
  size_t gone = 0;
  for (const GoldenFailure& failure : failures) {
    const bool is_gone = failure.gone_since != TimePoint{};
    if (is_gone) ++gone;
    sentences.push_back({fmt::format("node {}{}: ", failure.node, is_gone ? " (not ready now)" : ""), failure.message});
  }
  const bool all_unreadable = std::ranges::all_of(failures, &GoldenFailure::unreadable);
  return ConditionAs(draft, "False", all_unreadable ? "GoldenSetUnreadable" : "GoldenSetFailed",
                     fmt::format("version {} fails its golden set on {} of {} nodes, and continues to serve. {}{}",
                                 draft.status().stable_version, failures.size(), ready + gone,
                                 api::JoinSentences(sentences, {.count_max = Draft::kNodesNamedMax}),
                                 overdue.empty() ? "" : ". Besides, " + overdue));
}

// `before`: the condition about the same version and golden set; nullptr if there is none.
api::Condition ConditionOf(const Draft& draft, const std::vector<ReadyNode>& ready, const api::Condition* before) {
  const int64_t stable = draft.status().stable_version;
  const std::string overdue = OverdueText(draft, ready);
  if (!draft.status().golden_set.failures.empty()) return FailedCondition(draft, ready.size(), overdue);
  if (!overdue.empty()) return ConditionAs(draft, "Unknown", kOverdue, overdue);
  const auto reported = std::ranges::count_if(ready, [](const ReadyNode& node) { return !!node.seen.golden_again; });
  // Nodes that have restarted report no run, and nodes that the controller does not see yet report nothing.
  if (reported == 0 && before != nullptr && (before->status == "True" || (ready.empty() && before->status != "False")))
    return *before;
  if (reported == 0) {
    return ConditionAs(draft, "Unknown", "NotRunYet",
                       fmt::format("no node has run the golden set of version {} again yet; each node runs it every {}",
                                   stable, api::RoughDuration(Every(draft))));
  }
  const auto nodes = static_cast<std::ptrdiff_t>(ready.size());
  return ConditionAs(
      draft, "True", "Passed",
      fmt::format("version {} passed on {} nodes; the last run was after {}", stable,
                  reported == nodes ? fmt::format("all {}", nodes) : fmt::format("{} of {}", reported, nodes),
                  api::FormatTime(ShownTime(draft, LastRunOf(ready)))));
}

// Whether the node has not ended the requested run and cannot do so now.
bool IsAway(const GoldenRun& run, const std::vector<ReadyNode>& ready) {
  return run.state == GoldenRunState::kWaiting && std::ranges::find(ready, run.node, &ReadyNode::name) == ready.end();
}

// What the nodes have answered to the request so far, by node. A node that leaves before it has answered fails.
std::map<std::string, GoldenRun> AnswersTo(const api::GoldenRequest& request, const std::vector<ReadyNode>& ready,
                                           TimePoint now) {
  std::map<std::string, GoldenRun> runs;
  for (const GoldenRun& run : request.nodes) {
    const bool left = IsAway(run, ready) && now - request.at >= kGoneMax;
    runs[run.node] =
        left ? GoldenRun{run.node, GoldenRunState::kFailed, "the node left before it had ended the run"} : run;
  }
  for (const auto& [name, seen] : ready) {
    const std::optional<GoldenSeen>& run = seen.golden_again;
    if (run && run->request == request.id) {
      runs[name] = {name, run->ok ? GoldenRunState::kPassed : GoldenRunState::kFailed, TextOf(*run)};
    } else if (!runs.contains(name)) {
      runs[name] = {name, GoldenRunState::kWaiting, ""};
    }
  }
  return runs;
}

void UpdateRequest(api::GoldenRequest& request, const std::vector<ReadyNode>& ready, TimePoint now) {
  const std::map<std::string, GoldenRun> runs = AnswersTo(request, ready, now);
  request.waiting = request.passed = request.failed = 0;
  request.nodes.clear();
  for (const auto& [_, run] : runs) {
    ++(run.state == GoldenRunState::kWaiting  ? request.waiting
       : run.state == GoldenRunState::kPassed ? request.passed
                                              : request.failed);
    request.nodes.push_back(run);
  }
  const auto order = [](const GoldenRun& run) {
    return std::tuple(run.state != GoldenRunState::kFailed, run.state == GoldenRunState::kPassed);
  };
  std::ranges::stable_sort(request.nodes, {}, order);
  request.nodes.resize(std::min(request.nodes.size(), api::kGoldenNodesMax));
  request.ended = (request.waiting == 0 && !runs.empty()) || now - request.at >= kRequestMax;
}

void EraseCondition(Draft& draft) {
  std::erase_if(draft.status().conditions,
                [](const api::Condition& condition) { return condition.type == kCondition; });
}

// Sets the condition, and adds an event if it has changed for the worse, or from False to True.
void SetCondition(Draft& draft, const std::vector<ReadyNode>& ready, bool is_known) {
  std::vector<api::Condition>& conditions = draft.status().conditions;
  const auto found = std::ranges::find(conditions, kCondition, &api::Condition::type);
  const std::optional<api::Condition> before = found == conditions.end() ? std::nullopt : std::optional(*found);
  const api::Condition now = ConditionOf(draft, ready, before && is_known ? &*before : nullptr);
  api::SetCondition(conditions, now);
  const int64_t stable = draft.status().stable_version;
  const bool failed_before = before && before->status == "False";
  if (now.status == "False" && !failed_before) draft.RecordOf(stable, now.reason, now.message, true);
  if (now.status == "True" && failed_before) draft.RecordOf(stable, "GoldenSetPassed", now.message, false);
  if (now.reason == kOverdue && (!before || before->reason != kOverdue))
    draft.RecordOf(stable, "GoldenSetOverdue", now.message, true);
}

bool HasGoldenSet(const Draft& draft) {
  return !draft.spec().validation.golden_set.empty() && draft.status().stable_version != 0;
}

}  // namespace

void ForgetOtherGoldenSets(Draft& draft) {
  api::GoldenSetStatus& golden = draft.status().golden_set;
  const std::string settings = SettingsOf(draft.spec().validation);
  const int64_t stable = draft.status().stable_version;
  if (golden.version != stable || golden.settings != settings) golden = {.version = stable, .settings = settings};
}

void DescribeGoldenSet(Draft& draft) {
  api::GoldenSetStatus& golden = draft.status().golden_set;
  if (!HasGoldenSet(draft)) {
    golden = {};
    return EraseCondition(draft);
  }
  ForgetOtherGoldenSets(draft);
  const std::vector<ReadyNode> ready = ReadyNodes(draft);
  if (golden.request && !golden.request->ended) UpdateRequest(*golden.request, ready, draft.now());
  if (Every(draft) == Duration(0)) {
    golden.last_run = TimePoint{};
    golden.failures.clear();
    if (!golden.request) golden = {};
    return EraseCondition(draft);
  }
  const bool is_known = golden.last_run != TimePoint{};
  UpdateFailures(draft, ready);
  UpdateLastRun(draft, ready);
  SetCondition(draft, ready, is_known);
}

std::optional<Duration> CheckGoldenSetIn(const Draft& draft) {
  const api::GoldenSetStatus& golden = draft.status().golden_set;
  std::vector<TimePoint> times;
  const std::vector<ReadyNode> ready = ReadyNodes(draft);
  if (golden.request && !golden.request->ended) {
    times.push_back(golden.request->at + kRequestMax);
    if (std::ranges::any_of(golden.request->nodes, [&](const GoldenRun& run) { return IsAway(run, ready); }))
      times.push_back(golden.request->at + kGoneMax);
  }
  for (const GoldenFailure& failure : golden.failures) {
    if (failure.gone_since != TimePoint{}) times.push_back(failure.gone_since + kGoneMax);
  }
  if (golden.last_run != TimePoint{}) {
    for (const auto& [_, seen] : ready) {
      if (seen.golden_due) times.push_back(*seen.golden_due + LateMax(draft));
      if (!seen.golden_again) times.push_back(golden.last_run + QuietMax(draft));
    }
  }
  std::erase_if(times, [&](TimePoint at) { return at <= draft.now(); });
  if (times.empty()) return std::nullopt;
  return *std::ranges::min_element(times) - draft.now();
}

}  // namespace longshore::rollout
