// Ops on strings: texts, serialized examples, encoded images, tables and random numbers. Sizes that depend on the bytes
// of a string, or on other values that only a run knows, are -1.
#include <algorithm>
#include <iterator>

#include "serving-node/graph/array_rules.h"
#include "serving-node/graph/limits.h"
#include "serving-node/graph/op_families.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

// Element-wise functions of the first input, with results of the type T.
template <DType kType>
std::vector<Type> OfFirst(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{kType, inputs[0].shape, std::nullopt}};
}

std::vector<Type> ToNumber(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return {{node.attributes.Type("out_type", DType::kFloat), inputs[0].shape, std::nullopt}};
}

// Substr(text, position, length): the positions are broadcast to the texts, or the other way round.
std::vector<Type> Substring(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.size() < 2 || !inputs[0].shape || !inputs[1].shape) return {{DType::kString, std::nullopt, std::nullopt}};
  return {{DType::kString, Broadcast(*inputs[0].shape, *inputs[1].shape), std::nullopt}};
}

// All inputs have the same shape, apart from scalars.
std::vector<Type> Joined(const Node& /*node*/, std::span<const Type> inputs) {
  std::optional<Shape> shape = Shape{};
  for (const Type& input : inputs) {
    if (!input.shape) return {{DType::kString, std::nullopt, std::nullopt}};
    if (!input.shape->empty()) shape = shape->empty() ? input.shape : EitherShape(shape, input.shape);
    if (!shape) break;
  }
  return {{DType::kString, std::move(shape), std::nullopt}};
}

// The image's height and width are in its bytes. Without the attribute, so is its number of channels.
std::vector<Type> Image(const Node& node, std::span<const Type> /*inputs*/) {
  const int64_t channels = node.attributes.Int("channels", 0);
  const bool may_be_film = node.op == "DecodeImage" && node.attributes.Bool("expand_animations", true);
  const DType type = node.attributes.Type("dtype", DType::kUint8);
  if (may_be_film) return {{type, std::nullopt, std::nullopt}};
  return {{type, Shape{-1, -1, channels > 0 ? channels : -1}, std::nullopt}};
}

std::vector<Type> Film(const Node& /*node*/, std::span<const Type> /*inputs*/) {
  return {{DType::kUint8, Shape{-1, -1, -1, 3}, std::nullopt}};
}

size_t TypesIn(const Node& node, const char* name) {
  const auto* found = node.attributes.Find(name);
  return found == nullptr ? 0 : static_cast<size_t>(found->list().type_size());
}

DType TypeIn(const Node& node, const char* name, size_t i) {
  return static_cast<DType>(node.attributes.Find(name)->list().type(static_cast<int>(i)));
}

// The shape of a dense feature of one example; its first size may be -1.
std::optional<Shape> DenseShape(const Node& node, size_t i) {
  const auto* found = node.attributes.Find("dense_shapes");
  if (found == nullptr || i >= static_cast<size_t>(found->list().shape_size())) return std::nullopt;
  const auto& proto = found->list().shape(static_cast<int>(i));
  if (proto.unknown_rank()) return std::nullopt;
  Shape shape;
  for (const auto& dim : proto.dim()) shape.push_back(dim.size() < 0 ? -1 : dim.size());
  return shape;
}

// The outputs in order: the indices of all sparse features, their values, their shapes; the dense features; the values
// of the ragged features, their row splits. A single example has no batch axis.
std::vector<Type> Examples(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty() || !inputs[0].shape || inputs[0].shape->size() > 1) return {};
  const bool is_batch = inputs[0].shape->size() == 1;
  const size_t sparse = TypesIn(node, "sparse_types"), dense = TypesIn(node, "Tdense");
  const size_t ragged = TypesIn(node, "ragged_value_types");
  if (ragged != TypesIn(node, "ragged_split_types") || sparse + dense + ragged > kOutputsMax / 3) return {};
  const int64_t rank = is_batch ? 2 : 1;
  std::vector<Type> types(sparse, {DType::kInt64, Shape{-1, rank}, std::nullopt});
  for (size_t i = 0; i < sparse; ++i) types.push_back({TypeIn(node, "sparse_types", i), Shape{-1}, std::nullopt});
  for (size_t i = 0; i < sparse; ++i) types.push_back({DType::kInt64, Shape{rank}, std::nullopt});
  for (size_t i = 0; i < dense; ++i) {
    auto shape = DenseShape(node, i);
    if (shape && is_batch) shape->insert(shape->begin(), inputs[0].shape->front());
    types.push_back({TypeIn(node, "Tdense", i), std::move(shape), std::nullopt});
  }
  for (size_t i = 0; i < ragged; ++i) types.push_back({TypeIn(node, "ragged_value_types", i), Shape{-1}, std::nullopt});
  const int64_t rows = is_batch ? inputs[0].shape->front() : -1;
  const Shape splits = {!is_batch ? 0 : rows < 0 ? -1 : rows + 1};
  for (size_t i = 0; i < ragged; ++i) types.push_back({TypeIn(node, "ragged_split_types", i), splits, std::nullopt});
  return types;
}

