// TensorList ops: lists of tensors as values of DT_VARIANT.
#include <algorithm>

#include "serving-node/engine/kernels/base/room.h"
#include "serving-node/engine/kernels/control/families.h"
#include "serving-node/engine/kernels/control/list_parts.h"

namespace longshore::engine::kernels::control {
namespace {

Outputs List(Result<TensorList> list) {
  if (!list) return tl::make_unexpected(list.error());
  return One(HandleOf(std::move(*list)));
}

Result<int64_t> SizeAt(const Call& call, size_t input) {
  ASSIGN_OR_RETURN(const int64_t size, IntOf(call.in(input), "num_elements"));
  if (size < 0 || size > kListElementsMax)
    return InvalidArgument("a list cannot have {} elements; the limit is {}", size, kListElementsMax);
  return size;
}

TensorList Empty(const Call& call, PartialShape shape) {
  TensorList list;
  list.type = call.attributes().Type("element_dtype");
  list.element_shape = std::move(shape);
  return list;
}

Outputs EmptyTensorList(const Call& call) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 0));
  TensorList list = Empty(call, shape);
  ASSIGN_OR_RETURN(list.elements_max, IntOf(call.in(1), "max_num_elements"));
  return List(std::move(list));
}

Outputs TensorListReserve(const Call& call) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 0));
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(call, 1));
  return List(Empty(call, shape).WithSize(size));
}

std::vector<int64_t> FirstPlaces(int64_t count) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(i);
  return places;
}

Outputs TensorListFromTensor(const Call& call) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 1));
  const Tensor& rows = call.in(0);
  if (rows.rank() < 1 || rows.dim(0) > kListElementsMax)
    return InvalidArgument("a tensor of shape {} cannot become a list: it has no rows or too many",
                           ToString(rows.shape()));
  RETURN_IF_ERROR(HasRoomForTable(call, rows.dim(0), sizeof(Tensor)));
  return List(Scatter(Empty(call, shape).WithSize(rows.dim(0)), rows, FirstPlaces(rows.dim(0))));
}

Outputs TensorListStack(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 1));
  const int64_t wanted = call.attributes().Int("num_elements", -1);
  if (wanted >= 0 && wanted != list->size())
    return InvalidArgument("the list has {} elements instead of {}", list->size(), wanted);
  return StackOf(call, *list, AllPlaces(*list), shape);
}

Outputs TensorListGetItem(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const int64_t at, IntOf(call.in(1), "index"));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 2));
  return ElementOf(call, *list, at, shape);
}

Outputs TensorListSetItem(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const int64_t at, IntOf(call.in(1), "index"));
  const bool grows = call.attributes().Bool("resize_if_index_out_of_bounds", false) && at >= list->size();
  if (!grows) return List(Put(*list, at, call.in(2)));
  if (at >= kListElementsMax) return ResourceExhausted("a list must not have more than {} elements", kListElementsMax);
  return List(Put(list->WithSize(at + 1), at, call.in(2)));
}

Status CheckMayGrow(const TensorList& list) {
  const bool is_full = list.elements_max >= 0 && list.size() >= list.elements_max;
  if (!is_full && list.size() < kListElementsMax) return {};
  return InvalidArgument("a list of {} elements is full", list.size());
}

Outputs TensorListPushBack(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  RETURN_IF_ERROR(CheckMayGrow(*list));
  return List(Put(list->WithSize(list->size() + 1), list->size(), call.in(1)));
}

Outputs TensorListPopBack(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 1));
  if (list->size() == 0) return InvalidArgument("the list is empty");
  ASSIGN_OR_RETURN(auto last, ElementOf(call, *list, list->size() - 1, shape));
  return std::vector<Tensor>{HandleOf(list->WithSize(list->size() - 1)), std::move(last[0])};
}

Outputs TensorListLength(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  return One(Tensor::Of<int32_t>({}, {static_cast<int32_t>(list->size())}));
}

Outputs TensorListResize(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const int64_t size, SizeAt(call, 1));
  return One(HandleOf(list->WithSize(size)));
}

Outputs TensorListElementShape(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  const Shape sizes = list->element_shape.value_or(Shape{-1});
  const Shape shape = list->element_shape ? Shape{static_cast<int64_t>(sizes.size())} : Shape{};
  if (call.attributes().Type("shape_type", DType::kInt32) == DType::kInt64)
    return One(Tensor::Of<int64_t>(shape, sizes));
  return One(Tensor::Of<int32_t>(shape, {sizes.begin(), sizes.end()}));
}

