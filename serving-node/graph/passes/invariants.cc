#include <algorithm>
#include <set>

#include "serving-node/graph/passes/passes.h"
#include "serving-node/graph/passes/rewrite.h"
#include "serving-node/graph/prune.h"

namespace longshore::graph::passes {
namespace {

// Limits for copies of bodies. The pass stops when one is reached.
constexpr size_t kCopiesMax = 256;
constexpr size_t kCopiedNodesMax = 200'000;

bool IsLoop(const Node& node) { return node.op == "While" || node.op == "StatelessWhile"; }

// An argument of a body that is a constant: output `output` of the constant node `name`, whose outputs are `values`.
struct Known {
  size_t argument = 0;
  std::string name;
  std::vector<tensor::Tensor> values;
  int output = 0;
};

// Returns a copy of the body in which nodes read constants instead of the arguments in `known`. A body that returns one
// of these arguments still returns it.
Graph WithKnown(const Graph& body, const std::vector<Known>& known) {
  Graph made = body;
  const int moved = static_cast<int>(known.size());
  made.nodes.clear();
  for (const Known& constant : known)
    made.nodes.push_back({.name = constant.name, .op = "Const", .values = constant.values});
  const auto move = [&](int* node) { *node += moved; };
  for (int& argument : made.arguments) move(&argument);
  for (Edge& output : made.outputs) move(&output.node);
  for (Node node : body.nodes) {
    for (Edge& input : node.inputs) {
      move(&input.node);
      for (size_t i = 0; i < known.size(); ++i) {
        if (input.node == made.arguments[known[i].argument]) input = {static_cast<int>(i), known[i].output};
      }
    }
    made.nodes.push_back(std::move(node));
  }
  return made;
}

class InvariantFolding {
 public:
  explicit InvariantFolding(const Graph& whole) : whole_(whole), recurs_(Recurring(whole)) {}

  Graph Run() {
    Visit(kWhole);
    for (size_t body = 0; body < whole_.bodies.size(); ++body) Visit(static_cast<int>(body));
    return Prune(std::move(whole_));
  }

 private:
  static constexpr int kWhole = -1;

  Graph& At(int graph) { return graph == kWhole ? whole_ : whole_.bodies[static_cast<size_t>(graph)]; }

  void Visit(int graph) {
    for (size_t node = 0; node < At(graph).nodes.size() && !is_full_; ++node) {
      if (!At(graph).nodes[node].bodies.empty()) Fold(graph, node);
    }
  }

  void Fold(int graph, size_t at) {
    const Node node = At(graph).nodes[at];
    const std::vector<Known> known = KnownArguments(At(graph), node);
    if (known.empty() || std::ranges::any_of(node.bodies, [&](int body) { return Recurs(body); })) return;
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      if (!Reads(At(node.bodies[i]), known)) continue;
      copied_nodes_ += At(node.bodies[i]).nodes.size() + known.size();
      is_full_ = ++copies_ > kCopiesMax || copied_nodes_ > kCopiedNodesMax;
      if (is_full_) return;
      whole_.bodies.push_back(WithKnown(At(node.bodies[i]), known));
      recurs_.push_back(false);
      At(graph).nodes[at].bodies[i] = static_cast<int>(whole_.bodies.size()) - 1;
    }
  }

  // Returns the arguments that are constants. For a loop these are only arguments that every step returns unchanged.
  std::vector<Known> KnownArguments(const Graph& graph, const Node& node) {
    const bool is_loop = IsLoop(node);
    const size_t first = is_loop ? 0 : 1;
    std::vector<Known> known;
    for (size_t i = first; i < node.inputs.size(); ++i) {
      const Node& from = graph.nodes[static_cast<size_t>(node.inputs[i].node)];
      if (ConstOf(graph, node.inputs[i]) == nullptr) continue;
      if (is_loop && !IsReturned(At(node.bodies.back()), i)) continue;
      known.push_back({i - first, from.name, from.values, node.inputs[i].output});
    }
    return known;
  }

  static bool IsReturned(const Graph& body, size_t argument) {
    return argument < body.arguments.size() && argument < body.outputs.size() &&
           body.outputs[argument] == Edge{body.arguments[argument], 0};
  }

  static bool Reads(const Graph& body, const std::vector<Known>& known) {
    std::set<int> nodes;
    for (const Known& constant : known) {
      if (constant.argument >= body.arguments.size()) return false;
      nodes.insert(body.arguments[constant.argument]);
    }
    return std::ranges::any_of(body.nodes, [&](const Node& node) {
      return std::ranges::any_of(node.inputs, [&](const Edge& input) { return nodes.contains(input.node); });
    });
  }

  bool Recurs(int body) const { return recurs_[static_cast<size_t>(body)]; }

  // By body: whether it calls itself, directly or through others, or calls such a body. Repeatedly removes bodies that
  // call none of the remaining ones; those that are left recur.
  static std::vector<bool> Recurring(const Graph& whole) {
    std::vector<std::vector<size_t>> callers(whole.bodies.size());
    std::vector<size_t> calls(whole.bodies.size());
    for (size_t body = 0; body < whole.bodies.size(); ++body) {
      for (const Node& node : whole.bodies[body].nodes) {
        calls[body] += node.bodies.size();
        for (const int called : node.bodies) callers[static_cast<size_t>(called)].push_back(body);
      }
    }
    std::vector<bool> recurs(whole.bodies.size(), true);
    std::vector<size_t> ending;
    for (size_t body = 0; body < calls.size(); ++body) {
      if (calls[body] == 0) ending.push_back(body);
    }
    while (!ending.empty()) {
      const size_t body = ending.back();
      ending.pop_back();
      recurs[body] = false;
      for (const size_t caller : callers[body]) {
        if (--calls[caller] == 0) ending.push_back(caller);
      }
    }
    return recurs;
  }

  Graph whole_;
  std::vector<bool> recurs_;  // By body: the result of Recurring.
  bool is_full_ = false;
  size_t copies_ = 0;
  size_t copied_nodes_ = 0;
};

}  // namespace

Graph FoldInvariants(const Graph& graph) { return InvariantFolding(graph).Run(); }

}  // namespace longshore::graph::passes
