#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/decide/rollout/bad_nodes.h"
#include "controller/decide/rollout/command.h"
#include "controller/decide/rollout/draft.h"
#include "controller/decide/rollout/golden_set.h"
#include "controller/decide/rollout/pairs.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/decide/rollout/routing.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

std::string_view StateName(NodeState state) {
  switch (state) {
    case NodeState::kAbsent: return "Absent";
    case NodeState::kRehearsal: return "Rehearsal";
    case NodeState::kLoading: return "Loading";
    case NodeState::kWarming: return "Warming";
    case NodeState::kReady: return "Ready";
    case NodeState::kUnloading: return "Unloading";
    case NodeState::kFailed: return "Failed";
    case NodeState::kQuarantined: return "Quarantined";
    case NodeState::kNotFound: return "NotFound";
    case NodeState::kNoMemory: return "NoMemory";
  }
  return "Unknown";
}

void DescribeNodes(Draft& draft) {
  draft.status().nodes.clear();
  for (const NodeSeen& node : draft.observed().nodes) {
    std::string states;
    for (const auto& [version, seen] : node.versions) {
      if (seen.state == NodeState::kAbsent) continue;
      states += fmt::format("{}{}:{}", states.empty() ? "" : " ", version, StateName(seen.state));
    }
    if (states.empty() || draft.status().nodes.size() >= api::kNodesMax) continue;
    draft.status().nodes.push_back({node.name, node.draining ? "Draining " + states : states});
  }
}

// Pins the first reported digest of each current version, including the warm one, which all nodes must match. Removes
// the digests and sources of versions that are no longer current.
void PinDigests(Draft& draft) {
  api::ModelStatus& status = draft.status();
  const std::optional<Warm> warm = WarmOf(draft.policy(), status, draft.now());
  const auto is_current = [&](int64_t version) {
    return version == status.stable_version || version == status.rollout.candidate ||
           version == status.rollout.stable || (warm && version == warm->version);
  };
  std::erase_if(status.digests, [&](const auto& entry) { return !is_current(entry.first); });
  std::erase_if(status.sources, [&](const auto& entry) { return !is_current(entry.first); });
  for (const NodeSeen& node : draft.observed().nodes) {
    for (const auto& [version, seen] : node.versions) {
      const bool failed = status.rollout.phase == RolloutPhase::kRolledBack && version != status.stable_version;
      if (!seen.digest.empty() && is_current(version) && !failed) status.digests.try_emplace(version, seen.digest);
    }
  }
}

// Reports nodes that have different files for the same version number, even if the version is ready.
void DescribeFiles(Draft& draft) {
  std::vector<api::Sentence> differences;
  for (const NodeSeen& node : draft.observed().nodes) {
    for (const auto& [version, seen] : node.versions) {
      const auto pinned = draft.status().digests.find(version);
      if (seen.digest.empty() || pinned == draft.status().digests.end() || pinned->second == seen.digest) continue;
      differences.push_back(
          {fmt::format("node {}", node.name), fmt::format(" has different files of version {}: digest {}, expected {}",
                                                          version, seen.digest, pinned->second)});
    }
  }
  // One sentence for each version in which a node differs.
  const std::string message = api::JoinSentences(differences, {.noun = "difference"});
  draft.SetProblemCondition("FilesAgree", message.empty() ? "" : "DigestDiffers", message);
}

void SetCondition(Draft& draft, const std::string& type, const std::string& value, const std::string& reason,
                  const std::string& message) {
  api::SetCondition(draft.status().conditions, {type, value, reason, message, draft.generation(), draft.now()});
}

// Counts the nodes that the fleet should have, like the status of the fleet.
std::string ReadyCount(const Draft& draft, int64_t version) {
  const int wanted = draft.WantedNodes();
  return fmt::format("version {} is ready on {} of {} nodes", version, std::min(draft.ReadyNodes(version), wanted),
                     wanted);
}

// Whether nodes are awaited that do not route requests yet as this decision wants.
bool AwaitsRouting(const Draft& draft) { return RoutingIsLateIn(draft) > Duration(0); }

std::string FailedText(const api::FailedVersion& failed) {
  return fmt::format("version {} failed: {}", failed.version, failed.message);
}

// Names the cause, because many tools show only the condition Ready. Requires that the Model has a target.
std::string WhyNotLoaded(const Draft& draft) {
  const int64_t stable = draft.status().stable_version;
  if (stable != 0) return fmt::format("version {} is not ready on any node{}", stable, draft.ReportsFor(stable));
  const int64_t target = *draft.Target();
  const std::string none = "no version has been loaded yet";
  if (const auto source = draft.FindSourceProblem(); source && source->is_on_no_node)
    return none + "; " + source->message;
  const api::FailedVersion* failed = draft.FailureOf(target);
  return failed != nullptr ? none + "; " + FailedText(*failed) : none + draft.ReportsFor(target);
}

void DescribeReady(Draft& draft) {
  const std::string& no_fleet = draft.observed().no_fleet;
  if (!no_fleet.empty()) return SetCondition(draft, "Ready", "False", "NoFleet", no_fleet);
  const int64_t stable = draft.status().stable_version;
  const size_t ready = stable == 0 ? 0 : draft.Answering(stable).size();
  if (ready > 0) {
    const std::string message = draft.ReadyNodes(stable) == 0
                                    ? fmt::format("version {} is ready only on nodes that leave", stable)
                                    : ReadyCount(draft, stable);
    const std::string& unreachable = draft.observed().unreachable;
    if (!unreachable.empty())
      return SetCondition(draft, "Ready", "False", "NotReachable", fmt::format("{}; {}", message, unreachable));
    if (WasReady(draft.before()) || !AwaitsRouting(draft))
      return SetCondition(draft, "Ready", "True", "Serving", message);
    return SetCondition(draft, "Ready", "False", kRouting, message + NotRoutedText(draft));
  }
  if (draft.NodesCount() == 0) return SetCondition(draft, "Ready", "False", "NoNodes", draft.WhyNoNodes());
  if (!draft.Target()) {
    const auto source = draft.FindSourceProblem();
    return SetCondition(draft, "Ready", "False", "NoVersion",
                        fmt::format("no node has found a version under {}{}", draft.spec().source_uri,
                                    source ? "; " + source->message : ""));
  }
  SetCondition(draft, "Ready", "False", "NotLoaded", WhyNotLoaded(draft));
}

