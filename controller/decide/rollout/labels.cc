// Versions that are served only because a label names them: neither stable nor candidate.
#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/decide/rollout/failure.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

std::string Named(const std::string& label, int64_t version) {
  return fmt::format("label \"{}\", version {}", label, version);
}

// The first failure on a node that is not draining.
std::optional<Failure> FailureOfLabelled(const Draft& draft, int64_t version) {
  for (const NodeSeen* node : draft.nodes()) {
    if (auto failure = FailureOn(*node, version)) return failure;
  }
  return std::nullopt;
}

// Whether a node serves the version or may come to serve it. If one does, a failure on another node concerns only that
// node, not the version.
bool MayServeOnANode(const Draft& draft, int64_t version) {
  return std::ranges::any_of(draft.nodes(), [&](const NodeSeen* node) {
    const auto seen = node->versions.find(version);
    if (seen == node->versions.end() || FailureOn(*node, version)) return false;
    const NodeState state = seen->second.state;
    return state == NodeState::kReady || state == NodeState::kRehearsal || state == NodeState::kLoading ||
           state == NodeState::kWarming;
  });
}

// Whether no node has files of the version, as all nodes say that report on it. The files of an archive may still come.
bool IsNowhere(const Draft& draft, int64_t version) {
  int without = 0;
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(version);
    if (seen == node->versions.end()) continue;
    if (seen->second.state != NodeState::kNotFound) return false;
    ++without;
  }
  return without > 0 && draft.spec().source_sha256.empty();
}

// Why a labelled version is not served, or fails on a node, or does not fit into its memory; nullopt if it is ready on
// a node and no node reports such a problem.
std::optional<Failure> TroubleOf(const Draft& draft, int64_t version) {
  if (const api::FailedVersion* failed = draft.FailureOf(version)) return Failure{failed->reason, failed->message};
  if (auto failure = FailureOfLabelled(draft, version)) return failure;
  for (const NodeSeen* node : draft.nodes()) {
    if (auto lack = MemoryLackOn(*node, version)) return lack;
  }
  if (draft.ReadyNodes(version) > 0) return std::nullopt;
  return Failure{IsNowhere(draft, version) ? "NotFound" : "NotReady",
                 "not ready on any node" + draft.ReportsFor(version)};
}

}  // namespace

void FailLabelled(Draft& draft) {
  for (const auto& [label, version] : draft.spec().version_labels) {
    const bool judged_otherwise = version == draft.status().stable_version ||
                                  (IsUnderWay(draft.rollout().phase) && version == draft.rollout().candidate);
    if (judged_otherwise || draft.FailureOf(version) != nullptr) continue;
    const std::optional<Failure> failure = FailureOfLabelled(draft, version);
    if (!failure || MayServeOnANode(draft, version)) continue;
    draft.Remember(version, failure->reason, failure->message);
    draft.RecordOf(version, "LabelFailed",
                   fmt::format("{}: {}: {}", Named(label, version), failure->reason, failure->message), true);
  }
}

void DescribeLabels(Draft& draft) {
  std::string reason;
  std::vector<api::Sentence> troubles;
  for (const auto& [label, version] : draft.spec().version_labels) {
    const std::optional<Failure> trouble = TroubleOf(draft, version);
    if (!trouble) continue;
    // The condition has the reason of the first failure; NotReady only if there is no failure.
    if (reason.empty() || reason == "NotReady") reason = trouble->reason;
    troubles.push_back({Named(label, version) + ": ", trouble->message});
  }
  // The sentence about one label may list many nodes, so the limits are high.
  const api::SentenceLimits limits{.noun = "label", .bytes_max = 9000, .sentence_bytes_max = 4500};
  draft.SetProblemCondition("LabelsServed", reason, api::JoinSentences(troubles, limits));
}

}  // namespace longshore::rollout
