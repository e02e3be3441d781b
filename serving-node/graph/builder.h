// Converts a GraphDef into a Graph: the first step of Build, before pruning.
#pragma once

#include <memory>
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
    std::unordered_map<std::string, Edge> bound;  // By reference: the arguments of a condition or loop of TensorFlow 1.
    // The nodes that are done. The edges are the outputs of arguments, calls, conditions, assignments and feeds; for
    // other nodes (see `positions`) and for names in `bound` the list is empty.
    std::unordered_map<std::string, std::vector<Edge>> emitted;
    std::unordered_map<std::string, int> positions;        // Nodes copied one to one: their position in the graph.
    const Attributes* call_attributes = nullptr;           // The values of attribute placeholders in the body.
    std::shared_ptr<const ControlFlowV1> control_flow_v1;  // nullptr: no control flow of TensorFlow 1.
    int depth = 0;                                         // How many calls and bodies this one is nested in.
  };

  // Derived once per function, for all its calls.
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

  // The bodies that a functional If, Case or While names. Empty for other ops.
  Result<std::vector<int>> BodiesOf(const Node& node, const Scope& scope);
  Result<int> BodyOf(const tensorflow::NameAttrList& function, const Node& node, size_t arguments, const Scope& caller);
  Result<Graph> BuildBody(const tensorflow::FunctionDef& function, const Attributes& attributes, int depth);

  // A branch of a TensorFlow 1 condition or a step of its loop, made of nodes of the surrounding scope.
  struct BodyV1 {
    std::vector<std::vector<std::string>> names;  // By argument: the references that mean this argument.
    std::vector<std::string> results;
    size_t values = 0;  // The first `values` results are read as values; later ones may stay reference variables.
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
  Result<Edge> AddArgument(const std::string& name, const tensorflow::AttrValue* type, PartialGraph* partial);
  // The position of the referenced output among all output tensors of its node.
  Result<int> OutputIndex(const Reference& reference, const Scope& scope) const;

  const Wanted& wanted_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  PartialGraph root_graph_;
  Scope root_;
  std::vector<Graph> bodies_;
  std::unordered_map<std::string, int> body_of_;  // By function and attributes.
  std::unordered_map<const tensorflow::FunctionDef*, Content> contents_;
  std::unordered_map<const tensorflow::NodeDef*, Attributes> attributes_;  // As in the file, with placeholders.
  size_t calls_ = 0;
  size_t nodes_ = 0;
  size_t edges_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longshore::graph
