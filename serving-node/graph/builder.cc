#include "serving-node/graph/builder.h"

#include <algorithm>

#include "serving-node/graph/limits.h"
#include "serving-node/graph/names.h"
#include "serving-node/graph/outputs.h"
#include "serving-node/tensor/proto.h"

namespace longshore::graph {
namespace {

using NodeDefs = google::protobuf::RepeatedPtrField<tensorflow::NodeDef>;
using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

const std::set<std::string>& Calls() {
  static const std::set<std::string> kCalls = {"StatefulPartitionedCall", "PartitionedCall", "BatchFunction"};
  return kCalls;
}

bool IsReferenceVariable(const std::string& op) { return op == "VariableV2" || op == "Variable"; }
bool IsAssign(const std::string& op) { return op == "Assign" || op == "AssignAdd" || op == "AssignSub"; }
bool TakesReference(const std::string& op) { return IsAssign(op) || op == "IsVariableInitialized"; }

// An op with function bodies, such as If.
struct Control {
  std::vector<const char*> functions;  // The attributes that name the bodies.
  // How many of the first inputs are not passed to the bodies, such as the predicate of If.
  size_t own_inputs = 0;
};
const Control* ControlOf(const std::string& op) {
  static const Control kIf{{"then_branch", "else_branch"}, 1}, kCase{{"branches"}, 1}, kWhile{{"cond", "body"}, 0};
  static const std::map<std::string, const Control*> kOps = {{"If", &kIf},       {"StatelessIf", &kIf},
                                                             {"Case", &kCase},   {"StatelessCase", &kCase},
                                                             {"While", &kWhile}, {"StatelessWhile", &kWhile}};
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

std::shared_ptr<const NodeIndex> IndexOf(const NodeDefs& nodes) {
  auto index = std::make_shared<NodeIndex>();
  index->reserve(static_cast<size_t>(nodes.size()));
  for (const auto& node : nodes) (*index)[node.name()] = &node;
  return index;
}

std::vector<std::string> RootsOf(const FunctionDef& function) {
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

// Replaces attributes that are placeholders. A node in a function may have the attribute "T" with the placeholder "T",
// which stands for the attribute "T" of the function's call.
void Substitute(const google::protobuf::Map<std::string, AttrValue>& values, const Attributes* given,
                Attributes* attributes) {
  if (given == nullptr) return;
  for (const auto& [name, value] : values) {
    if (value.value_case() != AttrValue::kPlaceholder) continue;
    if (const auto* known = given->Find(value.placeholder())) attributes->Set(name, *known);
  }
}

// Returns the values of the placeholders in a called function. They are the attributes of the calling node. If the call
// names its function in the attribute "f", the attributes given there are added and take precedence.
Attributes AttributesForBody(const NodeDef& def, const Attributes& attributes, const Attributes* callers) {
  Attributes given = attributes;
  if (!Calls().contains(def.op())) return given;
  const auto& named = attributes.Find("f")->func().attr();
  for (const auto& [name, value] : named) given.Set(name, value);
  Substitute(named, callers, &given);
  return given;
}

// Returns a key that identifies a body: two calls with the same key have identical bodies.
std::string KeyOf(const std::string& function, const google::protobuf::Map<std::string, AttrValue>& values,
                  const Attributes& attributes) {
  const std::map<std::string, AttrValue> sorted(values.begin(), values.end());
  std::string key = function;
  for (const auto& [name, value] : sorted) key += '\0' + name + '\0' + attributes.Find(name)->SerializeAsString();
  return key;
}

// Returns the position of the output `name` of a call whose op is the name of the function. The outputs of such a call
// have the names that the function's signature gives them.
std::optional<int> ResultOffset(const FunctionDef& function, const std::string& name) {
  const auto& outputs = function.signature().output_arg();
  const auto named = std::ranges::find_if(outputs, [&](const auto& output) { return output.name() == name; });
  if (named == outputs.end()) return std::nullopt;
  return static_cast<int>(named - outputs.begin());
}

std::set<std::string> NamesOf(const std::unordered_map<std::string, std::vector<Edge>>& emitted) {
  std::set<std::string> names;
  for (const auto& [name, edges] : emitted) names.insert(name);
  return names;
}

}  // namespace

Builder::Builder(const tensorflow::GraphDef& def, const Wanted& wanted) : wanted_(wanted) {
  for (const auto& function : def.library().function()) functions_[function.signature().name()] = &function;
  root_.into = &root_graph_;
  root_.nodes = IndexOf(def.node());
}

Result<Graph> Builder::Run() {
  for (const auto& feed : wanted_.feeds) RETURN_IF_ERROR(AddFeed(feed));
  std::vector<std::string> roots = wanted_.outputs;
  for (const auto& target : wanted_.targets) roots.push_back("^" + ParseReference(target).node);
  ASSIGN_OR_RETURN(root_.control_flow_v1, ControlFlowV1::Find(*root_.nodes, roots, NamesOf(root_.emitted)));
  RETURN_IF_ERROR(EmitAll(roots, &root_));
  for (const auto& output : wanted_.outputs) {
    ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(output), &root_));
    ASSIGN_OR_RETURN(const Edge value, Read(edge, output, &root_graph_));
    root_graph_.graph.outputs.push_back(value);
  }
  root_graph_.graph.bodies = std::move(bodies_);
  return std::move(root_graph_.graph);
}

Status Builder::AddFeed(const std::string& feed) {
  const Reference reference = ParseReference(feed);
  if (reference.index < 0 || reference.index >= kOutputsMax)
    return DataLoss("cannot feed \"{}\": the output index is out of range", feed);
  const auto found = root_.nodes->find(reference.node);
  if (found == root_.nodes->end()) return DataLoss("the graph has no node \"{}\" to feed", reference.node);
  const auto type = OutputType(found->second->op(), Attributes(found->second->attr()), reference.index);
  ASSIGN_OR_RETURN(const Edge edge, AddArgument(reference.node, type, &root_graph_));
  root_graph_.graph.fed[feed] = edge.node;
  auto& outputs = root_.emitted[reference.node];
  outputs.resize(std::max(outputs.size(), static_cast<size_t>(reference.index) + 1));
  outputs[static_cast<size_t>(reference.index)] = edge;
  return {};
}

Result<int> Builder::AddNode(Node node, PartialGraph* partial) {
  if (++nodes_ > kNodesMax) return ResourceExhausted("the graph needs more than {} nodes", kNodesMax);
  RETURN_IF_ERROR(CountBytes(node.name.size() + node.attributes.bytes()));
  partial->graph.nodes.push_back(std::move(node));
  return static_cast<int>(partial->graph.nodes.size()) - 1;
}

Status Builder::CountEdges(size_t edges) {
  edges_ += edges;
  return edges_ <= kEdgesMax ? Status{} : ResourceExhausted("the graph needs more than {} edges", kEdgesMax);
}

Status Builder::CountBytes(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= kAttributeBytesMax) return {};
  return ResourceExhausted("the graph needs more than {} bytes of names and attributes", kAttributeBytesMax);
}

