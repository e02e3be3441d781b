// Versions that are served for a label of theirs alone: neither stable nor candidate.
#include <algorithm>

#include "controller/rollout/phases.h"

namespace longshore::rollout {
namespace {

std::string Named(const std::string& label, int64_t version) {
  return fmt::format("label \"{}\", version {}", label, version);
}

// What nodes said last of a version that none of them serves.
std::string WordsOf(const Draft& draft, int64_t version) {
  std::string words;
  for (const NodeSeen* node : draft.nodes()) {
    const auto seen = node->versions.find(version);
    if (seen == node->versions.end() || seen->second.message.empty()) continue;
    words += fmt::format("; node {}: {}", node->name, seen->second.message);
  }
  return words;
}

std::optional<Failure> FailureOn(const NodeSeen& node, int64_t version) {
  const auto found = node.versions.find(version);
  if (found == node.versions.end()) return std::nullopt;
  const VersionSeen& seen = found->second;
  const auto said = [&](const std::string& message) { return fmt::format("node {}: {}", node.name, message); };
  if (seen.guard) return Failure{seen.guard->reason, said(seen.guard->message)};
  if (seen.golden && !seen.golden->ok) {
    return Failure{"GoldenSet", said(fmt::format("{} of {} records passed: {}", seen.golden->passed,
                                                 seen.golden->records, seen.golden->message))};
  }
  if (seen.state == NodeState::kFailed) return Failure{"LoadFailed", said(seen.message)};
  if (seen.state == NodeState::kQuarantined) return Failure{"Crashed", said(seen.message)};
  return std::nullopt;
}

// The first failure on a node that counts.
std::optional<Failure> FailureOfLabelled(const Draft& draft, int64_t version) {
  for (const NodeSeen* node : draft.nodes()) {
    if (auto failure = FailureOn(*node, version)) return failure;
  }
  return std::nullopt;
}

// Whether a node serves it or may come to serve it: one node's trouble is then not the version's.
bool LivesOnANode(const Draft& draft, int64_t version) {
  return std::ranges::any_of(draft.nodes(), [&](const NodeSeen* node) {
    const auto seen = node->versions.find(version);
    if (seen == node->versions.end() || FailureOn(*node, version)) return false;
    const NodeState state = seen->second.state;
    return state == NodeState::kReady || state == NodeState::kTrial || state == NodeState::kLoading ||
           state == NodeState::kWarming;
  });
}

// What keeps a labelled version from being served everywhere that it should be.
std::optional<Failure> TroubleOf(const Draft& draft, int64_t version) {
  if (const api::FailedVersion* failed = draft.FailureOf(version)) return Failure{failed->reason, failed->message};
  if (auto failure = FailureOfLabelled(draft, version)) return failure;
  if (draft.ReadyNodes(version) > 0) return std::nullopt;
  return Failure{"NotReady", "ready on no node" + WordsOf(draft, version)};
}

}  // namespace

std::optional<Failure> FailureOnANode(const Draft& draft, int64_t version) {
  for (const NodeSeen& node : draft.observed().nodes) {
    if (auto failure = FailureOn(node, version)) return failure;
  }
  return std::nullopt;
}

void FailLabelled(Draft& draft) {
  for (const auto& [label, version] : draft.spec().version_labels) {
    const bool judged_otherwise = version == draft.status().stable_version ||
                                  (IsUnderWay(draft.rollout().phase) && version == draft.rollout().candidate);
    if (judged_otherwise || draft.FailureOf(version) != nullptr) continue;
    const std::optional<Failure> failure = FailureOfLabelled(draft, version);
    if (!failure || LivesOnANode(draft, version)) continue;
    draft.Remember(version, failure->reason, failure->message);
    draft.RecordOf(version, "LabelFailed",
                   fmt::format("{}: {}: {}", Named(label, version), failure->reason, failure->message), true);
  }
}

void DescribeLabels(Draft& draft) {
  std::string reason;
  std::string message;
  for (const auto& [label, version] : draft.spec().version_labels) {
    const std::optional<Failure> trouble = TroubleOf(draft, version);
    if (!trouble) continue;
    // The first that failed gives the reason; one that is on its way comes after all that failed.
    if (reason.empty() || reason == "NotReady") reason = trouble->reason;
    message += fmt::format("{}{}: {}", message.empty() ? "" : "; ", Named(label, version), trouble->message);
  }
  draft.Trouble("LabelsServed", reason, message);
}

}  // namespace longshore::rollout
