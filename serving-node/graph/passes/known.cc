#include <algorithm>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {

std::optional<Graph> FillInKnown(const Graph& graph, const Types& types) {
  Rewrite rewrite(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto& outputs = types.outputs(i);
    const bool is_known =
        !outputs.empty() && std::ranges::all_of(outputs, [](const Type& type) { return type.value.has_value(); });
    if (!is_known || node.has_effect || !node.values.empty() || node.op == "Placeholder") {
      rewrite.Keep(i);
      continue;
    }
    Node known{.name = node.name, .op = "Const"};
    for (const Type& output : outputs) known.values.push_back(*output.value);
    const int at = rewrite.Add(std::move(known)).node;
    std::vector<Edge> edges;
    for (size_t output = 0; output < outputs.size(); ++output) edges.push_back({at, static_cast<int>(output)});
    rewrite.Replace(i, std::move(edges));
  }
  return rewrite.has_replaced() ? std::optional(rewrite.Take()) : std::nullopt;
}

}  // namespace longshore::graph::passes
