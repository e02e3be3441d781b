// Reads the specification of a ParseExample node from its attributes and keys.
#include "serving-node/engine/kernels/text/examples.h"
#include "serving-node/engine/kernels/text/families.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::kernels::text {
namespace {

// Returns the types in a list attribute; an empty list if the attribute is absent.
std::vector<DType> TypesOf(const graph::Attributes& attributes, const std::string& name) {
  std::vector<DType> types;
  if (const auto* found = attributes.Find(name)) {
    for (const int type : found->list().type())
      types.push_back(tensor::FromProto(static_cast<tensorflow::DataType>(type)));
  }
  return types;
}

Result<std::vector<std::string>> KeysOf(const Tensor& tensor, size_t wanted) {
  if (tensor.type() != DType::kString || static_cast<size_t>(tensor.elements()) != wanted) {
    return InvalidArgument("{} keys of {} do not match {} features", tensor.elements(), DTypeName(tensor.type()),
                           wanted);
  }
  return std::vector<std::string>(tensor.values<std::string>().begin(), tensor.values<std::string>().end());
}

Result<DenseFeature> DenseFeatureOf(std::string key, DType type, const tensorflow::TensorShapeProto& shape,
                                    const Tensor& default_value) {
  DenseFeature dense{
      .key = std::move(key), .type = type, .shape = {}, .is_variable = false, .default_value = default_value};
  for (int i = 0; i < shape.dim_size(); ++i) {
    const int64_t size = shape.dim(i).size();
    if (i == 0 && size < 0)
      dense.is_variable = true;
    else if (size < 0)
      return InvalidArgument("feature \"{}\": only the first dimension may be unknown", dense.key);
    else
      dense.shape.push_back(size);
  }
  if (dense.is_variable && default_value.elements() != 1) {
    return InvalidArgument("feature \"{}\": its variable length needs one default value, not {}", dense.key,
                           default_value.elements());
  }
  if (default_value.type() != type) {
    return InvalidArgument("feature \"{}\": the default is of {} instead of {}", dense.key,
                           DTypeName(default_value.type()), DTypeName(type));
  }
  return dense;
}

// Reads the keys of a ParseExample node, which has one scalar input per feature. (ParseExampleV2 has one vector for
// all.)
Result<std::vector<std::string>> Scalars(std::span<const Tensor> inputs) {
  std::vector<std::string> keys;
  for (const Tensor& input : inputs) {
    ASSIGN_OR_RETURN(auto key, KeysOf(input, 1));
    keys.push_back(std::move(key[0]));
  }
  return keys;
}

Result<std::vector<ListFeature>> ListFeaturesOf(const std::vector<std::string>& keys, const std::vector<DType>& types,
                                                const std::vector<DType>& splits) {
  std::vector<ListFeature> all;
  if (keys.size() != types.size()) return InvalidArgument("{} keys do not match {} types", keys.size(), types.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    all.push_back({keys[i], types[i], i < splits.size() ? splits[i] : DType::kInt64});
  }
  return all;
}

Result<std::vector<DenseFeature>> DenseFeaturesOf(const graph::Attributes& attributes,
                                                  const std::vector<std::string>& keys,
                                                  std::span<const Tensor> defaults) {
  const auto types = TypesOf(attributes, "Tdense");
  const auto* shapes = attributes.Find("dense_shapes");
  if (keys.size() != types.size() || keys.size() != defaults.size() ||
      (shapes == nullptr ? 0 : shapes->list().shape_size()) != static_cast<int>(keys.size())) {
    return InvalidArgument("{} dense keys do not match {} types, their shapes or {} defaults", keys.size(),
                           types.size(), defaults.size());
  }
  std::vector<DenseFeature> all;
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSIGN_OR_RETURN(DenseFeature dense,
                     DenseFeatureOf(keys[i], types[i], shapes->list().shape(static_cast<int>(i)), defaults[i]));
    all.push_back(std::move(dense));
  }
  return all;
}

Outputs ParseExample(const Call& call) {
  const auto sparse_types = TypesOf(call.attributes(), "sparse_types");
  if (call.in(0).rank() != 1)
    return InvalidArgument("Expected serialized to be a vector, got shape: {}", ToString(call.in(0).shape()));
  const size_t sparse = sparse_types.size(), dense = TypesOf(call.attributes(), "Tdense").size();
  if (call.inputs.size() != 2 + sparse + 2 * dense) {
    return InvalidArgument("{} inputs do not match {} sparse and {} dense features", call.inputs.size(), sparse, dense);
  }
  Spec spec;
  ASSIGN_OR_RETURN(const auto sparse_keys, Scalars(call.inputs.subspan(2, sparse)));
  ASSIGN_OR_RETURN(const auto dense_keys, Scalars(call.inputs.subspan(2 + sparse, dense)));
  ASSIGN_OR_RETURN(spec.sparse, ListFeaturesOf(sparse_keys, sparse_types, {}));
  ASSIGN_OR_RETURN(spec.dense, DenseFeaturesOf(call.attributes(), dense_keys, call.inputs.subspan(2 + sparse + dense)));
  return ReadExamples(call, spec);
}

Outputs ParseExampleV2(const Call& call) {
  const auto& attributes = call.attributes();
  const auto sparse_types = TypesOf(attributes, "sparse_types"),
             ragged_types = TypesOf(attributes, "ragged_value_types");
  Spec spec;
  ASSIGN_OR_RETURN(const auto sparse_keys, KeysOf(call.in(2), sparse_types.size()));
  ASSIGN_OR_RETURN(const auto dense_keys, KeysOf(call.in(3), TypesOf(attributes, "Tdense").size()));
  ASSIGN_OR_RETURN(const auto ragged_keys, KeysOf(call.in(4), ragged_types.size()));
  ASSIGN_OR_RETURN(spec.sparse, ListFeaturesOf(sparse_keys, sparse_types, {}));
  ASSIGN_OR_RETURN(spec.dense, DenseFeaturesOf(attributes, dense_keys, call.inputs.subspan(5)));
  ASSIGN_OR_RETURN(spec.ragged, ListFeaturesOf(ragged_keys, ragged_types, TypesOf(attributes, "ragged_split_types")));
  return ReadExamples(call, spec);
}

Status CheckTypes(const graph::Node& node) {
  for (const char* list : {"sparse_types", "Tdense", "ragged_value_types"}) {
    for (const DType type : TypesOf(node.attributes, list)) {
      if (type == DType::kFloat || type == DType::kInt64 || type == DType::kString) continue;
      return Unimplemented("{} with features of {}", node.op, DTypeName(type));
    }
  }
  return {};
}

constexpr Kernel kKernels[] = {
    {.op = "ParseExample", .compute = ParseExample, .inputs_min = 2, .check = CheckTypes},
    {.op = "ParseExampleV2", .compute = ParseExampleV2, .inputs_min = 5, .check = CheckTypes},
};

}  // namespace

std::span<const Kernel> ExampleKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text
