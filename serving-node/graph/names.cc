#include "serving-node/graph/names.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <vector>

namespace longshore::graph {
namespace {

// Returns false and leaves `index` alone when the text is no number.
bool ParseIndex(std::string_view text, int* index) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return false;
  *index = value;
  return true;
}

int ListSize(const Attributes& attributes, const std::string& name) {
  const auto* list = attributes.Find(name);
  return list == nullptr ? 0 : list->list().type_size();
}

int ExampleOffset(const Attributes& attributes, const std::string& output_name) {
  const int sparse = ListSize(attributes, "sparse_types");
  const int dense = ListSize(attributes, "Tdense");
  const int ragged = ListSize(attributes, "ragged_value_types");
  int offset = 0;
  for (const auto& [name, count] : {std::pair{"sparse_indices", sparse},
                                    {"sparse_values", sparse},
                                    {"sparse_shapes", sparse},
                                    {"dense_values", dense},
                                    {"ragged_values", ragged}}) {
    if (output_name == name) return offset;
    offset += count;
  }
  return offset;
}

}  // namespace

Reference ParseReference(std::string_view text) {
  Reference reference;
  if (text.starts_with('^')) {
    reference.control = true;
    text.remove_prefix(1);
  }
  const size_t first = text.find(':');
  reference.node = text.substr(0, first);
  if (first == std::string_view::npos) return reference;
  std::string_view rest = text.substr(first + 1);
  if (ParseIndex(rest, &reference.index)) return reference;
  const size_t second = rest.find(':');
  reference.output_name = rest.substr(0, second);
  if (second != std::string_view::npos) ParseIndex(rest.substr(second + 1), &reference.index);
  return reference;
}

std::string ToString(const Reference& reference) {
  if (reference.control) return "^" + reference.node;
  const std::string node =
      reference.output_name.empty() ? reference.node : reference.node + ":" + reference.output_name;
  return fmt::format("{}:{}", node, reference.index);
}

std::string_view WithoutRef(std::string_view op) {
  for (const std::string_view known :
       {"RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity"})
    if (op == known) return op.substr(3);
  return op;
}

int OutputOffset(const std::string& op, const Attributes& attributes, const std::string& output_name) {
  if (op == "ParseExample" || op == "ParseExampleV2") return ExampleOffset(attributes, output_name);
  if (op == "RaggedGather" && output_name == "output_dense_values")
    return static_cast<int>(attributes.Int("OUTPUT_RAGGED_RANK", 0));
  static const std::map<std::string, std::vector<std::string>> kOutputs = {
      {"FusedBatchNorm", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV2", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"}},
      {"FusedBatchNormV3",
       {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"TopKV2", {"values", "indices"}},
      {"TopK", {"values", "indices"}},
      {"ListDiff", {"out", "idx"}},
      {"Unique", {"y", "idx"}},
      {"UniqueV2", {"y", "idx"}},
      {"UniqueWithCounts", {"y", "idx", "count"}},
      {"UniqueWithCountsV2", {"y", "idx", "count"}},
      {"LookupTableExport", {"keys", "values"}},
      {"LookupTableExportV2", {"keys", "values"}},
      {"RaggedRange", {"rt_nested_splits", "rt_dense_values"}},
      {"RaggedTensorToSparse", {"sparse_indices", "sparse_values", "sparse_dense_shape"}},
      {"SparseConcat", {"output_indices", "output_values", "output_shape"}},
      {"SparseFillEmptyRows", {"output_indices", "output_values", "empty_row_indicator", "reverse_index_map"}},
      {"SparseReorder", {"output_indices", "output_values"}},
      {"SparseReshape", {"output_indices", "output_shape"}},
      {"SparseSlice", {"output_indices", "output_values", "output_shape"}},
      {"StringNGrams", {"ngrams", "ngrams_splits"}},
      {"StringSplit", {"indices", "values", "shape"}},
      {"StringSplitV2", {"indices", "values", "shape"}},
      {"UnicodeDecode", {"row_splits", "char_values"}},
      {"UnicodeDecodeWithOffsets", {"row_splits", "char_values", "char_to_byte_starts"}},
      {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"MaxPoolWithArgmax", {"output", "argmax"}},
      {"Switch", {"output_false", "output_true"}},
      {"RefSwitch", {"output_false", "output_true"}},
      {"Merge", {"output", "value_index"}},
      {"RefMerge", {"output", "value_index"}},
      {"TensorListPopBack", {"output_handle", "tensor"}},
      {"TensorListConcat", {"tensor", "lengths"}},
      {"TensorListConcatV2", {"tensor", "lengths"}},
      {"TensorArrayV3", {"handle", "flow"}},
      {"TensorArrayConcatV3", {"value", "lengths"}},
  };
  const auto op_outputs = kOutputs.find(op);
  if (op_outputs == kOutputs.end()) return 0;
  for (size_t i = 0; i < op_outputs->second.size(); ++i) {
    if (op_outputs->second[i] == output_name) return static_cast<int>(i);
  }
  return 0;
}

}  // namespace longshore::graph