Result<Edge> Builder::AddArgument(const std::string& name, std::optional<tensor::DType> type, PartialGraph* partial) {
  Node node{.name = name, .op = "Placeholder", .attributes = {}, .inputs = {}};
  AttrValue dtype;
  if (type) dtype.set_type(tensor::ToProto(*type));
  if (type) node.attributes.Set("dtype", dtype);
  ASSIGN_OR_RETURN(const int at, AddNode(std::move(node), partial));
  return Edge{at, 0};
}

namespace {

// Returns the references that must be emitted before a node. They are its inputs. For a condition or loop of TensorFlow
// 1, which is emitted as one node, they are the values that enter it.
std::vector<std::string_view> NeedsOf(const NodeDef& def, const ControlFlowV1* v1) {
  std::vector<std::string_view> needs;
  if (const auto* condition = v1 == nullptr ? nullptr : v1->ConditionOf(def.name())) {
    needs.push_back(condition->predicate);
    for (const auto& argument : condition->arguments) needs.push_back(argument.outside);
    needs.insert(needs.end(), condition->before.begin(), condition->before.end());
  } else if (const auto* loop = v1 == nullptr ? nullptr : v1->LoopOf(def.name())) {
    for (const auto& variable : loop->variables) needs.push_back(variable.first);
    for (const auto& constant : loop->constants) needs.push_back(constant.value);
    needs.insert(needs.end(), loop->before.begin(), loop->before.end());
  } else {
    needs.insert(needs.end(), def.input().begin(), def.input().end());
  }
  return needs;
}

}  // namespace

