// TensorArray ops of TensorFlow 1.
//
// In TensorFlow an array is stored outside the graph, and a number, the "flow", is passed through its ops to order
// them. Here the flow is the array itself, as an immutable list: a write returns a new list. So a loop has the array in
// its variables, and no array outlives the run.
#include "serving-node/engine/kernels/control/families.h"
#include "serving-node/engine/kernels/control/list_parts.h"

namespace longshore::engine::kernels::control {
namespace {

struct ArrayHandle final : Resource {};

Outputs Flow(Result<TensorList> list) {
  if (!list) return tl::make_unexpected(list.error());
  return One(HandleOf(std::move(*list)));
}

Outputs TensorArray(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t size, IntOf(call.in(0), "size"));
  if (size < 0 || size > kListElementsMax)
    return InvalidArgument("an array cannot have {} elements; the limit is {}", size, kListElementsMax);
  TensorList list;
  list.type = call.attributes().Type("dtype");
  list.element_shape = ShapeOf(call, "element_shape");
  list.may_grow = call.attributes().Bool("dynamic_size", false);
  return std::vector<Tensor>{HandleOf(std::make_shared<ArrayHandle>()), HandleOf(list.WithSize(size))};
}

Outputs Write(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t at, IntOf(call.in(1), "index"));
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 3));
  const bool grows = list->may_grow && at >= list->size();
  if (!grows) return Flow(Put(*list, at, call.in(2)));
  if (at >= kListElementsMax)
    return ResourceExhausted("an array must not have more than {} elements", kListElementsMax);
  return Flow(Put(list->WithSize(at + 1), at, call.in(2)));
}

Outputs Read(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t at, IntOf(call.in(1), "index"));
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 2));
  return ElementOf(call, *list, at, std::nullopt);
}

Outputs Gather(const Call& call) {
  ASSIGN_OR_RETURN(const auto places, IntsOf(call.in(1), "indices", kListElementsMax));
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 2));
  return StackOf(call, *list, places, ShapeOf(call, "element_shape"));
}

Outputs ScatterRows(const Call& call) {
  ASSIGN_OR_RETURN(const auto places, IntsOf(call.in(1), "indices", kListElementsMax));
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 3));
  return Flow(Scatter(*list, call.in(2), places));
}

Outputs Concat(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 1));
  PartialShape shape = ShapeOf(call, "element_shape_except0");
  if (shape) shape->insert(shape->begin(), -1);
  return ConcatOf(call, *list, shape);
}

Outputs Split(const Call& call) {
  ASSIGN_OR_RETURN(const auto lengths, IntsOf(call.in(2), "lengths", kListElementsMax));
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 3));
  if (!list->may_grow && static_cast<int64_t>(lengths.size()) != list->size())
    return InvalidArgument("{} lengths do not fit an array of {} elements", lengths.size(), list->size());
  return Flow(SplitInto(*list, call.in(1), lengths));
}

Outputs Size(const Call& call) {
  ASSIGN_OR_RETURN(const TensorList* list, ListAt(call, 1));
  return One(Tensor::Of<int32_t>({}, {static_cast<int32_t>(list->size())}));
}

Outputs Close(const Call&) { return std::vector<Tensor>{}; }

constexpr Kernel kKernels[] = {
    {"TensorArrayCloseV3", Close, 1}, {"TensorArrayConcatV3", Concat, 2},       {"TensorArrayGatherV3", Gather, 3},
    {"TensorArrayReadV3", Read, 3},   {"TensorArrayScatterV3", ScatterRows, 4}, {"TensorArraySizeV3", Size, 2},
    {"TensorArraySplitV3", Split, 4}, {"TensorArrayV3", TensorArray, 1},        {"TensorArrayWriteV3", Write, 4},
};

}  // namespace

std::span<const Kernel> TensorArrayKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::control
