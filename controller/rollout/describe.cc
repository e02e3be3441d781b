#include <algorithm>

#include "controller/rollout/draft.h"
#include "controller/rollout/phases.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

std::string_view StateName(NodeState state) {
  switch (state) {
    case NodeState::kAbsent: return "Absent";
    case NodeState::kTrial: return "Trial";
    case NodeState::kLoading: return "Loading";
    case NodeState::kWarming: return "Warming";
    case NodeState::kReady: return "Ready";
    case NodeState::kUnloading: return "Unloading";
    case NodeState::kFailed: return "Failed";
    case NodeState::kQuarantined: return "Quarantined";
    case NodeState::kNotFound: return "NotFound";
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

// The first digest that is heard of a version is the one all nodes must see; it keeps the source that it came from.
void PinDigests(Draft& draft) {
  api::ModelStatus& status = draft.status();
  const auto is_current = [&](int64_t version) {
    return version == status.stable_version || version == status.rollout.candidate || version == status.rollout.stable;
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

// Ready or not, it is a problem to be looked at: the same version number means other files somewhere.
void DescribeFiles(Draft& draft) {
  std::string message;
  for (const NodeSeen& node : draft.observed().nodes) {
    for (const auto& [version, seen] : node.versions) {
      const auto pinned = draft.status().digests.find(version);
      if (seen.digest.empty() || pinned == draft.status().digests.end() || pinned->second == seen.digest) continue;
      message += fmt::format("{}node {} has other files of version {} than are pinned: digest {}, not {}",
                             message.empty() ? "" : "; ", node.name, version, seen.digest, pinned->second);
    }
  }
  draft.Trouble("FilesAgree", message.empty() ? "" : "DigestDiffers", message);
}

void SetCondition(Draft& draft, const std::string& type, const std::string& value, const std::string& reason,
                  const std::string& message) {
  api::SetCondition(draft.status().conditions, {type, value, reason, message, draft.generation(), draft.now()});
}

void DescribeReady(Draft& draft) {
  const int64_t stable = draft.status().stable_version;
  const int ready = stable == 0 ? 0 : draft.ReadyNodes(stable);
  if (ready > 0) {
    return SetCondition(draft, "Ready", "True", "Serving",
                        fmt::format("version {} is ready on {} of {} nodes", stable, ready, draft.StableNodes()));
  }
  if (draft.NodesCount() == 0)
    return SetCondition(draft, "Ready", "False", "NoNodes", fmt::format("fleet {} has no nodes", draft.spec().fleet));
  if (!draft.Target()) {
    const auto source = draft.TroubleOfSource();
    return SetCondition(draft, "Ready", "False", "NoVersion",
                        fmt::format("no node has found a version below {}{}", draft.spec().source_uri,
                                    source ? "; " + source->message : ""));
  }
  SetCondition(draft, "Ready", "False", "NotLoaded",
               stable == 0 ? "no version has been loaded yet" : fmt::format("version {} is ready on no node", stable));
}

// Nothing can begin: the archive is on no node.
void DescribeBlocked(Draft& draft, const Draft::SourceTrouble& source) {
  const bool on_its_way = source.reason == "Fetching";
  SetCondition(draft, "Reconciling", on_its_way ? "True" : "False", source.reason, source.message);
  SetCondition(draft, "Stalled", on_its_way ? "False" : "True", on_its_way ? "None" : source.reason,
               on_its_way ? "" : source.message);
}

void DescribeSource(Draft& draft) {
  const auto source = draft.TroubleOfSource();
  draft.Trouble("SourceReady", source ? source->reason : "", source ? source->message : "");
}

void DescribeProgress(Draft& draft) {
  const api::RolloutStatus& rollout = draft.rollout();
  const std::string phase(api::RolloutPhaseName(rollout.phase));
  const std::optional<int64_t> target = draft.Target();
  const api::FailedVersion* failed = target ? draft.FailureOf(*target) : nullptr;
  const bool resting = rollout.phase == RolloutPhase::kNone || rollout.phase == RolloutPhase::kCompleted ||
                       rollout.phase == RolloutPhase::kRolledBack;
  const std::string message =
      resting ? ""
              : fmt::format("version {} at {:g}%{}", rollout.candidate, rollout.weight_percent, draft.WordsOfNodes());
  SetCondition(draft, "Progressing", resting ? "False" : "True", phase, message);
  // The same for tools that know kstatus: until it is over, the object is not what its spec says.
  SetCondition(draft, "Reconciling", resting ? "False" : "True", phase, "");
  const auto source = draft.TroubleOfSource();
  if (resting && source && (source->nowhere || source->reason == "OtherSource")) return DescribeBlocked(draft, *source);
  if (resting && failed != nullptr && *target != draft.status().stable_version) {
    return SetCondition(draft, "Stalled", "True", failed->reason,
                        fmt::format("version {} failed: {}", failed->version, failed->message));
  }
  SetCondition(draft, "Stalled", "False", "None", "");
}

}  // namespace

void Describe(Draft& draft) {
  draft.status().observed_generation = draft.generation();
  PinDigests(draft);
  DescribeNodes(draft);
  DescribeReady(draft);
  DescribeProgress(draft);
  DescribeFiles(draft);
  DescribeSource(draft);
  DescribeLabels(draft);
}

}  // namespace longshore::rollout