// Emits each node after everything that it needs. Works depth first, with an explicit stack instead of recursion,
// because a chain of nodes may have as many nodes as the graph.
Status Builder::EmitAll(const std::vector<std::string>& roots, Scope* scope) {
  std::set<std::string> open;  // Nodes on the stack that wait until their needs are emitted.
  std::vector<std::string> stack;
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) stack.push_back(ParseReference(*root).node);
  while (!stack.empty()) {
    const std::string name = stack.back();
    if (scope->emitted.contains(name)) {
      stack.pop_back();
      continue;
    }
    const auto found = scope->nodes->find(name);
    if (found == scope->nodes->end()) return DataLoss("the graph has no node \"{}{}\"", scope->prefix, name);
    const size_t before = stack.size();
    for (const auto& input : NeedsOf(*found->second, scope->control_flow_v1.get())) {
      const std::string needed = ParseReference(input).node;
      if (scope->emitted.contains(needed)) continue;
      if (needed == name || open.contains(needed))
        return DataLoss("the graph has a cycle at node \"{}{}\"", scope->prefix, needed);
      stack.push_back(needed);
    }
    open.insert(name);
    if (stack.size() > before) continue;
    RETURN_IF_ERROR(Emit(*found->second, scope));
    open.erase(name);
    stack.pop_back();
  }
  return {};
}

Status Builder::Emit(const NodeDef& def, Scope* scope) {
  const auto* v1 = scope->control_flow_v1.get();
  if (const auto* condition = v1 == nullptr ? nullptr : v1->ConditionOf(def.name()))
    return EmitCondition(*condition, scope);
  if (const auto* loop = v1 == nullptr ? nullptr : v1->LoopOf(def.name())) return EmitLoop(*loop, scope);
  RETURN_IF_ERROR(CountEdges(static_cast<size_t>(def.input_size())));
  std::vector<Edge> inputs;
  for (const auto& input : def.input()) {
    const Reference reference = ParseReference(input);
    if (reference.control) continue;
    ASSIGN_OR_RETURN(const Edge edge, Resolve(reference, scope));
    inputs.push_back(edge);
  }
  Attributes attributes = attributes_.try_emplace(&def, def.attr()).first->second;
  Substitute(def.attr(), scope->call_attributes, &attributes);
  const auto* function = CalledFunction(def, attributes);
  if (function != nullptr) return Inline(def, *function, attributes, inputs, scope);
  if (Calls().contains(def.op()))
    return DataLoss("node \"{}{}\" calls a function that the model does not define", scope->prefix, def.name());
  return Append(def, attributes, std::move(inputs), scope);
}

