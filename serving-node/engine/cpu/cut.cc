#include "serving-node/engine/cpu/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "serving-node/engine/cpu/steps/step.h"
#include "serving-node/engine/kernels/registry.h"
#include "serving-node/graph/prune.h"

namespace longshore::engine::cpu {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Node;

bool IsUnknown(const Edge& edge, const graph::Types& types) { return !types.at(edge).is_static(); }

// Whether the CPU engine has a fast step for the node that it cannot use, because the shape of an input is unknown.
bool WaitsForShapes(const Node& node, const graph::Types& types) {
  return FindFastStep(node.op) != nullptr && node.attributes.Type("T") == DType::kFloat &&
         std::ranges::any_of(node.inputs, [&](const Edge& input) { return IsUnknown(input, types); });
}

// Returns for each node whether it is worth a cut: it waits for shapes, and it is a sum or makes a value of unknown
// shape from which sums are computed. A few element-wise nodes before a Resize to a fixed size are not.
std::vector<bool> FindWorthy(const Graph& graph, const graph::Types& types) {
  std::vector<bool> leads_to_sums(graph.nodes.size()), worthy(graph.nodes.size());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    const bool waits = WaitsForShapes(node, types);
    const bool leads = leads_to_sums[i] || (waits && IsSum(node.op));
    worthy[i] = waits && leads;
    if (!leads) continue;
    for (const Edge& input : node.inputs) {
      if (IsUnknown(input, types)) leads_to_sums[static_cast<size_t>(input.node)] = true;
    }
  }
  return worthy;
}

// How a node uses variables, tables and the like. Nodes that change them keep their order among all that use them.
struct Use {
  bool reads = false;
  bool changes = false;
};

Use UseOf(const Node& node) {
  const kernels::Kernel* kernel = kernels::FindKernel(node.op);
  const bool changes = node.has_effect || !node.bodies.empty() || (kernel != nullptr && !kernel->is_foldable);
  return {.reads = changes || (kernel != nullptr && (kernel->reads_variable || kernel->reads_table)),
          .changes = changes};
}

// Returns for each node whether it is in the tail.
std::vector<bool> FindTail(const Graph& graph, const graph::Types& types) {
  const std::vector<bool> worthy = FindWorthy(graph, types);
  std::vector<bool> in_tail(graph.nodes.size());
  Use of_tail;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op == "Placeholder" || !node.values.empty()) continue;
    const Use use = UseOf(node);
    const auto is_behind = [&](const Edge& input) { return in_tail[static_cast<size_t>(input.node)]; };
    in_tail[i] = worthy[i] || std::ranges::any_of(node.inputs, is_behind) || (use.changes && of_tail.reads) ||
                 (use.reads && of_tail.changes);
    if (in_tail[i]) of_tail = {.reads = of_tail.reads || use.reads, .changes = of_tail.changes || use.changes};
  }
  return in_tail;
}

class Cutter {
 public:
  Cutter(const Graph& graph, const graph::Types& types, std::vector<bool> in_tail)
      : graph_(graph), types_(types), in_tail_(std::move(in_tail)) {
    for (const auto& [name, node] : graph.fed) fed_names_[node] = name;
  }

  Cut Make() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) Copy(i);
    for (const auto& [name, node] : graph_.fed) cut_.head.fed[name] = position_[static_cast<size_t>(node)];
    const auto is_of_tail = [&](const Edge& output) { return IsInTail(output); };
    for (const Edge& output : graph_.outputs)
      (is_of_tail(output) ? cut_.tail : cut_.head).outputs.push_back(Moved(output));
    size_t of_head = cut_.crossing.size(), of_tail = cut_.head.outputs.size();
    for (const Edge& output : graph_.outputs) cut_.outputs.push_back(is_of_tail(output) ? of_tail++ : of_head++);
    cut_.head = graph::PruneNodes(std::move(cut_.head));
    return std::move(cut_);
  }

 private:
  bool IsInTail(const Edge& edge) const { return in_tail_[static_cast<size_t>(edge.node)]; }
  // The edge in the part in which its node is.
  Edge Moved(const Edge& edge) const { return {position_[static_cast<size_t>(edge.node)], edge.output}; }

  static int Append(Node node, Graph* to) {
    to->nodes.push_back(std::move(node));
    return static_cast<int>(to->nodes.size()) - 1;
  }

  void Copy(size_t i) {
    Node node = graph_.nodes[i];
    for (Edge& input : node.inputs) input = in_tail_[i] ? InputOfTail(input) : Moved(input);
    position_.push_back(Append(std::move(node), in_tail_[i] ? &cut_.tail : &cut_.head));
  }

  // The edge in the tail for an input of a node in the tail.
  Edge InputOfTail(const Edge& edge) {
    if (IsInTail(edge)) return Moved(edge);
    const auto [known, is_new] = brought_.try_emplace({edge.node, edge.output});
    if (is_new) known->second = Bring(edge);
    return known->second;
  }

  // Makes a value of the head available in the tail: constants are copied, other values are fed.
  Edge Bring(const Edge& edge) {
    const Node& node = graph_.nodes[static_cast<size_t>(edge.node)];
    if (!node.values.empty()) return {Append(node, &cut_.tail), edge.output};
    if (const auto& value = types_.at(edge).value)
      return {Append({.name = node.name, .op = std::string(graph::kKnown), .values = {*value}}, &cut_.tail), 0};
    const auto fed = fed_names_.find(edge.node);
    if (fed != fed_names_.end()) return Feed(fed->second, node);
    std::string name = fmt::format("{}:{}", node.name, edge.output);
    while (graph_.fed.contains(name) || cut_.tail.fed.contains(name)) name += "'";
    cut_.head.outputs.push_back(Moved(edge));
    cut_.crossing.push_back(name);
    return Feed(name, {.name = node.name, .op = "Placeholder"});
  }

  Edge Feed(const std::string& name, Node placeholder) {
    const int at = Append(std::move(placeholder), &cut_.tail);
    cut_.tail.fed[name] = at;
    return {at, 0};
  }

  const Graph& graph_;
  const graph::Types& types_;
  const std::vector<bool> in_tail_;
  std::map<int, std::string> fed_names_;         // The names of the nodes in graph_.fed.
  std::vector<int> position_;                    // For each node, its position in the part in which it is.
  std::map<std::pair<int, int>, Edge> brought_;  // For node and output in the head, the edge in the tail.
  Cut cut_;
};

}  // namespace

std::map<std::string, Tensor> Cut::Feeds(const std::map<std::string, Tensor>& fed,
                                         std::span<const Tensor> of_head) const {
  std::map<std::string, Tensor> feeds;
  for (size_t i = 0; i < crossing.size(); ++i) feeds[crossing[i]] = of_head[i];
  for (const auto& [name, node] : tail.fed) {
    if (const auto given = fed.find(name); given != fed.end()) feeds.insert(*given);
  }
  return feeds;
}

std::vector<Tensor> Cut::Outputs(std::span<const Tensor> of_head, std::span<const Tensor> of_tail) const {
  std::vector<Tensor> all;
  for (const size_t at : outputs) all.push_back(at < of_head.size() ? of_head[at] : of_tail[at - of_head.size()]);
  return all;
}

std::optional<Cut> CutWhereShapesEnd(const Graph& graph, const graph::Types& types) {
  std::vector<bool> in_tail = FindTail(graph, types);
  if (std::ranges::find(in_tail, true) == in_tail.end()) return std::nullopt;
  return Cutter(graph, types, std::move(in_tail)).Make();
}

}  // namespace longshore::engine::cpu
