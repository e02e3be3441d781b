#include "controller/reconcile/observe.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace longshore::reconcile {
namespace {

rollout::NodeState StateOf(control::VersionReport::State state) {
  using control::VersionReport;
  switch (state) {
    case VersionReport::REHEARSAL: return rollout::NodeState::kRehearsal;
    case VersionReport::LOADING: return rollout::NodeState::kLoading;
    case VersionReport::WARMING: return rollout::NodeState::kWarming;
    case VersionReport::READY: return rollout::NodeState::kReady;
    case VersionReport::UNLOADING: return rollout::NodeState::kUnloading;
    case VersionReport::FAILED: return rollout::NodeState::kFailed;
    case VersionReport::QUARANTINED: return rollout::NodeState::kQuarantined;
    case VersionReport::NOT_FOUND: return rollout::NodeState::kNotFound;
    default: return rollout::NodeState::kAbsent;
  }
}

bool EndsARollout(rollout::NodeState state) {
  return state == rollout::NodeState::kFailed || state == rollout::NodeState::kQuarantined ||
         state == rollout::NodeState::kNotFound;
}

// Removes the verdicts. In a report that is not fresh, the list of versions is still true, but the verdicts may be
// about an earlier attempt. Repeated runs of the golden set belong to no attempt.
rollout::VersionSeen WithoutVerdicts(rollout::VersionSeen seen) {
  seen.golden.reset();
  seen.guard.reset();
  if (EndsARollout(seen.state)) return {};
  return seen;
}

rollout::VersionSeen SeenOf(const control::VersionReport& report) {
  rollout::VersionSeen seen;
  const bool lacks_memory = report.has_memory_shortage() && report.state() == control::VersionReport::FAILED;
  seen.state = lacks_memory ? rollout::NodeState::kNoMemory : StateOf(report.state());
  const control::MemoryShortage& shortage = report.memory_shortage();
  seen.memory = {shortage.needed_bytes(), shortage.free_bytes(), shortage.by_own_limit()};
  seen.message = report.message();
  seen.digest = report.digest();
  if (report.has_golden()) {
    const control::GoldenResult& golden = report.golden();
    const bool is_repeated = golden.at_unix_ms() > 0;
    (is_repeated ? seen.golden_again : seen.golden) =
        rollout::GoldenSeen{golden.records(), golden.passed(),  golden.score(),
                            golden.ok(),      golden.message(), FromUnixMillis(golden.at_unix_ms()),
                            golden.request()};
  }
  if (report.golden_due_unix_ms() > 0) seen.golden_due = FromUnixMillis(report.golden_due_unix_ms());
  if (report.guard().tripped()) seen.guard = rollout::GuardSeen{report.guard().reason(), report.guard().message()};
  return seen;
}

}  // namespace

bool IsDraining(const KnownNode& node) { return node.leaving || node.view->report->draining(); }

bool IsFresh(const nodes::NodeView& view) {
  if (!view.sent) return false;
  const auto reported = std::pair(view.report->epoch(), view.report->revision());
  return reported >= std::pair(view.sent->epoch, view.sent->revision);
}

std::map<int64_t, rollout::VersionSeen> SeenOf(const std::vector<const control::VersionReport*>& versions, bool fresh) {
  std::map<int64_t, rollout::VersionSeen> seen;
  for (const control::VersionReport* version : versions) {
    seen[version->version()] = fresh ? SeenOf(*version) : WithoutVerdicts(SeenOf(*version));
  }
  return seen;
}

rollout::SourceSeen SeenOf(const control::SourceReport& source) {
  const auto state = source.state() == control::SourceReport::READY    ? rollout::SourceState::kReady
                     : source.state() == control::SourceReport::FAILED ? rollout::SourceState::kFailed
                                                                       : rollout::SourceState::kFetching;
  return {source.sha256(), state, source.message(), source.uri()};
}

rollout::RulesSeen SeenOf(const control::RulesReport& rules) {
  return {rules.problem() == control::RulesReport::REFUSED, rules.message()};
}

std::optional<int64_t> LatestVersion(const std::vector<const control::VersionReport*>& versions) {
  std::optional<int64_t> latest;
  for (const control::VersionReport* version : versions) {
    if (version->state() != control::VersionReport::NOT_FOUND) {
      latest = std::max(latest.value_or(0), version->version());
    }
  }
  return latest;
}

bool IsReady(const nodes::NodeView& view) {
  if (!view.connected || !view.sent || view.report->draining()) return false;
  std::map<std::pair<std::string_view, int64_t>, control::VersionReport::State> states;
  for (const control::VersionReport& report : view.report->versions())
    states[{report.served_name(), report.version()}] = report.state();
  for (const auto& [name, model] : view.sent->models) {
    for (const int64_t version : model->answering) {
      const auto state = states[{name, version}];
      const bool failed = state == control::VersionReport::FAILED || state == control::VersionReport::QUARANTINED;
      const bool forwards = failed && std::ranges::count(model->elsewhere, version) > 0;
      if (state != control::VersionReport::READY && !forwards) return false;
    }
  }
  return true;
}

control::Peer PeerOf(const nodes::NodeView& view) {
  control::Peer peer;
  peer.set_node(view.hello.node());
  peer.set_address(view.hello.peer_address());
  return peer;
}

}  // namespace longshore::reconcile
