// Ops on lists of tensors. The inferred type of a list contains the shape of its elements (Type::element).
#include <algorithm>

#include "serving-node/graph/op_families.h"
#include "serving-node/graph/shapes.h"

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

// The shape that an input holds as its value; -1 is an unknown size. nullopt: not even the rank is known.
std::optional<Shape> ShapeIn(const Type& input) {
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

// The shape of an element read from the list; `expected` is the input with the shape that the reader expects.
std::optional<Shape> Read(const Type& list, const Type& expected) {
  return IsWhole(list.element) ? list.element : ShapeIn(expected);
}

std::vector<Type> FromTensor(const Node&, std::span<const Type> inputs) {
  if (inputs.empty() || !inputs[0].shape || inputs[0].shape->empty()) return {List(std::nullopt)};
  return {List(Shape(inputs[0].shape->begin() + 1, inputs[0].shape->end()))};
}

std::vector<Type> Empty(const Node&, std::span<const Type> inputs) {
  return {List(inputs.empty() ? std::nullopt : ShapeIn(inputs[0]))};
}

// The type of a list with an added or replaced item, which is the last input.
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

constexpr Op kOps[] = {
    {.name = "EmptyTensorList", .type = Empty},       {.name = "TensorListFromTensor", .type = FromTensor},
    {.name = "TensorListGetItem", .type = GetItem},   {.name = "TensorListLength", .type = Length},
    {.name = "TensorListPushBack", .type = WithItem}, {.name = "TensorListReserve", .type = Empty},
    {.name = "TensorListSetItem", .type = WithItem},  {.name = "TensorListStack", .type = Stack},
};

}  // namespace

std::span<const Op> ListOps() { return kOps; }

}  // namespace longshore::graph