Result<std::vector<int64_t>> PlacesAt(const Call& call, size_t input) {
  if (call.in(input).rank() != 1) return InvalidArgument("indices must be a vector");
  return IntsOf(call.in(input), "indices", kListElementsMax);
}

Outputs TensorListGather(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const auto places, PlacesAt(call, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 2));
  return StackOf(call, *list, places, shape);
}

// Both versions of the op. V2 has the length of the list as an input. Without this input, or if it is -1, the indices
// determine the length.
Outputs TensorListScatter(const Call& call) {
  ASSIGN_OR_RETURN(const auto places, PlacesAt(call, 1));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 2));
  TensorList list = Empty(call, shape);
  int64_t size = -1;
  if (call.inputs.size() > 3) {
    ASSIGN_OR_RETURN(size, IntOf(call.in(3), "num_elements"));
  }
  list.may_grow = size == -1;
  if (size > kListElementsMax)
    return InvalidArgument("a list cannot have {} elements; the limit is {}", size, kListElementsMax);
  ASSIGN_OR_RETURN(TensorList scattered, Scatter(list.WithSize(std::max<int64_t>(size, 0)), call.in(0), places));
  scattered.may_grow = false;
  return One(HandleOf(std::move(scattered)));
}

Outputs TensorListScatterIntoExistingList(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  ASSIGN_OR_RETURN(const auto places, PlacesAt(call, 2));
  TensorList other = *list;
  other.may_grow = true;
  ASSIGN_OR_RETURN(TensorList scattered, Scatter(std::move(other), call.in(1), places));
  scattered.may_grow = false;
  return One(HandleOf(std::move(scattered)));
}

// The first version has the shape of the elements as an attribute, V2 as an input.
Outputs TensorListConcat(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 0));
  if (call.inputs.size() < 2) return ConcatOf(call, *list, ShapeOf(call, "element_shape"));
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 1));
  return ConcatOf(call, *list, shape);
}

Outputs TensorListSplit(const Call& call) {
  ASSIGN_OR_RETURN(const PartialShape shape, ShapeAt(call, 1));
  ASSIGN_OR_RETURN(const auto lengths, IntsOf(call.in(2), "lengths", kListElementsMax));
  return List(SplitInto(Empty(call, shape), call.in(0), lengths));
}

Outputs TensorListConcatLists(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* first, ListAt(call, 0));
  ASSIGN_OR_RETURN(const TensorList* second, ListAt(call, 1));
  if (first->size() + second->size() > kListElementsMax)
    return InvalidArgument("the joined list would have {} elements; the limit is {}", first->size() + second->size(),
                           kListElementsMax);
  TensorList both = first->WithSize(first->size() + second->size());
  for (int64_t i = 0; i < second->size(); ++i) {
    if (second->at(i).empty()) continue;
    ASSIGN_OR_RETURN(both, Put(both, first->size() + i, second->at(i)));
  }
  return One(HandleOf(std::move(both)));
}

constexpr Kernel kKernels[] = {
    {"EmptyTensorList", EmptyTensorList, 2},
    {"TensorListConcat", TensorListConcat, 1},
    {"TensorListConcatLists", TensorListConcatLists, 2},
    {"TensorListConcatV2", TensorListConcat, 3},
    {"TensorListElementShape", TensorListElementShape, 1},
    {"TensorListFromTensor", TensorListFromTensor, 2},
    {"TensorListGather", TensorListGather, 3},
    {"TensorListGetItem", TensorListGetItem, 3},
    {"TensorListLength", TensorListLength, 1},
    {"TensorListPopBack", TensorListPopBack, 2},
    {"TensorListPushBack", TensorListPushBack, 2},
    {"TensorListReserve", TensorListReserve, 2},
    {"TensorListResize", TensorListResize, 2},
    {"TensorListScatter", TensorListScatter, 3},
    {"TensorListScatterIntoExistingList", TensorListScatterIntoExistingList, 3},
    {"TensorListScatterV2", TensorListScatter, 4},
    {"TensorListSetItem", TensorListSetItem, 3},
    {"TensorListSplit", TensorListSplit, 3},
    {"TensorListStack", TensorListStack, 2},
};

}  // namespace

std::span<const Kernel> TensorListKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::control
