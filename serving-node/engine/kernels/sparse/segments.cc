// Reduces the rows of each segment to one row. Segment ids are sorted or unsorted.
#include "serving-node/engine/kernels/sparse/segments.h"

#include <algorithm>

#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

using namespace segments;

// Reduces row i of `data` into row ids[i] of `out`; skips rows with a negative id. Rows have `width` elements.
template <typename Op, typename T>
void ReduceRows(const Tensor& data, const std::vector<int64_t>& ids, int64_t width, Tensor* out) {
  std::fill_n(Raw<T>(*out), out->elements(), Op::template kEmpty<T>);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) continue;
    const T* from = Raw<T>(data) + static_cast<int64_t>(i) * width;
    T* to = Raw<T>(*out) + ids[i] * width;
    for (int64_t k = 0; k < width; ++k) to[k] = Op::Of(to[k], from[k]);
  }
}

std::vector<int64_t> CountsOf(const std::vector<int64_t>& ids, int64_t rows) {
  std::vector<int64_t> counts(static_cast<size_t>(rows));
  for (const int64_t id : ids) ++counts[static_cast<size_t>(id)];
  return counts;
}

enum class Divide { kNot, kByCount };

// The number of rows of the result is the last id plus 1. The rows of segments without values are 0, or 1 for products.
template <typename Op, Divide kDivide = Divide::kNot>
Outputs Sorted(const Call& call) {
  const Tensor& data = call.in(0);
  ASSIGN_OR_RETURN(const auto ids, AllIntsOf(call.in(1), "segment_ids"));
  if (call.in(1).rank() != 1 || data.rank() < 1 || data.dim(0) != call.in(1).elements()) {
    return InvalidArgument("segment_ids {} must be a vector with an id for each row of {}",
                           ToString(call.in(1).shape()), ToString(data.shape()));
  }
  RETURN_IF_ERROR(CheckSorted(ids, INT64_MAX));
  const int64_t rows = ids.empty() ? 0 : ids.back() + 1;
  const Shape shape = RowsLike(data, 1, rows);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {rows}));
  RETURN_IF_ERROR(call.HasRoomFor(data.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(data, shape));
  const int64_t width = Product(shape, 1, shape.size());
  return ForNumbers(data.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ReduceRows<Op, T>(data, ids, width, &out);
    const auto counts = CountsOf(ids, rows);
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t count = counts[static_cast<size_t>(i / width)];
      T& value = Raw<T>(out)[i];
      if (count == 0) value = std::is_same_v<Op, Prod> ? T{1} : T{0};
      if (kDivide == Divide::kByCount && count > 0) value = static_cast<T>(value / static_cast<T>(count));
    }
    return One(out);
  });
}

// The shape of the ids is the beginning of the shape of the data. The third input is num_segments.
template <typename Op>
Outputs Unsorted(const Call& call) {
  const Tensor& data = call.in(0);
  const Shape& ids_shape = call.in(1).shape();
  ASSIGN_OR_RETURN(const auto ids, AllIntsOf(call.in(1), "segment_ids"));
  ASSIGN_OR_RETURN(const int64_t rows, IntOf(call.in(2), "num_segments"));
  if (ids_shape.size() > data.shape().size() || !std::equal(ids_shape.begin(), ids_shape.end(), data.shape().begin()))
    return InvalidArgument("the shape of segment_ids {} is not a prefix of the shape of data {}", ToString(ids_shape),
                           ToString(data.shape()));
  const Shape shape = RowsLike(data, ids_shape.size(), rows);
  RETURN_IF_ERROR(call.HasRoomFor(data.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(data, shape));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= rows) return InvalidArgument("segment_ids[{}] = {} is out of range [0, {})", i, ids[i], rows);
  }
  return ForNumbers(data.type(), [&](auto tag) {
    ReduceRows<Op, typename decltype(tag)::type>(data, ids, Product(shape, 1, shape.size()), &out);
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {.op = "SegmentMax", .compute = Sorted<Max>, .inputs_min = 2, .types = kNumbers},
    {.op = "SegmentMean", .compute = Sorted<Sum, Divide::kByCount>, .inputs_min = 2, .types = kNumbers},
    {.op = "SegmentMin", .compute = Sorted<Min>, .inputs_min = 2, .types = kNumbers},
    {.op = "SegmentProd", .compute = Sorted<Prod>, .inputs_min = 2, .types = kNumbers},
    {.op = "SegmentSum", .compute = Sorted<Sum>, .inputs_min = 2, .types = kNumbers},
    {.op = "UnsortedSegmentMax", .compute = Unsorted<Max>, .inputs_min = 3, .types = kNumbers},
    {.op = "UnsortedSegmentMin", .compute = Unsorted<Min>, .inputs_min = 3, .types = kNumbers},
    {.op = "UnsortedSegmentProd", .compute = Unsorted<Prod>, .inputs_min = 3, .types = kNumbers},
    {.op = "UnsortedSegmentSum", .compute = Unsorted<Sum>, .inputs_min = 3, .types = kNumbers},
};

}  // namespace

std::span<const Kernel> SegmentKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