const FunctionDef* Builder::CalledFunction(const NodeDef& def, const Attributes& attributes) const {
  std::string name = def.op();
  if (Calls().contains(def.op())) {
    const auto* f = attributes.Find("f");
    name = f == nullptr ? "" : f->func().name();
  }
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

Status Builder::Inline(const NodeDef& def, const FunctionDef& function, const Attributes& attributes,
                       const std::vector<Edge>& inputs, Scope* caller) {
  const std::string name = caller->prefix + def.name();
  const auto& signature = function.signature();
  if (caller->depth == kFunctionDepthMax) {
    return Unimplemented("functions call each other deeper than {} levels (recursion of \"{}\"?) at node \"{}\"",
                         kFunctionDepthMax, signature.name(), name);
  }
  if (++calls_ > kCallsMax)
    return ResourceExhausted("the graph has more than {} function calls and bodies of conditions and loops", kCallsMax);
  RETURN_IF_ERROR(CountBytes(attributes.bytes()));
  if (signature.input_arg_size() != static_cast<int>(inputs.size())) {
    return DataLoss("node \"{}\" calls \"{}\" with {} arguments instead of {}", name, signature.name(), inputs.size(),
                    signature.input_arg_size());
  }
  const Attributes given = AttributesForBody(def, attributes, caller->call_attributes);
  Scope body;
  body.into = caller->into;
  body.prefix = name + "/";
  body.call_attributes = &given;
  body.depth = caller->depth + 1;
  for (int i = 0; i < signature.input_arg_size(); ++i)
    body.emitted[signature.input_arg(i).name()] = {inputs[static_cast<size_t>(i)]};
  ASSIGN_OR_RETURN(caller->emitted[def.name()], EmitFunction(function, &body));
  return {};
}

Result<const Builder::Content*> Builder::ContentOf(const FunctionDef& function) {
  const auto [at, is_new] = contents_.try_emplace(&function);
  Content& content = at->second;
  if (!is_new) return &content;
  content.nodes = IndexOf(function.node_def());
  content.roots = RootsOf(function);
  std::set<std::string> arguments;
  for (const auto& argument : function.signature().input_arg()) arguments.insert(argument.name());
  ASSIGN_OR_RETURN(content.control_flow_v1, ControlFlowV1::Find(*content.nodes, content.roots, arguments));
  return &content;
}

// Emits the nodes of a function and returns the edges of its outputs. Requires that the arguments of the function are
// in body->emitted.
Result<std::vector<Edge>> Builder::EmitFunction(const FunctionDef& function, Scope* body) {
  ASSIGN_OR_RETURN(const Content* content, ContentOf(function));
  body->nodes = content->nodes;
  body->control_flow_v1 = content->control_flow_v1;
  RETURN_IF_ERROR(CountEdges(content->roots.size()));
  RETURN_IF_ERROR(EmitAll(content->roots, body));
  std::vector<Edge> outputs;
  for (const auto& output : function.signature().output_arg()) {
    const auto ret = function.ret().find(output.name());
    if (ret == function.ret().end())
      return DataLoss("function \"{}\" does not return its output \"{}\"", function.signature().name(), output.name());
    ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(ret->second), body));
    outputs.push_back(edge);
  }
  return outputs;
}

