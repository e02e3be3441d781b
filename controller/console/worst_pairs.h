// The pairs of a rollout whose answers differ most, on all nodes of the fleet.
//
// Pure. They have names, types and shapes, but no values (proto/longshore/control.proto).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/types.h"
#include "controller/nodes/nodes.h"
#include "longshore/control.pb.h"

namespace longshore::console {

struct NodePair {
  std::string node;
  control::WorstPair pair{};
};

// What nodes report of a version: the name of the node and its pairs. Key: served name and version.
using PairReports =
    std::map<std::pair<std::string, int64_t>, std::vector<std::pair<std::string, const control::PairEvidence*>>>;

// Returns the versions with pairs in the newest reports of the nodes, to which the result points.
PairReports PairReportsOf(const std::vector<nodes::ViewPtr>& nodes);

// Returns the pairs of the newest rollout of the Model, in any order. Their texts are limited. Pairs without a finite
// difference are left out, because only a broken node reports them.
std::vector<NodePair> ReportedPairs(const api::Model& model, const PairReports& reports);

// Returns the worst of both lists, at most node_contract::kWorstPairsMax, the worst first, and each once. The order of
// the arguments makes no difference.
std::vector<NodePair> WorstOf(const std::vector<NodePair>& known, const std::vector<NodePair>& reported);

}  // namespace longshore::console
