#include "serving-node/engine/kernels/control/list_parts.h"

#include <algorithm>
#include <numeric>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::kernels::control {
namespace {

Status CheckPlace(const TensorList& list, int64_t at) {
  if (at >= 0 && at < list.size()) return {};
  return InvalidArgument("index {} is out of range for a list of {} elements", at, list.size());
}

// Makes a tensor of zeros, or of empty strings.
Result<Tensor> Zeros(const Call& call, DType type, const Shape& shape) {
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Make(type, shape));
  if (type != DType::kString) std::fill_n(zeros.mutable_data(), zeros.bytes(), std::byte{0});
  return zeros;
}

// Returns the shape of the elements at `places`, as far as the list, `shape` and those elements that are set determine
// it.
Result<PartialShape> ShapeOfElements(const TensorList& list, const std::vector<int64_t>& places,
                                     const PartialShape& shape) {
  ASSIGN_OR_RETURN(PartialShape known, Merge(list.element_shape, shape));
  for (const int64_t at : places) {
    RETURN_IF_ERROR(CheckPlace(list, at));
    if (list.at(at).empty()) continue;
    ASSIGN_OR_RETURN(known, Merge(known, list.at(at).shape()));
  }
  return known;
}

Status CopyElements(const Tensor& from, int64_t first, Tensor* to) {
  return ForMoves(to->type(),
                  [&](auto tag) -> Outputs {
                    using T = typename decltype(tag)::type;
                    std::copy_n(Raw<T>(from), from.elements(), Raw<T>(*to) + first);
                    return Outputs{};
                  })
      .map([](const auto&) {});
}

// Copies the elements into one tensor of shape `whole`, one after the other. An element that is not set counts as zeros
// of shape `element`.
Outputs Join(const Call& call, const TensorList& list, const std::vector<int64_t>& places, const Shape& whole,
             const Shape& element) {
  ASSIGN_OR_RETURN(Tensor joined, Zeros(call, list.type, whole));
  ASSIGN_OR_RETURN(const int64_t unset_elements, tensor::ElementCount(element));
  int64_t first = 0;
  for (const int64_t at : places) {
    const Tensor& each = list.at(at);
    if (!each.empty()) RETURN_IF_ERROR(CopyElements(each, first, &joined));
    first += each.empty() ? unset_elements : each.elements();
  }
  return One(std::move(joined));
}

}  // namespace

Result<const TensorList*> ListAt(const Call& call, size_t input) {
  const auto* list = ListOf(call.in(input));
  if (list == nullptr) return InvalidArgument("input {} is not a list", input);
  return list;
}

Result<PartialShape> ShapeAt(const Call& call, size_t input) {
  ASSIGN_OR_RETURN(const Shape sizes, IntsOf(call.in(input), "element_shape"));
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < -1; }))
    return InvalidArgument("element_shape {} has a size below -1", ToString(sizes));
  if (call.in(input).rank() == 1) return PartialShape(sizes);
  if (sizes != Shape{-1}) return InvalidArgument("element_shape must be a vector or -1, not {}", sizes[0]);
  return PartialShape();
}

PartialShape ShapeOf(const Call& call, const char* attribute) {
  const auto* value = call.attributes().Find(attribute);
  if (value == nullptr || value->value_case() != tensorflow::AttrValue::kShape) return std::nullopt;
  return tensor::PatternFromProto(value->shape());
}

Result<TensorList> Put(const TensorList& list, int64_t at, const Tensor& element) {
  RETURN_IF_ERROR(CheckPlace(list, at));
  if (element.type() != list.type)
    return InvalidArgument("an element of {} cannot be put into a list of {}", DTypeName(element.type()),
                           DTypeName(list.type));
  RETURN_IF_ERROR(Merge(list.element_shape, element.shape()));
  if (const auto* inner = ListOf(element); inner != nullptr && inner->depth() >= kListDepthMax)
    return InvalidArgument("lists are nested deeper than {} levels", kListDepthMax);
  return list.With(at, element);
}

Outputs ElementOf(const Call& call, const TensorList& list, int64_t at, const PartialShape& shape) {
  RETURN_IF_ERROR(CheckPlace(list, at));
  if (!list.at(at).empty()) {
    RETURN_IF_ERROR(Merge(shape, list.at(at).shape()));
    return One(list.at(at));
  }
  ASSIGN_OR_RETURN(PartialShape known, Merge(list.element_shape, shape));
  if (!IsComplete(known)) {
    ASSIGN_OR_RETURN(known, ShapeOfElements(list, AllPlaces(list), shape));
  }
  if (!IsComplete(known))
    return InvalidArgument("element {} was not set, and its shape {} is not fully known", at, ToString(known));
  return One(Zeros(call, list.type, *known));
}

