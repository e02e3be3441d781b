#include "serving-node/graph/gathers.h"

namespace longshore::graph {
namespace {

bool IsGather(const Node& node) {
  return node.op == "ResourceGather" && node.inputs.size() == 2 && node.attributes.Int("batch_dims", 0) == 0;
}

void ReadInGraph(Graph* graph) {
  std::vector<Node> nodes;
  std::vector<int> moved;
  const auto move = [&moved](int* node) { *node = moved[static_cast<size_t>(*node)]; };
  for (Node& node : graph->nodes) {
    for (Edge& input : node.inputs) move(&input.node);
    if (IsGather(node)) {
      Node read{.name = node.name + "/read", .op = "ReadVariableOp", .attributes = node.attributes};
      read.inputs = {node.inputs[0]};
      nodes.push_back(std::move(read));
      node.op = "Gather";
      node.inputs[0] = {static_cast<int>(nodes.size()) - 1, 0};
    }
    moved.push_back(static_cast<int>(nodes.size()));
    nodes.push_back(std::move(node));
  }
  graph->nodes = std::move(nodes);
  for (auto& [name, node] : graph->fed) move(&node);
  for (int& node : graph->arguments) move(&node);
  for (Edge& output : graph->outputs) move(&output.node);
}

}  // namespace

Graph ReadBeforeGather(Graph graph) {
  ReadInGraph(&graph);
  for (Graph& body : graph.bodies) ReadInGraph(&body);
  return graph;
}

}  // namespace longshore::graph
