// Joins and splits tensors along an axis.
#include <utility>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/room.h"
#include "serving-node/engine/kernels/base/strided.h"

namespace longshore::engine::kernels::arrays {
namespace {

// Concatenates `parts` along an axis. All other sizes must be equal.
Outputs ConcatAlong(std::span<const Tensor> parts, int64_t given_axis) {
  const Tensor& first = parts[0];
  ASSIGN_OR_RETURN(const int axis, AxisOf(given_axis, first.rank()));
  const auto at = static_cast<size_t>(axis);
  Shape shape = first.shape();
  shape[at] = 0;
  for (const auto& part : parts) {
    Shape same = part.shape();
    if (part.type() != first.type() || same.size() != shape.size())
      return InvalidArgument("inputs {} and {} differ in rank or type", ToString(first.shape()), ToString(same));
    shape[at] += same[at];
    same[at] = shape[at];
    if (same != shape)
      return InvalidArgument("inputs {} and {} must have the same size in every axis except {}",
                             ToString(first.shape()), ToString(part.shape()), given_axis);
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(first, shape));
  const auto strides = Strides(shape);
  int64_t offset = 0;
  for (const auto& part : parts) {
    RETURN_IF_ERROR(CopyInto(part, offset, strides, &out));
    offset += part.shape()[at] * strides[at];
  }
  return One(std::move(out));
}

Outputs ConcatV2(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.inputs.back(), "axis"));
  return ConcatAlong(call.inputs.first(call.inputs.size() - 1), axis);
}

Outputs Concat(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.in(0), "concat_dim"));
  return ConcatAlong(call.inputs.subspan(1), axis);
}

// Each input is one row of the result.
Outputs ParallelConcat(const Call& call) {
  for (const auto& input : call.inputs) {
    if (input.rank() < 1 || input.dim(0) != 1)
      return InvalidArgument("each input must have a first dimension of 1, not the shape {}", ToString(input.shape()));
  }
  return ConcatAlong(call.inputs, 0);
}

Outputs Pack(const Call& call) {
  ASSIGN_OR_RETURN(const int axis, AxisOf(call.attributes().Int("axis", 0), call.in(0).rank() + 1));
  std::vector<Tensor> parts;
  for (const auto& input : call.inputs) {
    if (input.shape() != call.in(0).shape())
      return InvalidArgument("inputs have different shapes: {} and {}", ToString(call.in(0).shape()),
                             ToString(input.shape()));
    Shape shape = input.shape();
    shape.insert(shape.begin() + axis, 1);
    ASSIGN_OR_RETURN(Tensor part, input.Reshaped(shape));
    parts.push_back(std::move(part));
  }
  return ConcatAlong(parts, axis);
}

// Splits `in` along an axis into parts of the given sizes.
Outputs SplitAlong(const Tensor& in, int axis, const std::vector<int64_t>& sizes) {
  const auto strides = Strides(in.shape());
  std::vector<Tensor> parts;
  int64_t offset = 0;
  for (const int64_t size : sizes) {
    Shape shape = in.shape();
    shape[static_cast<size_t>(axis)] = size;
    ASSIGN_OR_RETURN(Tensor part, StridedCopy(in, offset, shape, strides));
    parts.push_back(std::move(part));
    offset += size * strides[static_cast<size_t>(axis)];
  }
  return parts;
}

Outputs Split(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(0), "split_dim"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(1).rank()));
  const int64_t parts = call.attributes().Int("num_split", 1);
  const int64_t size = call.in(1).dim(axis);
  if (parts < 1 || size % parts != 0)
    return InvalidArgument("dimension {} of size {} cannot be split into {} equal parts", given, size, parts);
  return SplitAlong(call.in(1), axis, std::vector<int64_t>(static_cast<size_t>(parts), size / parts));
}

Outputs SplitV(const Call& call) {
  ASSIGN_OR_RETURN(auto sizes, IntsOf(call.in(1), "size_splits", 100'000));
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(2), "axis"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(0).rank()));
  int64_t left = call.in(0).dim(axis);
  auto rest = sizes.end();
  for (auto size = sizes.begin(); size != sizes.end(); ++size) {
    if (*size == -1 && rest == sizes.end())
      rest = size;
    else if (*size < 0 || *size > left)
      return InvalidArgument("size_splits {} do not fit into dimension {} of size {}", ToString(sizes), given,
                             call.in(0).dim(axis));
    else
      left -= *size;
  }
  if (rest != sizes.end()) *rest = std::exchange(left, 0);
  if (left != 0) return InvalidArgument("size_splits {} do not add up to {}", ToString(sizes), call.in(0).dim(axis));
  return SplitAlong(call.in(0), axis, sizes);
}

Outputs Unpack(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const int axis, AxisOf(call.attributes().Int("axis", 0), in.rank()));
  const int64_t count = in.dim(axis);
  if (count != call.attributes().Int("num", count))
    return InvalidArgument("the size of dimension {} of {} is not num = {}", axis, ToString(in.shape()),
                           call.attributes().Int("num", 0));
  RETURN_IF_ERROR(HasRoomForTable(call, count, sizeof(Tensor)));
  ASSIGN_OR_RETURN(auto parts, SplitAlong(in, axis, std::vector<int64_t>(static_cast<size_t>(count), 1)));
  Shape shape = in.shape();
  shape.erase(shape.begin() + axis);
  for (auto& part : parts) {
    ASSIGN_OR_RETURN(part, part.Reshaped(shape));
  }
  return parts;
}

constexpr Kernel kKernels[] = {
    {"Concat", Concat, 2},     {"ParallelConcat", ParallelConcat, 1},
    {"ConcatV2", ConcatV2, 2}, {"Pack", Pack, 1},
    {"Split", Split, 2},       {"SplitV", SplitV, 3},
    {"Unpack", Unpack, 1},
};

}  // namespace

std::span<const Kernel> JoinKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
