// Selects rows of a table and sums the rows of each segment, as it is done for embeddings of sparse features.
#include <algorithm>
#include <cmath>

#include "serving-node/engine/kernels/sparse/families.h"
#include "serving-node/engine/kernels/sparse/segments.h"

namespace longshore::engine::kernels::sparse {
namespace {

using namespace segments;

enum class Scale { kNone, kMean, kSqrtN };

template <typename T>
T Scaled(T sum, int64_t count, Scale scale) {
  if constexpr (std::is_floating_point_v<T>) {
    if (scale == Scale::kMean) return sum / static_cast<T>(count);
    if (scale == Scale::kSqrtN) return sum / std::sqrt(static_cast<T>(count));
  }
  return sum;
}

struct Rows {
  std::vector<int64_t> indices, ids;
  int64_t segments = 0;
};

Result<Rows> RowsOf(const Call& call) {
  Rows rows;
  const Tensor& data = call.in(0);
  if (data.rank() < 1 || call.in(1).rank() != 1 || call.in(1).shape() != call.in(2).shape()) {
    return InvalidArgument(
        "indices {} and segment_ids {} must be vectors of the same length, and data {} must not be a scalar",
        ToString(call.in(1).shape()), ToString(call.in(2).shape()), ToString(data.shape()));
  }
  ASSIGN_OR_RETURN(rows.indices, AllIntsOf(call.in(1), "indices"));
  ASSIGN_OR_RETURN(rows.ids, AllIntsOf(call.in(2), "segment_ids"));
  int64_t limit = INT64_MAX;
  if (call.inputs.size() > 3) {
    ASSIGN_OR_RETURN(limit, IntOf(call.in(3), "num_segments"));
  }
  RETURN_IF_ERROR(CheckSorted(rows.ids, limit));
  rows.segments = call.inputs.size() > 3 ? limit : (rows.ids.empty() ? 0 : rows.ids.back() + 1);
  for (size_t i = 0; i < rows.indices.size(); ++i) {
    if (rows.indices[i] < 0 || rows.indices[i] >= data.dim(0))
      return InvalidArgument("indices[{}] = {} is out of range [0, {})", i, rows.indices[i], data.dim(0));
  }
  return rows;
}

template <Scale kScale>
Outputs SparseSegment(const Call& call) {
  const Tensor& data = call.in(0);
  ASSIGN_OR_RETURN(const Rows rows, RowsOf(call));
  const Shape shape = RowsLike(data, 1, rows.segments);
  RETURN_IF_ERROR(call.HasRoomFor(data.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(data, shape));
  const int64_t width = Product(shape, 1, shape.size());
  return ForNumbers(data.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    for (size_t begin = 0, end = 0; begin < rows.ids.size(); begin = end) {
      T* to = Raw<T>(out) + rows.ids[begin] * width;
      for (end = begin; end < rows.ids.size() && rows.ids[end] == rows.ids[begin]; ++end) {
        const T* from = Raw<T>(data) + rows.indices[end] * width;
        for (int64_t k = 0; k < width; ++k) to[k] = Sum::Of(to[k], from[k]);
      }
      for (int64_t k = 0; k < width; ++k) to[k] = Scaled(to[k], static_cast<int64_t>(end - begin), kScale);
    }
    return One(out);
  });
}

constexpr auto kSum = SparseSegment<Scale::kNone>;
constexpr auto kMean = SparseSegment<Scale::kMean>;
constexpr auto kSqrtN = SparseSegment<Scale::kSqrtN>;

constexpr Kernel kKernels[] = {
    {.op = "SparseSegmentMean", .compute = kMean, .inputs_min = 3, .types = kFloats},
    {.op = "SparseSegmentMeanWithNumSegments", .compute = kMean, .inputs_min = 4, .types = kFloats},
    {.op = "SparseSegmentSqrtN", .compute = kSqrtN, .inputs_min = 3, .types = kFloats},
    {.op = "SparseSegmentSqrtNWithNumSegments", .compute = kSqrtN, .inputs_min = 4, .types = kFloats},
    {.op = "SparseSegmentSum", .compute = kSum, .inputs_min = 3, .types = kNumbers},
    {.op = "SparseSegmentSumWithNumSegments", .compute = kSum, .inputs_min = 4, .types = kNumbers},
};

}  // namespace

std::span<const Kernel> SparseSegmentKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
