// Match rules that do not work on some nodes.
#include <algorithm>

#include "controller/api/sentences.h"
#include "controller/decide/rollout/phases.h"

namespace longshore::rollout {
namespace {

// Why the rules do not work on a node. The worst comes first: it gives the condition its reason.
enum class Problem { kOldRelease, kRefused, kUnknownClients };
constexpr const char* kReasons[] = {"OldRelease", "RulesRefused", "UnknownClients"};

bool HasRules(const api::Rollout& rollout) {
  return !rollout.routes.empty() || (rollout.strategy == api::Strategy::kBlueGreen && !rollout.preview.header.empty());
}

std::optional<Problem> ProblemOn(const NodeSeen& node) {
  if (!node.knows_rules) return Problem::kOldRelease;
  if (!node.rules) return std::nullopt;
  return node.rules->refused ? Problem::kRefused : Problem::kUnknownClients;
}

std::string Explained(Problem problem, const NodeSeen& node) {
  switch (problem) {
    case Problem::kOldRelease:
      return "its release does not know match rules, so the weights decide about all requests: upgrade the node";
    case Problem::kRefused:
      return node.rules->message + "; all its requests get the stable version: change the rule or upgrade the node";
    case Problem::kUnknownClients: break;
  }
  return node.rules->message;
}

}  // namespace

void DescribeRules(Draft& draft) {
  std::optional<Problem> worst;
  std::vector<api::Sentence> sentences;
  for (const NodeSeen* node : draft.nodes()) {
    const auto problem = HasRules(draft.policy()) ? ProblemOn(*node) : std::nullopt;
    if (!problem) continue;
    worst = std::min(worst.value_or(*problem), *problem);
    sentences.push_back({fmt::format("node {}: ", node->name), Explained(*problem, *node)});
  }
  if (!worst) return draft.SetProblemCondition("RulesApplied", "", "");
  draft.SetProblemCondition("RulesApplied", kReasons[static_cast<size_t>(*worst)],
                            fmt::format("match rules do not work on {} of {} nodes that know the model: {}",
                                        sentences.size(), draft.nodes().size(), api::JoinSentences(sentences)));
}

}  // namespace longshore::rollout