Status Builder::Append(const NodeDef& def, const Attributes& attributes, std::vector<Edge> inputs, Scope* scope) {
  for (const char* op : {"Switch", "Merge", "Enter", "Exit", "NextIteration"}) {
    if (WithoutRef(def.op()) != op) continue;
    return Unimplemented(
        "unsupported: control flow of TensorFlow 1 at node \"{}{}\" (op \"{}\"): the value of the "
        "node is used outside of the condition or loop to which it belongs",
        scope->prefix, def.name(), def.op());
  }
  Node node{.name = scope->prefix + def.name(), .op = def.op(), .attributes = attributes, .inputs = {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (TakesReference(def.op()) && i == 0) {
      node.inputs.push_back(inputs[i]);
      continue;
    }
    ASSIGN_OR_RETURN(const Edge value, Read(inputs[i], node.name, scope->into));
    node.inputs.push_back(value);
  }
  if (IsReferenceVariable(def.op())) {
    node.op = "VarHandleOp";
    if (attributes.Text("shared_name", "").empty()) {
      AttrValue shared;
      shared.set_s(node.name);
      node.attributes.Set("shared_name", shared);
    }
    scope->into->references.insert(static_cast<int>(scope->into->graph.nodes.size()));
  } else if (IsAssign(def.op())) {
    node.op = def.op() + "VariableOp";
  } else if (def.op() == "IsVariableInitialized") {
    node.op = "VarIsInitializedOp";
  } else if (def.op() == "LoopCond" || def.op() == "RefIdentity") {
    node.op = "Identity";
  } else if (def.op() == "ControlTrigger") {
    node.op = "NoOp";
  }
  ASSIGN_OR_RETURN(node.bodies, BodiesOf(node, *scope));
  ASSIGN_OR_RETURN(const int at, AddNode(std::move(node), scope->into));
  auto& emitted = scope->emitted[def.name()];
  if (IsAssign(def.op()) && !inputs.empty()) {
    // The output of an assignment is the variable itself. Its readers come after this node, so they read the assigned
    // value.
    emitted = {inputs[0]};
  } else {
    scope->positions[def.name()] = at;
  }
  return {};
}

Result<std::vector<int>> Builder::BodiesOf(const Node& node, const Scope& scope) {
  std::vector<int> bodies;
  const Control* control = ControlOf(node.op);
  if (control == nullptr) return bodies;
  if (node.inputs.size() < control->own_inputs)
    return DataLoss("node \"{}\" (op \"{}\") has no input", node.name, node.op);
  for (const char* attribute : control->functions) {
    const auto* value = node.attributes.Find(attribute);
    const bool is_list = value != nullptr && value->value_case() == AttrValue::kList;
    for (int i = 0; i < (is_list ? value->list().func_size() : 1); ++i) {
      const auto* function = is_list ? &value->list().func(i) : value == nullptr ? nullptr : &value->func();
      if (function == nullptr)
        return DataLoss("node \"{}\" (op \"{}\") has no attribute \"{}\"", node.name, node.op, attribute);
      ASSIGN_OR_RETURN(const int body, BodyOf(*function, node, node.inputs.size() - control->own_inputs, scope));
      bodies.push_back(body);
    }
  }
  if (bodies.empty()) return DataLoss("node \"{}\" (op \"{}\") has no branches", node.name, node.op);
  return bodies;
}

// All nodes that name the same function with the same attributes share one body. So a function that calls itself in a
// branch is built only once.
Result<int> Builder::BodyOf(const tensorflow::NameAttrList& named, const Node& node, size_t arguments,
                            const Scope& caller) {
  const auto function = functions_.find(named.name());
  if (function == functions_.end())
    return DataLoss("node \"{}\" (op \"{}\") names the function \"{}\", which the model does not define", node.name,
                    node.op, named.name());
  const auto taken = static_cast<size_t>(function->second->signature().input_arg_size());
  if (taken != arguments) {
    return DataLoss("node \"{}\" (op \"{}\") calls \"{}\" with {} arguments instead of {}", node.name, node.op,
                    named.name(), arguments, taken);
  }
  Attributes attributes(named.attr());
  Substitute(named.attr(), caller.call_attributes, &attributes);
  const std::string key = KeyOf(named.name(), named.attr(), attributes);
  RETURN_IF_ERROR(CountBytes(key.size()));
  const auto [at, is_new] = body_of_.emplace(key, static_cast<int>(bodies_.size()));
  const int body = at->second;
  if (!is_new) return body;
  if (caller.depth == kFunctionDepthMax) {
    return Unimplemented("function bodies are nested deeper than {} levels at node \"{}\"", kFunctionDepthMax,
                         node.name);
  }
  bodies_.emplace_back();
  ASSIGN_OR_RETURN(Graph built, BuildBody(*function->second, attributes, caller.depth + 1));
  bodies_[static_cast<size_t>(body)] = std::move(built);
  return body;
}

Result<Graph> Builder::BuildBody(const FunctionDef& function, const Attributes& attributes, int depth) {
  PartialGraph partial;
  Scope scope;
  scope.into = &partial;
  scope.prefix = function.signature().name() + "/";
  scope.call_attributes = &attributes;
  scope.depth = depth;
  for (const auto& argument : function.signature().input_arg()) {
    const auto type = tensor::FromProto(argument.type());
    ASSIGN_OR_RETURN(const Edge edge, AddArgument(scope.prefix + argument.name(), type, &partial));
    partial.graph.arguments.push_back(edge.node);
    scope.emitted[argument.name()] = {edge};
  }
  ASSIGN_OR_RETURN(const auto outputs, EmitFunction(function, &scope));
  for (const auto& output : outputs) {
    ASSIGN_OR_RETURN(const Edge value, Read(output, scope.prefix, &partial));
    partial.graph.outputs.push_back(value);
  }
  return std::move(partial.graph);
}

Result<Builder::Scope> Builder::BodyV1Scope(const Scope& around, std::span<const Edge> arguments, const BodyV1& source,
                                            PartialGraph* partial) {
  Scope scope;
  scope.into = partial;
  scope.nodes = around.nodes;
  scope.prefix = around.prefix;
  scope.call_attributes = around.call_attributes;
  scope.control_flow_v1 = around.control_flow_v1;
  scope.depth = around.depth + 1;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ASSIGN_OR_RETURN(const Edge edge, AddArgument(scope.prefix + source.names[i][0], std::nullopt, partial));
    partial->graph.arguments.push_back(edge.node);
    if (around.into->references.contains(arguments[i].node)) partial->references.insert(edge.node);
    for (const auto& name : source.names[i]) {
      const Reference reference = ParseReference(name);
      scope.bound[ToString(reference)] = edge;
      scope.emitted[reference.node] = {};
    }
  }
  return scope;
}

