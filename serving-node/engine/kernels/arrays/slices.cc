// Slices of tensors, like a[1:3, ..., ::-1] in NumPy.
#include <algorithm>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/strided.h"
#include "serving-node/graph/shapes.h"

namespace longshore::engine::kernels::arrays {
namespace {

Outputs Slice(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto begin, IntsOf(call.in(1), "begin"));
  ASSIGN_OR_RETURN(Shape size, IntsOf(call.in(2), "size"));
  if (begin.size() != in.shape().size() || size.size() != begin.size())
    return InvalidArgument("begin and size must have {} values", in.rank());
  const auto strides = Strides(in.shape());
  int64_t first = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t whole = in.shape()[i];
    if (begin[i] < 0 || begin[i] > whole)
      return InvalidArgument("begin[{}] = {} is out of range for a dimension of size {}", i, begin[i], whole);
    if (size[i] == -1) size[i] = whole - begin[i];
    if (size[i] < 0 || size[i] > whole - begin[i])
      return InvalidArgument("size[{}] = {} after begin = {} is out of range for a dimension of size {}", i, size[i],
                             begin[i], whole);
    first += begin[i] * strides[i];
  }
  return One(StridedCopy(in, first, size, strides));
}

// One entry of a StridedSlice, begin:end:step as in Python. The op's masks say whether begin or end is left out.
struct Cut {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};

Result<Cut> CutOf(int64_t begin, int64_t end, int64_t step, bool no_begin, bool no_end, int64_t size) {
  const auto part = graph::SliceOfAxis(begin, end, step, no_begin, no_end, size);
  if (!part) return InvalidArgument("a stride must not be zero");
  return Cut{part->begin, part->count, part->count <= 1 ? 1 : step};
}

struct SliceSpec {
  std::vector<int64_t> begin, end, steps;
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  bool Has(int64_t mask, size_t i) const { return i < 63 && ((mask >> i) & 1) != 0; }
};

Result<SliceSpec> SpecOf(const Call& call) {
  ASSIGN_OR_RETURN(auto begin, IntsOf(call.in(1), "begin", 32));
  ASSIGN_OR_RETURN(auto end, IntsOf(call.in(2), "end", 32));
  ASSIGN_OR_RETURN(auto steps, IntsOf(call.in(3), "strides", 32));
  if (begin.size() != end.size() || begin.size() != steps.size())
    return InvalidArgument("begin, end and strides must have the same length");
  const auto& a = call.attributes();
  return SliceSpec{std::move(begin),          std::move(end),
                   std::move(steps),          a.Int("begin_mask", 0),
                   a.Int("end_mask", 0),      a.Int("ellipsis_mask", 0),
                   a.Int("new_axis_mask", 0), a.Int("shrink_axis_mask", 0)};
}

// Returns how many axes of the input the ellipsis covers. Without an ellipsis, one at the end is assumed.
Result<int64_t> EllipsisSize(const SliceSpec& spec, int rank) {
  if ((spec.ellipsis_mask & (spec.ellipsis_mask - 1)) != 0)
    return InvalidArgument("Multiple ellipses in slice spec not allowed");
  int64_t named = 0;
  for (size_t i = 0; i < spec.begin.size(); ++i)
    named += !spec.Has(spec.ellipsis_mask, i) && !spec.Has(spec.new_axis_mask, i);
  if (named > rank) return InvalidArgument("a slice with {} dimensions does not fit rank {}", named, rank);
  return rank - named;
}

struct Sliced {
  int64_t first = 0;
  Shape shape;  // The shape of the copied part: shrunk axes have size 1, and new axes are missing.
  Shape out_shape;
  std::vector<int64_t> strides;
};

Status AddAxis(const SliceSpec& spec, size_t i, const Tensor& in, size_t axis, Sliced* sliced) {
  const int64_t size = in.shape()[axis];
  const bool shrinks = spec.Has(spec.shrink_mask, i);
  const int64_t begin = spec.begin[i];
  Cut cut;
  if (shrinks) {
    if (spec.steps[i] <= 0) return InvalidArgument("only stride 1 allowed on non-range indexing");
    const int64_t at = begin < 0 ? begin + size : begin;
    if (at < 0 || at >= size) return InvalidArgument("slice index {} of dimension {} out of bounds", begin, axis);
    cut = {at, 1, 1};
  } else {
    ASSIGN_OR_RETURN(
        cut, CutOf(begin, spec.end[i], spec.steps[i], spec.Has(spec.begin_mask, i), spec.Has(spec.end_mask, i), size));
    sliced->out_shape.push_back(cut.count);
  }
  const int64_t stride = Product(in.shape(), axis + 1, in.shape().size());
  sliced->first += cut.begin * stride;
  sliced->shape.push_back(cut.count);
  sliced->strides.push_back(cut.step * stride);
  return {};
}

void KeepAxes(const Tensor& in, size_t begin, int64_t count, Sliced* sliced) {
  for (size_t axis = begin; axis < begin + static_cast<size_t>(count); ++axis) {
    sliced->shape.push_back(in.shape()[axis]);
    sliced->out_shape.push_back(in.shape()[axis]);
    sliced->strides.push_back(Product(in.shape(), axis + 1, in.shape().size()));
  }
}

Outputs StridedSlice(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const SliceSpec spec, SpecOf(call));
  ASSIGN_OR_RETURN(int64_t covered, EllipsisSize(spec, in.rank()));
  Sliced sliced;
  size_t axis = 0;
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    if (spec.Has(spec.ellipsis_mask, i)) {
      KeepAxes(in, axis, covered, &sliced);
      axis += static_cast<size_t>(covered);
      covered = 0;
    } else if (spec.Has(spec.new_axis_mask, i)) {
      sliced.out_shape.push_back(1);
    } else {
      RETURN_IF_ERROR(AddAxis(spec, i, in, axis++, &sliced));
    }
  }
  KeepAxes(in, axis, covered, &sliced);
  ASSIGN_OR_RETURN(const Tensor copied, StridedCopy(in, sliced.first, sliced.shape, sliced.strides));
  return One(copied.Reshaped(sliced.out_shape));
}

constexpr Kernel kKernels[] = {
    {"Slice", Slice, 3},
    {"StridedSlice", StridedSlice, 4},
};

}  // namespace

std::span<const Kernel> SliceKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
