#include "serving-node/graph/graph.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "serving-node/graph/names.h"
#include "serving-node/graph/prune.h"

namespace longshore::graph {
namespace {

using NodeDefs = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;

const std::set<std::string>& Calls() {
  static const std::set<std::string> kCalls = {"StatefulPartitionedCall", "PartitionedCall"};
  return kCalls;
}

bool HasEffect(const std::string& op) {
  static const std::set<std::string> kEffects = {
      "AssignVariableOp",    "AssignAddVariableOp", "AssignSubVariableOp",           "Assert",
      "LookupTableImportV2", "InitializeTableV2",   "InitializeTableFromTextFileV2", "LookupTableInsertV2",
      "LookupTableImport",   "InitializeTable",     "InitializeTableFromTextFile",   "LookupTableInsert",
      "LookupTableRemoveV2"};
  return kEffects.contains(op);
}

bool IsReferenceVariable(const std::string& op) { return op == "VariableV2" || op == "Variable"; }
bool IsAssign(const std::string& op) { return op == "Assign" || op == "AssignAdd" || op == "AssignSub"; }

// One body of nodes: the graph itself, or one call of a function.
struct Scope {
  const NodeDefs* nodes = nullptr;
  std::string prefix;
  std::unordered_map<std::string, const tensorflow::NodeDef*> by_name;
  std::unordered_map<std::string, std::vector<Edge>>
      emitted;                                     // The outputs of arguments, calls and what is fed; nodes: none.
  std::unordered_map<std::string, int> positions;  // Where nodes are in the graph: outputs are counted by kernels.
  const Attributes* call_attributes = nullptr;     // What the body's placeholders of attributes stand for.
  int depth = 0;
};

class Builder {
 public:
  Builder(const tensorflow::GraphDef& def, const Wanted& wanted) : wanted_(wanted) {
    for (const auto& function : def.library().function()) functions_[function.signature().name()] = &function;
    root_.nodes = &def.node();
    Index(&root_);
  }

  Result<Graph> Run() {
    for (const auto& feed : wanted_.feeds) RETURN_IF_ERROR(AddFeed(feed));
    std::vector<std::string> roots = wanted_.outputs;
    for (const auto& target : wanted_.targets) roots.push_back("^" + ParseReference(target).node);
    RETURN_IF_ERROR(EmitAll(roots, &root_));
    for (const auto& output : wanted_.outputs) {
      ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(output), &root_));
      graph_.outputs.push_back(Read(edge, output));
    }
    return std::move(graph_);
  }

 private:
  static void Index(Scope* scope) {
    for (const auto& node : *scope->nodes) scope->by_name[node.name()] = &node;
  }

  Status AddFeed(const std::string& feed) {
    const Reference reference = ParseReference(feed);
    const auto found = root_.by_name.find(reference.node);
    if (found == root_.by_name.end()) return DataLoss("the graph has no node \"{}\" to feed", reference.node);
    Node node{.name = reference.node, .op = "Placeholder", .attributes = {}, .inputs = {}};
    const Attributes attributes(found->second->attr());
    if (const auto* type = attributes.Find("dtype")) node.attributes.Set("dtype", *type);
    graph_.fed[feed] = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    auto& outputs = root_.emitted[reference.node];
    if (outputs.size() <= static_cast<size_t>(reference.index))
      outputs.resize(static_cast<size_t>(reference.index) + 1);
    outputs[static_cast<size_t>(reference.index)] = {graph_.fed[feed], 0};
    return {};
  }

