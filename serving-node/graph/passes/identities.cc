#include "serving-node/graph/ops.h"
#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {

Graph RemoveIdentities(const Graph& graph) {
  Rewrite rewrite(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!FindOp(node.op).is_identity || node.inputs.empty() || !node.values.empty()) {
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