Result<int> Builder::AddBodyV1(const Scope& around, std::span<const Edge> arguments, const BodyV1& source) {
  if (around.depth == kFunctionDepthMax)
    return Unimplemented("conditions and loops are nested deeper than {} levels", kFunctionDepthMax);
  if (++calls_ > kCallsMax)
    return ResourceExhausted("the graph has more than {} function calls and bodies of conditions and loops", kCallsMax);
  RETURN_IF_ERROR(CountEdges(arguments.size() + source.results.size()));
  PartialGraph partial;
  ASSIGN_OR_RETURN(Scope scope, BodyV1Scope(around, arguments, source, &partial));
  RETURN_IF_ERROR(EmitAll(source.results, &scope));
  ASSIGN_OR_RETURN(const auto outputs, ResolveAll(source.results, &scope));
  for (size_t i = 0; i < outputs.size(); ++i) {
    ASSIGN_OR_RETURN(const Edge value, i < source.values ? Read(outputs[i], scope.prefix, &partial) : outputs[i]);
    partial.graph.outputs.push_back(value);
  }
  bodies_.push_back(std::move(partial.graph));
  return static_cast<int>(bodies_.size()) - 1;
}

Status Builder::EmitCondition(const ConditionV1& condition, Scope* scope) {
  ASSIGN_OR_RETURN(const Edge predicate, Resolve(ParseReference(condition.predicate), scope));
  Node node{.name = scope->prefix + condition.merges[0], .op = "If", .attributes = {}, .inputs = {}};
  std::vector<Edge> arguments;
  BodyV1 source{.names = {}, .results = {}, .values = condition.merges.size()};
  for (const auto& argument : condition.arguments) {
    ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(argument.outside), scope));
    arguments.push_back(edge);
    source.names.push_back({argument.inside});
  }
  for (const size_t branch : {1, 0}) {
    source.results = condition.results[branch];
    ASSIGN_OR_RETURN(const int body, AddBodyV1(*scope, arguments, source));
    node.bodies.push_back(body);
  }
  ASSIGN_OR_RETURN(const Edge value, Read(predicate, node.name, scope->into));
  node.inputs.push_back(value);
  node.inputs.insert(node.inputs.end(), arguments.begin(), arguments.end());
  ASSIGN_OR_RETURN(const int at, AddNode(std::move(node), scope->into));
  for (size_t i = 0; i < condition.merges.size(); ++i)
    scope->emitted[condition.merges[i]] = {Edge{at, static_cast<int>(i)}};
  return {};
}

namespace {

// Returns the references that mean a loop variable inside the loop, in the notation of graphs and in that of functions.
std::vector<std::string> NamesInLoop(const std::string& merge_or_enter, const std::string& switch_node) {
  std::vector<std::string> names = {merge_or_enter, merge_or_enter + ":output:0"};
  if (!switch_node.empty()) {
    names.push_back(switch_node + ":1");
    names.push_back(switch_node + ":output_true:0");
  }
  return names;
}

}  // namespace

