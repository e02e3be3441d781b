#include "serving-node/graph/outputs.h"

#include <map>
#include <string_view>

#include "serving-node/graph/limits.h"
#include "serving-node/tensor/proto.h"

namespace longshore::graph {
namespace {

using tensor::DType;

struct Output {
  std::string_view name;
  // The attribute that determines how many tensors the output has: it is this number, or a list of this length.
  // nullptr: one tensor.
  const char* count = nullptr;
};
using Outputs = std::vector<Output>;

// Returns nullptr for an op that is not listed here. Every such op that has a kernel has one output, which is one
// tensor.
const Outputs* OutputsOf(const std::string& op) {
  static const std::map<std::string_view, Outputs> kOutputs = {
      {"Assert", {}},
      {"AssignVariableOp", {}},
      {"BlockLSTM", {{"i"}, {"cs"}, {"f"}, {"o"}, {"ci"}, {"co"}, {"h"}}},
      {"BlockLSTMV2", {{"i"}, {"cs"}, {"f"}, {"o"}, {"ci"}, {"co"}, {"h"}}},
      {"Case", {{"output", "Tout"}}},
      {"CombinedNonMaxSuppression", {{"nmsed_boxes"}, {"nmsed_scores"}, {"nmsed_classes"}, {"valid_detections"}}},
      {"DecodeCSV", {{"output", "OUT_TYPE"}}},
      {"DynamicPartition", {{"outputs", "num_partitions"}}},
      {"FusedBatchNorm", {{"y"}, {"batch_mean"}, {"batch_variance"}, {"reserve_space_1"}, {"reserve_space_2"}}},
      {"FusedBatchNormV2", {{"y"}, {"batch_mean"}, {"batch_variance"}, {"reserve_space_1"}, {"reserve_space_2"}}},
      {"FusedBatchNormV3",
       {{"y"}, {"batch_mean"}, {"batch_variance"}, {"reserve_space_1"}, {"reserve_space_2"}, {"reserve_space_3"}}},
      {"GRUBlockCell", {{"r"}, {"u"}, {"c"}, {"h"}}},
      {"IdentityN", {{"output", "T"}}},
      {"If", {{"output", "Tout"}}},
      {"InitializeTable", {}},
      {"InitializeTableFromTextFile", {}},
      {"InitializeTableFromTextFileV2", {}},
      {"InitializeTableV2", {}},
      {"LSTMBlockCell", {{"i"}, {"cs"}, {"f"}, {"o"}, {"ci"}, {"co"}, {"h"}}},
      {"ListDiff", {{"out"}, {"idx"}}},
      {"LookupTableExport", {{"keys"}, {"values"}}},
      {"LookupTableExportV2", {{"keys"}, {"values"}}},
      {"LookupTableImport", {}},
      {"LookupTableImportV2", {}},
      {"LookupTableInsert", {}},
      {"LookupTableInsertV2", {}},
      {"LookupTableRemoveV2", {}},
      {"MaxPoolWithArgmax", {{"output"}, {"argmax"}}},
      {"Merge", {{"output"}, {"value_index"}}},
      {"NoOp", {}},
      {"NonMaxSuppressionV4", {{"selected_indices"}, {"valid_outputs"}}},
      {"NonMaxSuppressionV5", {{"selected_indices"}, {"selected_scores"}, {"valid_outputs"}}},
      {"ParseExample",
       {{"sparse_indices", "Nsparse"},
        {"sparse_values", "sparse_types"},
        {"sparse_shapes", "Nsparse"},
        {"dense_values", "Tdense"}}},
      {"ParseExampleV2",
       {{"sparse_indices", "num_sparse"},
        {"sparse_values", "sparse_types"},
        {"sparse_shapes", "num_sparse"},
        {"dense_values", "Tdense"},
        {"ragged_values", "ragged_value_types"},
        {"ragged_row_splits", "ragged_split_types"}}},
      {"QuantizeV2", {{"output"}, {"output_min"}, {"output_max"}}},
      {"RaggedGather", {{"output_nested_splits", "OUTPUT_RAGGED_RANK"}, {"output_dense_values"}}},
      {"RaggedRange", {{"rt_nested_splits"}, {"rt_dense_values"}}},
      {"RaggedTensorToSparse", {{"sparse_indices"}, {"sparse_values"}, {"sparse_dense_shape"}}},
      {"RefMerge", {{"output"}, {"value_index"}}},
      {"RefSwitch", {{"output_false"}, {"output_true"}}},
      {"RestoreV2", {{"tensors", "dtypes"}}},
      {"ShapeN", {{"output", "N"}}},
      {"SparseConcat", {{"output_indices"}, {"output_values"}, {"output_shape"}}},
      {"SparseFillEmptyRows", {{"output_indices"}, {"output_values"}, {"empty_row_indicator"}, {"reverse_index_map"}}},
      {"SparseReorder", {{"output_indices"}, {"output_values"}}},
      {"SparseReshape", {{"output_indices"}, {"output_shape"}}},
      {"SparseSlice", {{"output_indices"}, {"output_values"}, {"output_shape"}}},
      {"Split", {{"output", "num_split"}}},
      {"SplitV", {{"output", "num_split"}}},
      {"StatelessCase", {{"output", "Tout"}}},
      {"StatelessIf", {{"output", "Tout"}}},
      {"StatelessRandomGetKeyCounter", {{"key"}, {"counter"}}},
      {"StatelessRandomGetKeyCounterAlg", {{"key"}, {"counter"}, {"alg"}}},
      {"StatelessWhile", {{"output", "T"}}},
      {"StringNGrams", {{"ngrams"}, {"ngrams_splits"}}},
      {"StringSplit", {{"indices"}, {"values"}, {"shape"}}},
      {"StringSplitV2", {{"indices"}, {"values"}, {"shape"}}},
      {"Switch", {{"output_false"}, {"output_true"}}},
      {"TensorArrayCloseV3", {}},
      {"TensorArrayConcatV3", {{"value"}, {"lengths"}}},
      {"TensorArrayV3", {{"handle"}, {"flow"}}},
      {"TensorListConcat", {{"tensor"}, {"lengths"}}},
      {"TensorListConcatV2", {{"tensor"}, {"lengths"}}},
      {"TensorListPopBack", {{"output_handle"}, {"tensor"}}},
      {"TopKV2", {{"values"}, {"indices"}}},
      {"UnicodeDecode", {{"row_splits"}, {"char_values"}}},
      {"UnicodeDecodeWithOffsets", {{"row_splits"}, {"char_values"}, {"char_to_byte_starts"}}},
      {"Unique", {{"y"}, {"idx"}}},
      {"UniqueV2", {{"y"}, {"idx"}}},
      {"UniqueWithCounts", {{"y"}, {"idx"}, {"count"}}},
      {"UniqueWithCountsV2", {{"y"}, {"idx"}, {"count"}}},
      {"Unpack", {{"output", "num"}}},
      {"While", {{"output", "T"}}},
  };
  const auto found = kOutputs.find(op);
  return found == kOutputs.end() ? nullptr : &found->second;
}

// The attribute with the element type of the only or first output; nullptr for an op that is not listed.
const char* TypeAttributeOf(const std::string& op) {
  static const std::map<std::string_view, const char*> kAttributes = {
      {"Add", "T"},
      {"AddV2", "T"},
      {"BiasAdd", "T"},
      {"Cast", "DstT"},
      {"CheckNumerics", "T"},
      {"ConcatV2", "T"},
      {"Const", "dtype"},
      {"Conv2D", "T"},
      {"DecodeRaw", "out_type"},
      {"ExpandDims", "T"},
      {"Identity", "T"},
      {"MatMul", "T"},
      {"Mul", "T"},
      {"Placeholder", "dtype"},
      {"PlaceholderV2", "dtype"},
      {"PlaceholderWithDefault", "dtype"},
      {"PreventGradient", "T"},
      {"ReadVariableOp", "dtype"},
      {"RealDiv", "T"},
      {"Relu", "T"},
      {"Reshape", "T"},
      {"Sigmoid", "T"},
      {"Snapshot", "T"},
      {"Softmax", "T"},
      {"Squeeze", "T"},
      {"StopGradient", "T"},
      {"Sub", "T"},
      {"Tanh", "T"},
      {"Transpose", "T"},
  };
  const auto found = kAttributes.find(op);
  return found == kAttributes.end() ? nullptr : found->second;
}

std::optional<DType> KnownType(tensorflow::DataType type) {
  return type == tensorflow::DT_INVALID ? std::nullopt : std::optional(tensor::FromProto(type));
}

int64_t CountOf(const Output& output, const Attributes& attributes) {
  if (output.count == nullptr) return 1;
  const auto* value = attributes.Find(output.count);
  const int64_t count = value == nullptr ? 0 : value->has_list() ? value->list().type_size() : value->i();
  return count < 0 || count > kOutputsMax ? 0 : count;
}

// A node with bodies has as many outputs as its last body. They are counted there, because nodes made from TensorFlow 1
// control flow have no "Tout" attribute. IdentityN has an output for each input, and RemoveIdentities relies on that.
int64_t CountOutputs(const Node& node, const std::vector<Graph>& bodies) {
  if (!node.values.empty()) return std::ssize(node.values);
  if (!node.bodies.empty()) return std::ssize(bodies[static_cast<size_t>(node.bodies.back())].outputs);
  if (node.op == "IdentityN") return std::ssize(node.inputs);
  const Outputs* outputs = OutputsOf(node.op);
  if (outputs == nullptr) return 1;
  int64_t count = 0;
  for (const Output& output : *outputs) count += CountOf(output, node.attributes);
  return count;
}

Status CheckOutputsOfOne(const Graph& graph, const std::vector<Graph>& bodies) {
  std::vector<int64_t> counts;
  for (const Node& node : graph.nodes) counts.push_back(CountOutputs(node, bodies));
  const auto check = [&](const Edge& edge, const std::string& reader) -> Status {
    const auto at = static_cast<size_t>(edge.node);
    if (edge.output >= 0 && edge.output < counts[at]) return {};
    return InvalidArgument("{} reads output {} of node \"{}\" (op \"{}\"), which has {} output(s)", reader, edge.output,
                           graph.nodes[at].name, graph.nodes[at].op, counts[at]);
  };
  for (const Node& node : graph.nodes) {
    for (const Edge& input : node.inputs) RETURN_IF_ERROR(check(input, fmt::format("node \"{}\"", node.name)));
  }
  for (const Edge& output : graph.outputs) RETURN_IF_ERROR(check(output, "a result of the graph"));
  return {};
}

}  // namespace

std::optional<int> OutputOffset(const std::string& op, const Attributes& attributes, const std::string& output_name) {
  const Outputs* outputs = OutputsOf(op);
  if (outputs == nullptr) return 0;
  int64_t offset = 0;
  for (const Output& output : *outputs) {
    if (output.name == output_name) return static_cast<int>(offset);
    offset += CountOf(output, attributes);
  }
  return std::nullopt;
}

std::optional<DType> OutputType(const std::string& op, const Attributes& attributes, int output) {
  if (const char* attribute = TypeAttributeOf(op); attribute != nullptr) {
    const DType type = output == 0 ? attributes.Type(attribute) : DType::kInvalid;
    return type == DType::kInvalid ? std::nullopt : std::optional(type);
  }
  const Outputs* outputs = OutputsOf(op);
  if (outputs == nullptr || output < 0) return std::nullopt;
  int64_t at = output;  // The position among the tensors of the named output.
  for (const Output& named : *outputs) {
    const int64_t count = CountOf(named, attributes);
    const auto* list = named.count == nullptr ? nullptr : attributes.Find(named.count);
    if (at < count && list != nullptr && at < list->list().type_size())
      return KnownType(list->list().type(static_cast<int>(at)));
    if (at < count) return std::nullopt;
    at -= count;
  }
  return std::nullopt;
}

Status CheckOutputs(const Graph& graph) {
  RETURN_IF_ERROR(CheckOutputsOfOne(graph, graph.bodies));
  for (const Graph& body : graph.bodies) RETURN_IF_ERROR(CheckOutputsOfOne(body, graph.bodies));
  return {};
}

}  // namespace longshore::graph
