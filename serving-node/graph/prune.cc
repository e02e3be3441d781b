#include "serving-node/graph/prune.h"

#include <algorithm>
#include <set>

#include "serving-node/graph/ops.h"

namespace longshore::graph {
namespace {

// Returns for each node whether it must be kept. Nodes come after their inputs, so one pass from the last node to the
// first is enough.
std::vector<bool> Needed(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size());
  for (const auto& output : graph.outputs) needed[static_cast<size_t>(output.node)] = true;
  for (const auto& [name, node] : graph.fed) needed[static_cast<size_t>(node)] = true;
  for (const int node : graph.arguments) needed[static_cast<size_t>(node)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (graph.nodes[i].has_effect) needed[i] = true;
    if (!needed[i]) continue;
    for (const auto& input : graph.nodes[i].inputs) needed[static_cast<size_t>(input.node)] = true;
  }
  return needed;
}

// The bodies that the nodes use, directly or through other bodies.
std::set<int> UsedBodies(const Graph& graph) {
  std::set<int> used;
  std::vector<const Graph*> to_see = {&graph};
  while (!to_see.empty()) {
    const Graph* seen = to_see.back();
    to_see.pop_back();
    for (const auto& node : seen->nodes) {
      for (const int body : node.bodies) {
        if (used.insert(body).second) to_see.push_back(&graph.bodies[static_cast<size_t>(body)]);
      }
    }
  }
  return used;
}

// Sets has_effect on nodes whose op has an effect or that have a body in `with_effect`. Returns whether any node has an
// effect.
bool MarkNodes(const std::vector<bool>& with_effect, Graph* graph) {
  bool any = false;
  for (auto& node : graph->nodes) {
    const auto has = [&](int body) { return with_effect[static_cast<size_t>(body)]; };
    node.has_effect = FindOp(node.op).has_effect || std::ranges::any_of(node.bodies, has);
    any = any || node.has_effect;
  }
  return any;
}

}  // namespace

Graph MarkEffects(Graph graph) {
  std::vector<bool> with_effect(graph.bodies.size());
  // A body may use a later body or itself, so repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < graph.bodies.size(); ++i) {
      if (with_effect[i] || !MarkNodes(with_effect, &graph.bodies[i])) continue;
      with_effect[i] = changed = true;
    }
  }
  for (auto& body : graph.bodies) MarkNodes(with_effect, &body);
  MarkNodes(with_effect, &graph);
  return graph;
}

Graph PruneNodes(Graph graph) {
  const std::vector<bool> needed = Needed(graph);
  std::vector<int> moved(graph.nodes.size(), -1);
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(graph.nodes[i]));
  }
  const auto move = [&moved](int* node) { *node = moved[static_cast<size_t>(*node)]; };
  graph.nodes = std::move(kept);
  for (auto& node : graph.nodes) {
    for (auto& input : node.inputs) move(&input.node);
  }
  for (auto& [name, node] : graph.fed) move(&node);
  for (auto& node : graph.arguments) move(&node);
  for (auto& edge : graph.outputs) move(&edge.node);
  return graph;
}

Graph Prune(Graph graph) {
  graph = PruneNodes(std::move(graph));
  for (auto& body : graph.bodies) body = PruneNodes(std::move(body));
  const std::set<int> used = UsedBodies(graph);
  for (size_t i = 0; i < graph.bodies.size(); ++i) {
    if (!used.contains(static_cast<int>(i))) graph.bodies[i] = {};
  }
  return graph;
}

}  // namespace longshore::graph
