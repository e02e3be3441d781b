// Lists of tensors: what is known of their elements.
#include <algorithm>
#include <unordered_map>

#include "serving-node/graph/type_rules.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

Type List(std::optional<Shape> element) {
  return {.type = DType::kVariant, .shape = Shape{}, .value = std::nullopt, .element = std::move(element)};
}

Type Element(const Node& node, std::optional<Shape> shape) {
  return {.type = node.attributes.Type("element_dtype"), .shape = std::move(shape), .value = std::nullopt};
}

// The sizes that an input says, -1 where any will do; nullopt for any number of them.
std::optional<Shape> Said(const Type& input) {
  if (!input.value || input.value->rank() != 1) return std::nullopt;
  Shape sizes;
  if (input.value->type() == DType::kInt32) {
    std::ranges::copy(input.value->values<int32_t>(), std::back_inserter(sizes));
  } else if (input.value->type() == DType::kInt64) {
    std::ranges::copy(input.value->values<int64_t>(), std::back_inserter(sizes));
  } else {
    return std::nullopt;
  }
  return sizes;
}

bool IsWhole(const std::optional<Shape>& shape) {
  return shape && std::ranges::none_of(*shape, [](int64_t size) { return size < 0; });
}

// Of an element of the list that is read with that shape.
std::optional<Shape> Read(const Type& list, const Type& said) {
  return IsWhole(list.element) ? list.element : Said(said);
}

std::vector<Type> FromTensor(const Node&, std::span<const Type> inputs) {
  if (inputs.empty() || !inputs[0].shape || inputs[0].shape->empty()) return {List(std::nullopt)};
  return {List(Shape(inputs[0].shape->begin() + 1, inputs[0].shape->end()))};
}

std::vector<Type> Empty(const Node&, std::span<const Type> inputs) {
  return {List(inputs.empty() ? std::nullopt : Said(inputs[0]))};
}

// The item is the last input.
std::vector<Type> WithItem(const Node&, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  return {List(EitherShape(inputs[0].element, inputs.back().shape))};
}

std::vector<Type> GetItem(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 3) return {};
  return {Element(node, Read(inputs[0], inputs[2]))};
}

std::vector<Type> Stack(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  std::optional<Shape> shape = Read(inputs[0], inputs[1]);
  if (shape) shape->insert(shape->begin(), node.attributes.Int("num_elements", -1));
  return {Element(node, std::move(shape))};
}

std::vector<Type> Length(const Node&, std::span<const Type>) {
  return {{.type = DType::kInt32, .shape = Shape{}, .value = std::nullopt}};
}

}  // namespace

TypeRule FindListRule(std::string_view op) {
  static const std::unordered_map<std::string_view, TypeRule> kRules = {
      {"EmptyTensorList", Empty},       {"TensorListFromTensor", FromTensor},
      {"TensorListGetItem", GetItem},   {"TensorListLength", Length},
      {"TensorListPushBack", WithItem}, {"TensorListReserve", Empty},
      {"TensorListSetItem", WithItem},  {"TensorListStack", Stack}};
  const auto found = kRules.find(op);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace longshore::graph