  // Depth first and without recursion, for a chain of nodes may be as long as the graph. A node is emitted after all it
  // needs.
  Status EmitAll(const std::vector<std::string>& roots, Scope* scope) {
    std::unordered_map<std::string, bool> open;  // true: on the stack below us; false: to be visited.
    std::vector<std::string> stack;
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) stack.push_back(ParseReference(*root).node);
    while (!stack.empty()) {
      const std::string name = stack.back();
      if (scope->emitted.contains(name)) {
        stack.pop_back();
        continue;
      }
      const auto found = scope->by_name.find(name);
      if (found == scope->by_name.end()) return DataLoss("there is no node \"{}{}\"", scope->prefix, name);
      const size_t before = stack.size();
      for (const auto& input : found->second->input()) {
        const std::string needed = ParseReference(input).node;
        if (scope->emitted.contains(needed)) continue;
        if (open[needed]) return CycleError(*scope, needed);
        stack.push_back(needed);
      }
      open[name] = true;
      if (stack.size() > before) continue;
      RETURN_IF_ERROR(Emit(*found->second, scope));
      stack.pop_back();
    }
    return {};
  }

  static tl::unexpected<Error> CycleError(const Scope& scope, const std::string& name) {
    const auto found = scope.by_name.find(name);
    if (found != scope.by_name.end() && (found->second->op() == "NextIteration" || found->second->op() == "Merge")) {
      return Unimplemented("unsupported: the loop at node \"{}{}\" (control flow of TensorFlow 1)", scope.prefix, name);
    }
    return DataLoss("the graph has a cycle at node \"{}{}\"", scope.prefix, name);
  }

  Status Emit(const tensorflow::NodeDef& def, Scope* scope) {
    if (graph_.nodes.size() >= kNodesMax) return ResourceExhausted("the graph needs more than {} nodes", kNodesMax);
    std::vector<Edge> inputs;
    for (const auto& input : def.input()) {
      const Reference reference = ParseReference(input);
      if (reference.control) continue;
      ASSIGN_OR_RETURN(const Edge edge, Resolve(reference, scope));
      inputs.push_back(edge);
    }
    const Attributes attributes = ResolveAttributes(def, *scope);
    const auto* function = CalledFunction(def, attributes);
    if (function != nullptr) return Inline(def, *function, attributes, inputs, scope);
    if (Calls().contains(def.op()))
      return DataLoss("node \"{}{}\" calls a function that is not there", scope->prefix, def.name());
    Append(def, attributes, std::move(inputs), scope);
    return {};
  }

  // A function's body may name attributes of the call ("T": placeholder "T").
  static Attributes ResolveAttributes(const tensorflow::NodeDef& def, const Scope& scope) {
    Attributes attributes(def.attr());
    for (const auto& [name, value] : def.attr()) {
      if (value.value_case() != tensorflow::AttrValue::kPlaceholder || scope.call_attributes == nullptr) continue;
      if (const auto* given = scope.call_attributes->Find(value.placeholder())) attributes.Set(name, *given);
    }
    return attributes;
  }

  const tensorflow::FunctionDef* CalledFunction(const tensorflow::NodeDef& def, const Attributes& attributes) const {
    std::string name = def.op();
    if (Calls().contains(def.op())) {
      const auto* f = attributes.Find("f");
      name = f == nullptr ? "" : f->func().name();
    }
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : found->second;
  }

  Status Inline(const tensorflow::NodeDef& def, const tensorflow::FunctionDef& function, const Attributes& attributes,
                const std::vector<Edge>& inputs, Scope* caller) {
    const std::string name = caller->prefix + def.name();
    if (caller->depth == kFunctionDepthMax) {
      return Unimplemented("functions call each other deeper than {} levels (recursion?) at node \"{}\"",
                           kFunctionDepthMax, name);
    }
    if (++calls_ > kCallsMax) return ResourceExhausted("the graph calls functions more than {} times", kCallsMax);
    const auto& signature = function.signature();
    if (signature.input_arg_size() != static_cast<int>(inputs.size())) {
      return DataLoss("node \"{}\" calls \"{}\" with {} arguments instead of {}", name, signature.name(), inputs.size(),
                      signature.input_arg_size());
    }
    Scope body{.nodes = &function.node_def(),
               .prefix = name + "/",
               .by_name = {},
               .emitted = {},
               .positions = {},
               .call_attributes = &attributes,
               .depth = caller->depth + 1};
    Index(&body);
    for (int i = 0; i < signature.input_arg_size(); ++i)
      body.emitted[signature.input_arg(i).name()] = {inputs[static_cast<size_t>(i)]};
    RETURN_IF_ERROR(EmitAll(FunctionRoots(function), &body));
    std::vector<Edge> outputs;
    for (const auto& output : signature.output_arg()) {
      const auto ret = function.ret().find(output.name());
      if (ret == function.ret().end())
        return DataLoss("function \"{}\" does not return \"{}\"", signature.name(), output.name());
      ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(ret->second), &body));
      outputs.push_back(edge);
    }
    caller->emitted[def.name()] = std::move(outputs);
    return {};
  }

  static std::vector<std::string> FunctionRoots(const tensorflow::FunctionDef& function) {
    std::vector<std::string> roots;
    for (const auto& output : function.signature().output_arg()) {
      const auto ret = function.ret().find(output.name());
      if (ret != function.ret().end()) roots.push_back(ret->second);
    }
    for (const auto& name : function.signature().control_output()) {
      const auto ret = function.control_ret().find(name);
      if (ret != function.control_ret().end()) roots.push_back("^" + ret->second);
    }
    return roots;
  }

  void Append(const tensorflow::NodeDef& def, const Attributes& attributes, std::vector<Edge> inputs, Scope* scope) {
    Node node{.name = scope->prefix + def.name(), .op = def.op(), .attributes = attributes, .inputs = {}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool by_reference = IsAssign(def.op()) && i == 0;
      node.inputs.push_back(by_reference ? inputs[i] : Read(inputs[i], node.name));
    }
    if (IsReferenceVariable(def.op())) {
      node.op = "VarHandleOp";
      if (attributes.Text("shared_name", "").empty()) {
        tensorflow::AttrValue shared;
        shared.set_s(node.name);
        node.attributes.Set("shared_name", shared);
      }
      references_.insert(static_cast<int>(graph_.nodes.size()));
    } else if (IsAssign(def.op())) {
      node.op = def.op() + "VariableOp";
    }
    node.has_effect = HasEffect(node.op);
    scope->emitted[def.name()] = {};
    scope->positions[def.name()] = static_cast<int>(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  // The value of a reference variable, where an op wants a value.
  Edge Read(Edge edge, const std::string& reader) {
    if (!references_.contains(edge.node)) return edge;
    const Node& variable = graph_.nodes[static_cast<size_t>(edge.node)];
    Node read{.name = fmt::format("{}/read_for/{}", variable.name, reader),
              .op = "ReadVariableOp",
              .attributes = {},
              .inputs = {edge}};
    if (const auto* type = variable.attributes.Find("dtype")) read.attributes.Set("dtype", *type);
    graph_.nodes.push_back(std::move(read));
    return {static_cast<int>(graph_.nodes.size()) - 1, 0};
  }

  Result<Edge> Resolve(const Reference& reference, Scope* scope) {
    const auto known = scope->emitted.find(reference.node);
    if (known == scope->emitted.end()) return DataLoss("there is no node \"{}{}\"", scope->prefix, reference.node);
    const auto at = scope->positions.find(reference.node);
    int index = reference.index;
    if (at != scope->positions.end()) {
      const auto& node = graph_.nodes[static_cast<size_t>(at->second)];
      if (!reference.output_name.empty()) index += OutputOffset(node.op, node.attributes, reference.output_name);
      // Assign gives the variable back: whoever reads its output wants the value that was assigned.
      if (node.op == "AssignVariableOp" && !node.inputs.empty()) return node.inputs[0];
      return Edge{at->second, index};
    }
    if (!reference.output_name.empty()) index += CallOutputOffset(reference, scope);
    if (static_cast<size_t>(index) >= known->second.size() || known->second[static_cast<size_t>(index)].node < 0) {
      return DataLoss("node \"{}{}\" has no output {}", scope->prefix, reference.node, index);
    }
    return known->second[static_cast<size_t>(index)];
  }

  // For calls in the old style, where the op is the function's name and its outputs have the function's names.
  int CallOutputOffset(const Reference& reference, Scope* scope) const {
    const auto def = scope->by_name.find(reference.node);
    const auto function = def == scope->by_name.end() ? functions_.end() : functions_.find(def->second->op());
    if (function == functions_.end()) return 0;
    const auto& outputs = function->second->signature().output_arg();
    const auto named =
        std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) { return o.name() == reference.output_name; });
    return named == outputs.end() ? 0 : static_cast<int>(named - outputs.begin());
  }

  const Wanted& wanted_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  Scope root_;
  Graph graph_;
  std::set<int> references_;
  size_t calls_ = 0;
};

}  // namespace

Result<Graph> Build(const tensorflow::GraphDef& def, const Wanted& wanted) {
  ASSIGN_OR_RETURN(Graph graph, Builder(def, wanted).Run());
  return Prune(std::move(graph));
}

}  // namespace longshore::graph
