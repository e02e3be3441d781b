#include "controller/console/worst_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/node_contract/worst_pairs.h"

namespace longshore::console {
namespace {

bool IsFinite(const control::WorstPair& pair) {
  return std::isfinite(pair.relative_difference()) && std::isfinite(pair.absolute_difference());
}

// A total order, so that the result does not depend on the order in which nodes report.
bool ComesBefore(const NodePair& a, const NodePair& b) {
  if (node_contract::IsWorse(a.pair, b.pair)) return true;
  if (node_contract::IsWorse(b.pair, a.pair)) return false;
  if (a.node != b.node) return a.node < b.node;
  return a.pair.SerializeAsString() < b.pair.SerializeAsString();
}

bool IsSame(const NodePair& a, const NodePair& b) { return !ComesBefore(a, b) && !ComesBefore(b, a); }

}  // namespace

PairReports PairReportsOf(const std::vector<nodes::ViewPtr>& nodes) {
  PairReports reports;
  for (const nodes::ViewPtr& view : nodes) {
    if (view->report == nullptr) continue;
    for (const control::VersionReport& version : view->report->versions()) {
      const control::PairEvidence& evidence = version.evidence().pairs();
      if (evidence.worst().empty()) continue;
      reports[{version.served_name(), version.version()}].emplace_back(view->hello.node(), &evidence);
    }
  }
  return reports;
}

std::vector<NodePair> ReportedPairs(const api::Model& model, const PairReports& reports) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto found = reports.find({model.spec.served_name, rollout.candidate});
  std::vector<NodePair> pairs;
  if (found == reports.end()) return pairs;
  for (const auto& [node, evidence] : found->second) {
    if (evidence->worst_salt() != rollout.id) continue;
    for (const control::WorstPair& pair : evidence->worst()) {
      if (IsFinite(pair)) node_contract::LimitTexts(pairs.emplace_back(node, pair).pair);
    }
  }
  return pairs;
}

std::vector<NodePair> WorstOf(const std::vector<NodePair>& known, const std::vector<NodePair>& reported) {
  std::vector<NodePair> pairs = known;
  pairs.insert(pairs.end(), reported.begin(), reported.end());
  std::ranges::sort(pairs, ComesBefore);
  const auto repeated = std::ranges::unique(pairs, IsSame);
  pairs.erase(repeated.begin(), repeated.end());
  if (pairs.size() > node_contract::kWorstPairsMax) pairs.resize(node_contract::kWorstPairsMax);
  return pairs;
}

}  // namespace longshore::console