void DescribeSource(Draft& draft) {
  const auto source = draft.FindSourceProblem();
  draft.SetProblemCondition("SourceReady", source ? source->reason : "", source ? source->message : "");
}

// The problem of the source that keeps a Model from starting a rollout, for example because no node has the archive.
std::optional<Draft::SourceProblem> FindBlockingSource(const Draft& draft) {
  if (draft.FleetIsMissedIn() == Duration(0)) return std::nullopt;
  const auto source = draft.FindSourceProblem();
  const bool blocks = source && (source->is_on_no_node || source->reason == "OtherSource");
  return blocks && !IsUnderWay(draft.status().rollout.phase) ? source : std::nullopt;
}

bool IsOnItsWay(const Draft::SourceProblem& source) { return source.reason == "Fetching"; }

void DescribeStalled(Draft& draft) {
  if (draft.FleetIsMissedIn() == Duration(0))
    return SetCondition(draft, "Stalled", "True", "NoFleet", draft.observed().no_fleet);
  const auto source = FindBlockingSource(draft);
  if (source && !IsOnItsWay(*source)) return SetCondition(draft, "Stalled", "True", source->reason, source->message);
  const std::optional<int64_t> target = draft.Target();
  const api::FailedVersion* failed = target ? draft.FailureOf(*target) : nullptr;
  const bool resting = !IsUnderWay(draft.rollout().phase);
  if (!source && resting && failed != nullptr && *target != draft.status().stable_version)
    return SetCondition(draft, "Stalled", "True", failed->reason, FailedText(*failed));
  SetCondition(draft, "Stalled", "False", "None", "");
}

// What keeps the Model from being as its spec wants it; "" if nothing does. Requires the conditions Ready and Stalled.
std::string HeldUpBy(const Draft& draft) {
  const auto condition = [&](const char* type) {
    return *std::ranges::find(draft.status().conditions, type, &api::Condition::type);
  };
  if (const api::Condition stalled = condition("Stalled"); stalled.status == "True") return stalled.message;
  if (const auto source = FindBlockingSource(draft)) return source->message;
  const api::RolloutStatus& rollout = draft.status().rollout;
  const bool under_way = IsUnderWay(rollout.phase);
  if (under_way && draft.NodesCount() > 0) return draft.ReportsOn(rollout.candidate);
  const api::Condition ready = condition("Ready");
  const bool is_ready = ready.status == "True" || ready.reason == kRouting;  // That takes only a moment.
  if (!is_ready || under_way) return is_ready ? "" : ready.message;
  return MissingNodesAreLateIn(draft) ? ReadyCount(draft, draft.status().stable_version) : "";
}

// For tools that follow kstatus: Reconciling is True until the object matches its spec, and the nodes of its fleet have
// the version. Its message is what holds the Model up, whether or not the controller still works on it.
void DescribeReconciling(Draft& draft) {
  const std::string why = HeldUpBy(draft);
  if (const auto source = FindBlockingSource(draft))
    return SetCondition(draft, "Reconciling", IsOnItsWay(*source) ? "True" : "False", source->reason, why);
  if (const auto late = MissingNodesAreLateIn(draft)) {
    const bool is_late = *late == Duration(0);
    return SetCondition(draft, "Reconciling", is_late ? "False" : "True", is_late ? kNodesLate : "Loading", why);
  }
  const bool under_way = IsUnderWay(draft.rollout().phase);
  const bool is_settled = !MustBeRouted(draft.before()) && draft.KeepsRoutes();
  if (!under_way && draft.status().stable_version != 0 && !is_settled && AwaitsRouting(draft)) {
    return SetCondition(draft, "Reconciling", "True", kRouting,
                        ReadyCount(draft, draft.status().stable_version) + NotRoutedText(draft));
  }
  SetCondition(draft, "Reconciling", under_way ? "True" : "False", std::string(RolloutPhaseName(draft.rollout().phase)),
               why);
}

void DescribeProgress(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const bool under_way = IsUnderWay(rollout.phase);
  const std::string message = under_way ? fmt::format("version {} at {:g}%{}", rollout.candidate,
                                                      rollout.weight_percent, draft.ReportsFor(rollout.candidate))
                                        : "";
  SetCondition(draft, "Progressing", under_way ? "True" : "False", std::string(RolloutPhaseName(rollout.phase)),
               message);
}

}  // namespace

void Describe(Draft& draft) {
  draft.status().observed_generation = draft.generation();
  PinDigests(draft);
  DescribeNodes(draft);
  DescribeReady(draft);
  DescribeProgress(draft);
  DescribeStalled(draft);
  DescribeReconciling(draft);
  DescribeFiles(draft);
  DescribeSource(draft);
  DescribeLabels(draft);
  DescribeBadNodes(draft);
  DescribeRules(draft);
  DescribeGoldenSet(draft);
  DescribePairs(draft);
  DescribeCommands(draft);
}

}  // namespace longshore::rollout
