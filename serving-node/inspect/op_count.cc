#include "serving-node/inspect/op_count.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "serving-node/graph/names.h"

namespace longshore::inspect {
namespace {

using tensorflow::NodeDef;
constexpr char kTrainSignature[] = "__saved_model_train_op";

class OpCounter {
 public:
  explicit OpCounter(const tensorflow::GraphDef& graph) {
    for (const auto& node : graph.node()) nodes_[node.name()] = &node;
    for (const auto& function : graph.library().function()) functions_[function.signature().name()] = &function;
  }

  // Counts the node of this tensor and everything that it needs. `tensor` is a reference in the main graph: "node:1",
  // "^node" or "node".
  void AddTensor(const std::string& tensor) {
    std::vector<std::string> todo = {tensor};
    while (!todo.empty()) {
      const std::string name = graph::ParseReference(todo.back()).node;
      todo.pop_back();
      const auto found = nodes_.find(name);
      if (found == nodes_.end() || !seen_nodes_.insert(name).second) continue;
      Add(*found->second);
      todo.insert(todo.end(), found->second->input().begin(), found->second->input().end());
    }
  }

  std::vector<OpCount> Result() const {
    std::vector<OpCount> counts;
    for (const auto& [op, nodes] : counts_) counts.push_back({op, nodes});
    return counts;
  }

 private:
  void Add(const NodeDef& node) {
    std::vector<const NodeDef*> todo = {&node};
    while (!todo.empty()) {
      const NodeDef& next = *todo.back();
      todo.pop_back();
      const bool is_call = next.op() == "PartitionedCall" || next.op() == "StatefulPartitionedCall";
      if (!is_call && !functions_.contains(next.op())) ++counts_[next.op()];
      for (const auto& name : FunctionsOf(next)) {
        const auto function = functions_.find(name);
        if (function == functions_.end() || !seen_functions_.insert(name).second) continue;
        for (const auto& inner : function->second->node_def()) todo.push_back(&inner);
      }
    }
  }

  static std::vector<std::string> FunctionsOf(const NodeDef& node) {
    std::vector<std::string> names = {node.op()};
    for (const auto& [_, value] : node.attr()) {
      if (value.has_func()) names.push_back(value.func().name());
      for (const auto& function : value.list().func()) names.push_back(function.name());
    }
    return names;
  }

  std::unordered_map<std::string, const NodeDef*> nodes_;
  std::unordered_map<std::string, const tensorflow::FunctionDef*> functions_;
  std::unordered_set<std::string> seen_nodes_;
  std::unordered_set<std::string> seen_functions_;
  std::map<std::string, int> counts_;
};

}  // namespace

std::vector<OpCount> CountOps(const tensorflow::MetaGraphDef& meta) {
  OpCounter counter(meta.graph_def());
  for (const auto& [name, signature] : meta.signature_def()) {
    if (name == kTrainSignature) continue;
    for (const auto& [_, info] : signature.inputs()) counter.AddTensor(info.name());
    for (const auto& [_, info] : signature.outputs()) counter.AddTensor(info.name());
  }
  for (const char* name : {"saved_model_main_op", "legacy_init_op"}) {
    const auto collection = meta.collection_def().find(name);
    if (collection == meta.collection_def().end()) continue;
    for (const auto& node : collection->second.node_list().value()) counter.AddTensor(node);
  }
  counter.AddTensor(meta.saver_def().restore_op_name());
  return counter.Result();
}

}  // namespace longshore::inspect
