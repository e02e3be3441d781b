#include <set>
#include <string_view>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {

Graph RemoveIdentities(const Graph& graph) {
  static const std::set<std::string_view> kIdentities = {"Identity", "IdentityN", "PreventGradient", "Snapshot",
                                                         "StopGradient"};
  Rewrite rewrite(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!kIdentities.contains(node.op) || node.inputs.empty() || !node.values.empty()) {
      rewrite.Keep(i);
      continue;
    }
    std::vector<Edge> outputs;
    for (const Edge& input : node.inputs) outputs.push_back(rewrite.Mapped(input));
    rewrite.Replace(i, std::move(outputs));
  }
  return rewrite.Take();
}

}  // namespace longshore::graph::passes