// A table's type says the shape of one value, as the type of a list says that of an element.
std::vector<Type> ScalarTable(const Node& /*node*/, std::span<const Type> /*inputs*/) {
  return {{.type = DType::kResource, .shape = Shape{}, .value = std::nullopt, .element = Shape{}}};
}

std::vector<Type> Found(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.size() < 3) return {};
  Type type{inputs[2].type, std::nullopt, std::nullopt};
  if (!inputs[0].element || !inputs[1].shape) return {std::move(type)};
  type.shape = inputs[1].shape;
  type.shape->insert(type.shape->end(), inputs[0].element->begin(), inputs[0].element->end());
  return {std::move(type)};
}

// Random numbers of the shape that the first input holds. Integers have the type of their limits, inputs 1 and 2.
std::vector<Type> Random(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  const bool is_integer = node.op == "RandomUniformInt";
  const DType type = is_integer ? At(inputs, 1).type : node.attributes.Type("dtype", DType::kFloat);
  auto shape = VectorIn(inputs[0]);
  if (shape && std::ranges::any_of(*shape, [](int64_t size) { return size < 0; })) shape.reset();
  return {{type, std::move(shape), std::nullopt}};
}

constexpr Op kOps[] = {
    {.name = "AsString", .type = OfFirst<DType::kString>, .flops = NoFlops},
    {.name = "Bucketize", .type = OfFirst<DType::kInt32>},
    {.name = "DecodeAndCropJpeg", .type = Image},
    {.name = "DecodeBase64", .type = LikeFirst, .flops = NoFlops},
    {.name = "DecodeBmp", .type = Image},
    {.name = "DecodeGif", .type = Film},
    {.name = "DecodeImage", .type = Image},
    {.name = "DecodeJpeg", .type = Image},
    {.name = "DecodePng", .type = Image},
    {.name = "EncodeBase64", .type = LikeFirst, .flops = NoFlops},
    {.name = "HashTable", .type = ScalarTable},
    {.name = "HashTableV2", .type = ScalarTable},
    {.name = "LookupTableFind", .type = Found, .flops = NoFlops},
    {.name = "LookupTableFindV2", .type = Found, .flops = NoFlops},
    {.name = "ParseExample", .type = Examples, .flops = NoFlops},
    {.name = "ParseExampleV2", .type = Examples, .flops = NoFlops},
    {.name = "RandomStandardNormal", .type = Random},
    {.name = "RandomUniform", .type = Random},
    {.name = "RandomUniformInt", .type = Random},
    {.name = "RegexFullMatch", .type = OfFirst<DType::kBool>},
    {.name = "RegexReplace", .type = LikeFirst},
    {.name = "StatelessRandomNormal", .type = Random},
    {.name = "StatelessRandomNormalV2", .type = Random},
    {.name = "StatelessRandomUniform", .type = Random},
    {.name = "StatelessRandomUniformV2", .type = Random},
    {.name = "StatelessTruncatedNormal", .type = Random},
    {.name = "StatelessTruncatedNormalV2", .type = Random},
    {.name = "StaticRegexFullMatch", .type = OfFirst<DType::kBool>},
    {.name = "StaticRegexReplace", .type = LikeFirst},
    {.name = "StringJoin", .type = Joined},
    {.name = "StringLength", .type = OfFirst<DType::kInt32>},
    {.name = "StringLower", .type = LikeFirst},
    {.name = "StringStrip", .type = LikeFirst},
    {.name = "StringToHashBucket", .type = OfFirst<DType::kInt64>},
    {.name = "StringToHashBucketFast", .type = OfFirst<DType::kInt64>},
    {.name = "StringToHashBucketStrong", .type = OfFirst<DType::kInt64>},
    {.name = "StringToNumber", .type = ToNumber},
    {.name = "StringUpper", .type = LikeFirst},
    {.name = "Substr", .type = Substring},
    {.name = "TruncatedNormal", .type = Random},
    {.name = "UnicodeScript", .type = OfFirst<DType::kInt32>},
    {.name = "UnicodeTranscode", .type = LikeFirst},
};

}  // namespace

std::span<const Op> TextOps() { return kOps; }

}  // namespace longshore::graph
