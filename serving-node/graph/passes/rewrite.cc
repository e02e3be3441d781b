#include "serving-node/graph/passes/rewrite.h"

#include <utility>

#include "serving-node/graph/prune.h"

namespace longshore::graph::passes {
namespace {

template <typename T>
T& At(std::vector<std::vector<T>>& table, const Edge& edge) {
  auto& row = table[static_cast<size_t>(edge.node)];
  if (row.size() <= static_cast<size_t>(edge.output)) row.resize(static_cast<size_t>(edge.output) + 1);
  return row[static_cast<size_t>(edge.output)];
}

}  // namespace

Rewrite::Rewrite(const Graph& from)
    : from_(from),
      uses_(from.nodes.size()),
      is_output_(from.nodes.size()),
      moved_(from.nodes.size(), -1),
      replaced_(from.nodes.size()) {
  for (const Node& node : from.nodes) {
    for (const Edge& input : node.inputs) ++graph::passes::At(uses_, input);
  }
  for (const Edge& output : from.outputs) {
    ++graph::passes::At(uses_, output);
    auto& row = is_output_[static_cast<size_t>(output.node)];
    if (row.size() <= static_cast<size_t>(output.output)) row.resize(static_cast<size_t>(output.output) + 1);
    row[static_cast<size_t>(output.output)] = true;
  }
}

int Rewrite::uses(const Edge& edge) const {
  const auto& row = uses_[static_cast<size_t>(edge.node)];
  return static_cast<size_t>(edge.output) < row.size() ? row[static_cast<size_t>(edge.output)] : 0;
}

bool Rewrite::is_output(const Edge& edge) const {
  const auto& row = is_output_[static_cast<size_t>(edge.node)];
  return static_cast<size_t>(edge.output) < row.size() && row[static_cast<size_t>(edge.output)];
}

Edge Rewrite::Mapped(const Edge& edge) const {
  const auto at = static_cast<size_t>(edge.node);
  const auto& replaced = replaced_[at];
  if (static_cast<size_t>(edge.output) < replaced.size()) return replaced[static_cast<size_t>(edge.output)];
  CHECK(moved_[at] >= 0);
  return {moved_[at], edge.output};
}

Edge Rewrite::Add(Node node) {
  to_.nodes.push_back(std::move(node));
  return {static_cast<int>(to_.nodes.size()) - 1, 0};
}

Edge Rewrite::AddConst(const std::string& name, tensor::Tensor value) {
  Node node{.name = name, .op = "Const"};
  node.values.push_back(std::move(value));
  return Add(std::move(node));
}

void Rewrite::Keep(size_t node) {
  Node kept = from_.nodes[node];
  for (Edge& input : kept.inputs) input = Mapped(input);
  moved_[node] = Add(std::move(kept)).node;
}

void Rewrite::Replace(size_t node, std::vector<Edge> outputs) {
  has_replaced_ = true;
  replaced_[node] = std::move(outputs);
}

Graph Rewrite::Take() {
  for (const auto& [name, node] : from_.fed) to_.fed[name] = Mapped({node, 0}).node;
  for (const int argument : from_.arguments) to_.arguments.push_back(Mapped({argument, 0}).node);
  for (const Edge& output : from_.outputs) to_.outputs.push_back(Mapped(output));
  return PruneNodes(std::move(to_));
}

std::optional<float> NumberOf(const Types& types, const Edge& edge) {
  const auto& value = types.at(edge).value;
  if (!value || value->type() != tensor::DType::kFloat || value->elements() != 1 || value->device() != tensor::Device{})
    return std::nullopt;
  return value->values<float>()[0];
}

const tensor::Tensor* ConstOf(const Graph& graph, const Edge& edge) {
  const Node& node = graph.nodes[static_cast<size_t>(edge.node)];
  const auto at = static_cast<size_t>(edge.output);
  return edge.output >= 0 && at < node.values.size() ? &node.values[at] : nullptr;
}

}  // namespace longshore::graph::passes
