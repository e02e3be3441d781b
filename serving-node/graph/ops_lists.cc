// Ops on lists of tensors. The inferred type of a list contains the shape of its elements (Type::element).
#include <algorithm>

#include "serving-node/graph/op_families.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;

Type List(std::optional<Shape> element, std::optional<int64_t> length) {
  return {.type = DType::kVariant,
          .shape = Shape{},
          .value = std::nullopt,
          .element = std::move(element),
          .length = length};
}

Type Element(const Node& node, std::optional<Shape> shape) {
  return {.type = node.attributes.Type("element_dtype"), .shape = std::move(shape), .value = std::nullopt};
}

// The shape that an input holds as its value; -1 is an unknown size. nullopt: not even the rank is known.
std::optional<Shape> ShapeIn(const Type& input) {
  if (!input.value || input.value->rank() != 1) return std::nullopt;
  return IntsIn(input);
}

std::optional<int64_t> LengthOf(int64_t size) { return size < 0 ? std::nullopt : std::optional(size); }

// The shape of an element read from the list; `expected` is the input with the shape that the reader expects. A tensor
// that was not set has the expected shape.
std::optional<Shape> Read(const Type& list, const Type& expected) {
  const auto shape = ShapeIn(expected);
  if (!IsWhole(list.element)) return shape;
  return IsWhole(shape) && shape != list.element ? std::nullopt : list.element;
}

std::vector<Type> FromTensor(const Node&, std::span<const Type> inputs) {
  if (inputs.empty() || !inputs[0].shape || inputs[0].shape->empty()) return {List(std::nullopt, std::nullopt)};
  const Shape& rows = *inputs[0].shape;
  return {List(Shape(rows.begin() + 1, rows.end()), LengthOf(rows.front()))};
}

// An empty list, or one with places for a number of tensors.
std::vector<Type> Unset(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  const auto count = IntsIn(inputs[1]);
  const bool is_empty = node.op == "EmptyTensorList";
  Type list = List(ShapeIn(inputs[0]), is_empty ? std::optional<int64_t>(0) : std::nullopt);
  if (!is_empty && count && count->size() == 1) list.length = LengthOf(count->front());
  list.is_unset = true;
  return {std::move(list)};
}

// The shape of the elements of a list with another one.
std::optional<Shape> ElementWith(const Type& list, const Type& item) {
  if (!list.is_unset) return EitherShape(list.element, item.shape);
  return item.shape && !IsWhole(list.element) ? item.shape : list.element;
}

std::vector<Type> WithSetItem(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 3) return {};
  const bool may_grow = node.attributes.Bool("resize_if_index_out_of_bounds", false);
  return {List(ElementWith(inputs[0], inputs[2]), may_grow ? std::nullopt : inputs[0].length)};
}

std::vector<Type> WithPushedItem(const Node&, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  const auto& length = inputs[0].length;
  return {List(ElementWith(inputs[0], inputs[1]), length ? std::optional(*length + 1) : std::nullopt)};
}

std::vector<Type> GetItem(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 3) return {};
  return {Element(node, Read(inputs[0], inputs[2]))};
}

std::vector<Type> Stack(const Node& node, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  std::optional<Shape> shape = Read(inputs[0], inputs[1]);
  const int64_t wanted = node.attributes.Int("num_elements", -1);
  if (shape) shape->insert(shape->begin(), wanted >= 0 ? wanted : inputs[0].length.value_or(-1));
  return {Element(node, std::move(shape))};
}

std::vector<Type> Length(const Node&, std::span<const Type>) {
  return {{.type = DType::kInt32, .shape = Shape{}, .value = std::nullopt}};
}

constexpr Op kOps[] = {
    {.name = "EmptyTensorList", .type = Unset},
    {.name = "TensorListFromTensor", .type = FromTensor},
    {.name = "TensorListGetItem", .type = GetItem},
    {.name = "TensorListLength", .type = Length},
    {.name = "TensorListPushBack", .type = WithPushedItem},
    {.name = "TensorListReserve", .type = Unset},
    {.name = "TensorListSetItem", .type = WithSetItem},
    {.name = "TensorListStack", .type = Stack},
};

}  // namespace

std::span<const Op> ListOps() { return kOps; }

}  // namespace longshore::graph
