#include "serving-node/graph/prune.h"

namespace longshore::graph {
namespace {

// Whether each node is needed by an output or by an effect. The nodes are in order, so once from the end is enough.
std::vector<bool> Needed(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size());
  for (const auto& output : graph.outputs) needed[static_cast<size_t>(output.node)] = true;
  for (const auto& [name, node] : graph.fed) needed[static_cast<size_t>(node)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (graph.nodes[i].has_effect) needed[i] = true;
    if (!needed[i]) continue;
    for (const auto& input : graph.nodes[i].inputs) needed[static_cast<size_t>(input.node)] = true;
  }
  return needed;
}

}  // namespace

Graph Prune(Graph graph) {
  const std::vector<bool> needed = Needed(graph);
  std::vector<int> moved(graph.nodes.size(), -1);
  Graph pruned;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<int>(pruned.nodes.size());
    pruned.nodes.push_back(std::move(graph.nodes[i]));
  }
  for (auto& node : pruned.nodes) {
    for (auto& input : node.inputs) input.node = moved[static_cast<size_t>(input.node)];
  }
  for (const auto& [name, node] : graph.fed) pruned.fed[name] = moved[static_cast<size_t>(node)];
  for (const auto& edge : graph.outputs) pruned.outputs.push_back({moved[static_cast<size_t>(edge.node)], edge.output});
  return pruned;
}

}  // namespace longshore::graph
