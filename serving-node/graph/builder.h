// Makes a Graph of a GraphDef: the work behind Build, before anything is left out.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/old_control.h"

namespace longshore::graph {

class Builder {
 public:
  Builder(const tensorflow::GraphDef& def, const Wanted& wanted);

  // To be called once.
  Result<Graph> Run();

 private:
  // A graph that grows: the whole one, or a body.
  struct Growing {
    Graph graph;
    std::set<int> references;  // The nodes whose output is a variable of TensorFlow 1, not its value.
  };

  // A list of nodes on its way into a graph: the GraphDef itself, one call of a function, or a body.
  struct Scope {
    Growing* into = nullptr;
    std::shared_ptr<const NodeIndex> nodes;
    std::string prefix;
    std::unordered_map<std::string, Edge> bound;  // What references stand for that are given from outside.
    // The outputs of arguments, calls and conditions, of assignments and of what is fed; none of other nodes and of
    // what is bound.
    std::unordered_map<std::string, std::vector<Edge>> emitted;
    std::unordered_map<std::string, int> positions;  // Where nodes are in the graph: outputs are counted by kernels.
    const Attributes* call_attributes = nullptr;     // What the body's placeholders of attributes stand for.
    std::shared_ptr<const OldControl> old_control;   // nullptr where there is none.
    int depth = 0;
  };

  // What is the same in every call of a function.
  struct Content {
    std::shared_ptr<const NodeIndex> nodes;
    std::vector<std::string> roots;
    std::shared_ptr<const OldControl> old_control;
  };

  Status AddFeed(const std::string& feed);
  Status EmitAll(const std::vector<std::string>& roots, Scope* scope);
  Status Emit(const tensorflow::NodeDef& def, Scope* scope);
  Status Inline(const tensorflow::NodeDef& def, const tensorflow::FunctionDef& function, const Attributes& attributes,
                const std::vector<Edge>& inputs, Scope* caller);
  Status EmitCondition(const OldCondition& condition, Scope* scope);
  Status EmitLoop(const OldLoop& loop, Scope* scope);
  Status Append(const tensorflow::NodeDef& def, const Attributes& attributes, std::vector<Edge> inputs, Scope* scope);

  const tensorflow::FunctionDef* CalledFunction(const tensorflow::NodeDef& def, const Attributes& attributes) const;
  Result<const Content*> ContentOf(const tensorflow::FunctionDef& function);
  Result<std::vector<Edge>> EmitFunction(const tensorflow::FunctionDef& function, Scope* body);

  // The bodies that a functional If, Case or While names. Empty for other ops.
  Result<std::vector<int>> BodiesOf(const Node& node, const Scope& scope);
  Result<int> BodyOf(const tensorflow::NameAttrList& function, const Node& node, size_t arguments, const Scope& caller);
  Result<Graph> BuildBody(const tensorflow::FunctionDef& function, const Attributes& attributes, int depth);

  // A body made of the nodes of the scope itself. What comes after the first so many results may stay a variable.
  struct OldBody {
    std::vector<std::vector<std::string>> names;  // What stands for the argument at each position.
    std::vector<std::string> results;
    size_t values = 0;
  };
  Result<int> AddOldBody(const Scope& around, std::span<const Edge> arguments, const OldBody& old);
  Result<Scope> OldBodyScope(const Scope& around, std::span<const Edge> arguments, const OldBody& old,
                             Growing* growing);

  Result<Edge> Read(Edge edge, const std::string& reader, Growing* growing);
  Result<Edge> Resolve(const Reference& reference, Scope* scope);
  Result<std::vector<Edge>> ResolveAll(const std::vector<std::string>& references, Scope* scope);
  Result<int> AddNode(Node node, Growing* growing);
  Status CountEdges(size_t edges);
  Status CountBytes(size_t bytes);
  Result<Edge> AddArgument(const std::string& name, const tensorflow::AttrValue* type, Growing* growing);
  // Among all tensors that the node gives.
  Result<int> OutputIndex(const Reference& reference, const Scope& scope) const;

  const Wanted& wanted_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  Growing root_graph_;
  Scope root_;
  std::vector<Graph> bodies_;
  std::unordered_map<std::string, int> body_of_;  // By function and attributes.
  std::unordered_map<const tensorflow::FunctionDef*, Content> contents_;
  std::unordered_map<const tensorflow::NodeDef*, Attributes> attributes_;  // As they are in the file.
  size_t calls_ = 0;
  size_t nodes_ = 0;
  size_t edges_ = 0;
  size_t bytes_ = 0;
};

}  // namespace longshore::graph