Outputs StackOf(const Call& call, const TensorList& list, const std::vector<int64_t>& places,
                const PartialShape& shape) {
  ASSIGN_OR_RETURN(const PartialShape known, ShapeOfElements(list, places, shape));
  if (!IsComplete(known))
    return InvalidArgument("the shape {} of the {} elements of a list is not fully known", ToString(known),
                           list.size());
  Shape whole = *known;
  whole.insert(whole.begin(), static_cast<int64_t>(places.size()));
  return Join(call, list, places, whole, *known);
}

Outputs ConcatOf(const Call& call, const TensorList& list, const PartialShape& shape) {
  const auto places = AllPlaces(list);
  const auto any_first = [](PartialShape each) {
    if (each && !each->empty()) each->front() = -1;
    return each;
  };
  ASSIGN_OR_RETURN(PartialShape known, Merge(any_first(list.element_shape), any_first(shape)));
  ASSIGN_OR_RETURN(Tensor lengths, Tensor::Make(DType::kInt64, {list.size()}));
  int64_t rows = 0;
  for (const int64_t at : places) {
    if (list.at(at).empty()) return InvalidArgument("element {} was not set", at);
    if (list.at(at).rank() == 0) return InvalidArgument("element {} is a scalar and cannot be concatenated", at);
    ASSIGN_OR_RETURN(known, Merge(known, any_first(list.at(at).shape())));
    lengths.mutable_values<int64_t>()[static_cast<size_t>(at)] = list.at(at).dim(0);
    rows += list.at(at).dim(0);
  }
  if (known && !known->empty()) known->front() = rows;
  if (!IsComplete(known) || known->empty())
    return InvalidArgument("the shape {} of the {} elements of a list is not fully known", ToString(known),
                           list.size());
  ASSIGN_OR_RETURN(auto joined, Join(call, list, places, *known, {0}));
  joined.push_back(std::move(lengths));
  return joined;
}

Result<TensorList> Scatter(TensorList list, const Tensor& rows, const std::vector<int64_t>& places) {
  if (rows.rank() < 1 || rows.dim(0) != static_cast<int64_t>(places.size()))
    return InvalidArgument("a tensor of shape {} does not have {} rows, one for each index", ToString(rows.shape()),
                           places.size());
  const int64_t last = places.empty() ? -1 : *std::ranges::max_element(places);
  if (last >= kListElementsMax)
    return ResourceExhausted("a list must not have more than {} elements", kListElementsMax);
  if (last >= list.size() && list.may_grow) list = list.WithSize(last + 1);
  const Shape shape(rows.shape().begin() + 1, rows.shape().end());
  if (rows.type() != list.type)
    return InvalidArgument("elements of {} cannot be put into a list of {}", DTypeName(rows.type()),
                           DTypeName(list.type));
  RETURN_IF_ERROR(Merge(list.element_shape, shape));
  for (size_t i = 0; i < places.size(); ++i) {
    RETURN_IF_ERROR(CheckPlace(list, places[i]));
    const auto row = static_cast<int64_t>(i);
    ASSIGN_OR_RETURN(Tensor element, rows.Rows(row, row + 1).Reshaped(shape));
    list.Set(places[i], std::move(element));
  }
  return list;
}

Result<TensorList> SplitInto(TensorList list, const Tensor& rows, const std::vector<int64_t>& lengths) {
  if (rows.rank() < 1) return InvalidArgument("a scalar cannot be split");
  int64_t left = rows.dim(0);
  for (const int64_t length : lengths) {
    if (length < 0 || length > left)
      return InvalidArgument("lengths must not be negative and must add up to the {} rows", rows.dim(0));
    left -= length;
  }
  if (left != 0) return InvalidArgument("lengths do not add up to the {} rows", rows.dim(0));
  list = list.WithSize(static_cast<int64_t>(lengths.size()));
  int64_t first = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    ASSIGN_OR_RETURN(list, Put(list, static_cast<int64_t>(i), rows.Rows(first, first + lengths[i])));
    first += lengths[i];
  }
  return list;
}

std::vector<int64_t> AllPlaces(const TensorList& list) {
  std::vector<int64_t> places(static_cast<size_t>(list.size()));
  std::iota(places.begin(), places.end(), int64_t{0});
  return places;
}

}  // namespace longshore::engine::kernels::control
