// Converts a GraphDef into a Graph: the first step of Build, before pruning.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/error.h"
#include "serving-node/graph/control_flow_v1.h"
#include "serving-node/graph/graph.h"
#include "serving-node/graph/wanted.h"

namespace longshore::graph {

class Builder {
 public:
  Builder(const tensorflow::GraphDef& def, const Wanted& wanted);

  // Call it once.
  Result<Graph> Run();

 private:
  // A graph under construction: the main graph or a body.
  struct PartialGraph {
    Graph graph;
    std::set<int> references;  // The nodes whose output is a reference variable of TensorFlow 1, not its value.
  };

  // A list of NodeDefs that is being copied into a graph: the GraphDef itself, one call of a function, or a body.
  struct Scope {
    PartialGraph* into = nullptr;
    std::shared_ptr<const NodeIndex> nodes;
    std::string prefix;
    // The arguments of a condition or loop of TensorFlow 1, by the references that mean them.
    std::unordered_map<std::string, Edge> bound;
    // The emitted nodes, by name. For arguments, calls, conditions, loops, assignments and feeds, the list has the
    // edges of their outputs. For other nodes (see `positions`) and for names in `bound`, it is empty.
    std::unordered_map<std::string, std::vector<Edge>> emitted;
    // The position in the graph of each node that was copied one to one.
    std::unordered_map<std::string, int> positions;
    const Attributes* call_attributes = nullptr;  // The values of attributes that are placeholders in the body.
    std::shared_ptr<const ControlFlowV1> control_flow_v1;  // nullptr: the scope has no control flow of TensorFlow 1.
    // How many calls and bodies this scope is nested in.
    int depth = 0;
  };

  // What is derived from a function once, for all its calls.
  struct Content {
    std::shared_ptr<const NodeIndex> nodes;
    std::vector<std::string> roots;
    std::shared_ptr<const ControlFlowV1> control_flow_v1;
  };

  Status AddFeed(const std::string& feed);
  Status EmitAll(const std::vector<std::string>& roots, Scope* scope);
  Status Emit(const tensorflow::NodeDef& def, Scope* scope);
  Status Inline(const tensorflow::NodeDef& def, const tensorflow::FunctionDef& function, const Attributes& attributes,
                const std::vector<Edge>& inputs, Scope* caller);
  Status EmitCondition(const ConditionV1& condition, Scope* scope);
  Status EmitLoop(const LoopV1& loop, Scope* scope);
  Status Append(const tensorflow::NodeDef& def, const Attributes& attributes, std::vector<Edge> inputs, Scope* scope);

  const tensorflow::FunctionDef* CalledFunction(const tensorflow::NodeDef& def, const Attributes& attributes) const;
  Result<const Content*> ContentOf(const tensorflow::FunctionDef& function);
  Result<std::vector<Edge>> EmitFunction(const tensorflow::FunctionDef& function, Scope* body);

  // Returns the bodies that a functional If, Case or While names. Returns none for other ops.
  Result<std::vector<int>> BodiesOf(const Node& node, const Scope& scope);
  Result<int> BodyOf(const tensorflow::NameAttrList& function, const Node& node, size_t arguments, const Scope& caller);
  Result<Graph> BuildBody(const tensorflow::FunctionDef& function, const Attributes& attributes, int depth);

  // A branch of a condition of TensorFlow 1, or the condition or the step of a loop, made of nodes of the surrounding
  // scope.
  struct BodyV1 {
    std::vector<std::vector<std::string>> names;  // For each argument, the references that mean it.
    std::vector<std::string> results;
    // The first `values` results are read as values; the later ones may stay reference variables.
    size_t values = 0;
  };
  Result<int> AddBodyV1(const Scope& around, std::span<const Edge> arguments, const BodyV1& old);
  Result<Scope> BodyV1Scope(const Scope& around, std::span<const Edge> arguments, const BodyV1& old,
                            PartialGraph* partial);

  Result<Edge> Read(Edge edge, const std::string& reader, PartialGraph* partial);
  Result<Edge> Resolve(const Reference& reference, Scope* scope);
  Result<std::vector<Edge>> ResolveAll(const std::vector<std::string>& references, Scope* scope);
  Result<int> AddNode(Node node, PartialGraph* partial);
  Status CountEdges(size_t edges);
  Status CountBytes(size_t bytes);
  Result<Edge> AddArgument(const std::string& name, std::optional<tensor::DType> type, PartialGraph* partial);
  // Returns the position of the referenced output among all output tensors of its node.
  Result<int> OutputIndex(const Reference& reference, const Scope& scope) const;

  const Wanted& wanted_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  PartialGraph root_graph_;
  Scope root_;
  std::vector<Graph> bodies_;
  std::unordered_map<std::string, int> body_of_;  // By KeyOf: function and attributes.
  std::unordered_map<const tensorflow::FunctionDef*, Content> contents_;
  // The attributes of each NodeDef as in the file, with placeholders.
  std::unordered_map<const tensorflow::NodeDef*, Attributes> attributes_;
  size_t calls_ = 0;
  size_t nodes_ = 0;
  size_t edges_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longshore::graph
