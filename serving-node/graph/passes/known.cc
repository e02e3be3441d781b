#include <algorithm>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"

namespace longshore::graph::passes {
namespace {

// Whether the values of all outputs that are read are known. A malformed graph may read outputs that do not exist; the
// run rejects it.
bool IsKnown(const Node& node, std::span<const Type> outputs, size_t outputs_read) {
  if (node.has_effect || node.op == "Placeholder" || !node.values.empty()) return false;
  return !outputs.empty() && outputs.size() >= outputs_read &&
         std::ranges::all_of(outputs, [](const Type& type) { return type.value.has_value(); });
}

}  // namespace

std::optional<Graph> FillInKnown(const Graph& graph, const Types& types) {
  Rewrite rewrite(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& outputs = types.outputs(i);
    if (!IsKnown(graph.nodes[i], outputs, rewrite.outputs_read(i))) {
      rewrite.Keep(i);
      continue;
    }
    Node known{.name = graph.nodes[i].name, .op = std::string(kKnown)};
    for (const Type& output : outputs) known.values.push_back(*output.value);
    const int at = rewrite.Add(std::move(known)).node;
    std::vector<Edge> edges;
    for (size_t output = 0; output < outputs.size(); ++output) edges.push_back({at, static_cast<int>(output)});
    rewrite.Replace(i, std::move(edges));
  }
  return rewrite.has_replaced() ? std::optional(rewrite.Take()) : std::nullopt;
}

}  // namespace longshore::graph::passes