Status Builder::EmitLoop(const LoopV1& loop, Scope* scope) {
  Node node{.name = scope->prefix + loop.frame, .op = "While", .attributes = {}, .inputs = {}};
  BodyV1 condition{.names = {}, .results = {loop.condition}, .values = 1};
  BodyV1 step{.names = {}, .results = {}, .values = loop.variables.size()};
  for (const auto& variable : loop.variables) {
    ASSIGN_OR_RETURN(const Edge first, Resolve(ParseReference(variable.first), scope));
    ASSIGN_OR_RETURN(const Edge value, Read(first, node.name, scope->into));
    node.inputs.push_back(value);
    step.results.push_back(variable.next);
    condition.names.push_back(NamesInLoop(variable.merge, ""));
    step.names.push_back(NamesInLoop(variable.merge, variable.switch_node));
  }
  for (const auto& constant : loop.constants) {
    ASSIGN_OR_RETURN(const Edge value, Resolve(ParseReference(constant.value), scope));
    node.inputs.push_back(value);
    step.results.push_back(constant.enter);
    condition.names.push_back(NamesInLoop(constant.enter, ""));
    step.names.push_back(NamesInLoop(constant.enter, ""));
  }
  for (const auto* body : {&condition, &step}) {
    ASSIGN_OR_RETURN(const int at, AddBodyV1(*scope, node.inputs, *body));
    node.bodies.push_back(at);
  }
  ASSIGN_OR_RETURN(const int at, AddNode(std::move(node), scope->into));
  for (size_t i = 0; i < loop.variables.size(); ++i) {
    for (const auto& exit : loop.variables[i].exits) scope->emitted[exit] = {Edge{at, static_cast<int>(i)}};
  }
  return {};
}

// If the edge comes from a reference variable of TensorFlow 1, adds a node that reads the variable's value for
// `reader`, which needs a value, and returns the edge of that node.
Result<Edge> Builder::Read(Edge edge, const std::string& reader, PartialGraph* partial) {
  if (!partial->references.contains(edge.node)) return edge;
  const Node& variable = partial->graph.nodes[static_cast<size_t>(edge.node)];
  Node read{.name = fmt::format("{}/read_for/{}", variable.name, reader),
            .op = "ReadVariableOp",
            .attributes = {},
            .inputs = {edge}};
  if (const auto* type = variable.attributes.Find("dtype")) read.attributes.Set("dtype", *type);
  RETURN_IF_ERROR(CountEdges(1));
  ASSIGN_OR_RETURN(const int at, AddNode(std::move(read), partial));
  return Edge{at, 0};
}

Result<std::vector<Edge>> Builder::ResolveAll(const std::vector<std::string>& references, Scope* scope) {
  std::vector<Edge> edges;
  for (const auto& reference : references) {
    ASSIGN_OR_RETURN(const Edge edge, Resolve(ParseReference(reference), scope));
    edges.push_back(edge);
  }
  return edges;
}

Result<Edge> Builder::Resolve(const Reference& reference, Scope* scope) {
  if (!scope->bound.empty()) {
    const auto bound = scope->bound.find(ToString(reference));
    if (bound != scope->bound.end()) return bound->second;
  }
  const auto known = scope->emitted.find(reference.node);
  if (known == scope->emitted.end()) return DataLoss("the graph has no node \"{}{}\"", scope->prefix, reference.node);
  ASSIGN_OR_RETURN(const int index, OutputIndex(reference, *scope));
  const auto at = scope->positions.find(reference.node);
  if (at != scope->positions.end()) {
    if (index >= 0 && index < kOutputsMax) return Edge{at->second, index};
  } else if (static_cast<size_t>(index) < known->second.size() && known->second[static_cast<size_t>(index)].node >= 0) {
    return known->second[static_cast<size_t>(index)];
  }
  return DataLoss("node \"{}{}\" has no output {}", scope->prefix, reference.node, index);
}

Result<int> Builder::OutputIndex(const Reference& reference, const Scope& scope) const {
  const auto def = scope.nodes->find(reference.node);
  if (reference.output_name.empty() || def == scope.nodes->end()) return reference.index;
  const std::string& op = def->second->op();
  static const Attributes kNone;
  const auto at = scope.positions.find(reference.node);
  const Attributes& attributes =
      at == scope.positions.end() ? kNone : scope.into->graph.nodes[static_cast<size_t>(at->second)].attributes;
  const auto function = functions_.find(op);
  const auto offset = function == functions_.end() ? OutputOffset(op, attributes, reference.output_name)
                                                   : ResultOffset(*function->second, reference.output_name);
  if (offset && reference.index < kOutputsMax) return *offset + reference.index;
  return DataLoss("node \"{}{}\" (op \"{}\") has no output \"{}\"", scope.prefix, reference.node, op,
                  reference.output_name);
}

}  // namespace longshore::graph
