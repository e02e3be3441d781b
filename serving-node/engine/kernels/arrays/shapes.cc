// Kernels that return shapes of tensors, or reshaped tensors, which share the buffer of their input.
#include "serving-node/graph/shapes.h"

#include <algorithm>
#include <set>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/broadcast.h"

namespace longshore::engine::kernels::arrays {
namespace {

Tensor IntVector(const Call& call, Shape shape, const std::vector<int64_t>& values) {
  if (call.attributes().Type("out_type", DType::kInt32) == DType::kInt64)
    return Tensor::Of<int64_t>(std::move(shape), values);
  return Tensor::Of<int32_t>(std::move(shape), {values.begin(), values.end()});
}

Outputs Identity(const Call& call) { return std::vector<Tensor>(call.inputs.begin(), call.inputs.end()); }
Outputs First(const Call& call) { return One(call.in(0)); }
Outputs NoOp(const Call&) { return std::vector<Tensor>{}; }

Outputs Assert(const Call& call) {
  if (call.in(0).type() != DType::kBool || call.in(0).elements() != 1)
    return InvalidArgument("the condition must be one DT_BOOL");
  if (call.in(0).values<bool>()[0]) return std::vector<Tensor>{};
  const bool has_text = call.inputs.size() > 1 && call.in(1).type() == DType::kString && call.in(1).elements() > 0;
  return InvalidArgument("assertion failed: {}", has_text ? call.in(1).values<std::string>()[0] : "no message");
}

Outputs ShapeOf(const Call& call) { return One(IntVector(call, {call.in(0).rank()}, call.in(0).shape())); }
Outputs ShapeN(const Call& call) {
  std::vector<Tensor> shapes;
  for (const auto& input : call.inputs) shapes.push_back(IntVector(call, {input.rank()}, input.shape()));
  return shapes;
}
Outputs Rank(const Call& call) { return One(Tensor::Of<int32_t>({}, {call.in(0).rank()})); }
Outputs Size(const Call& call) { return One(IntVector(call, {}, {call.in(0).elements()})); }

// Returns the size that replaces -1 in `wanted`: the number of elements of `given`, divided by the product of the other
// sizes of `wanted`. If `wanted` has a size of zero, all sizes of zero in both shapes count as one.
Result<int64_t> InferredSize(const Shape& given, const Shape& wanted) {
  const bool is_valid =
      std::ranges::none_of(wanted, [](int64_t size) { return size < -1; }) && std::ranges::count(wanted, -1) <= 1;
  const auto size = is_valid ? graph::InferredSize(given, wanted) : std::nullopt;
  if (!size) return InvalidArgument("a tensor of shape {} cannot become {}", ToString(given), ToString(wanted));
  return *size;
}

// One size may be -1: it is inferred from the others.
Outputs Reshape(const Call& call) {
  ASSIGN_OR_RETURN(Shape shape, IntsOf(call.in(1), "shape"));
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    ASSIGN_OR_RETURN(*unknown, InferredSize(call.in(0).shape(), shape));
  }
  ASSIGN_OR_RETURN(Tensor out, call.in(0).Reshaped(std::move(shape)));
  return One(std::move(out));
}

Outputs ExpandDims(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.in(1), "axis"));
  ASSIGN_OR_RETURN(const int at, AxisOf(axis, call.in(0).rank() + 1));
  Shape shape = call.in(0).shape();
  shape.insert(shape.begin() + at, 1);
  ASSIGN_OR_RETURN(Tensor out, call.in(0).Reshaped(std::move(shape)));
  return One(std::move(out));
}

Outputs Squeeze(const Call& call) {
  const Tensor& in = call.in(0);
  std::set<int> axes;
  for (const int64_t given : call.attributes().Ints("squeeze_dims")) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(given, in.rank()));
    if (in.dim(axis) != 1)
      return InvalidArgument("dimension {} of the shape {} has a size other than 1", given, ToString(in.shape()));
    axes.insert(axis);
  }
  Shape shape;
  for (int axis = 0; axis < in.rank(); ++axis) {
    const bool goes = axes.empty() ? in.dim(axis) == 1 : axes.contains(axis);
    if (!goes) shape.push_back(in.dim(axis));
  }
  ASSIGN_OR_RETURN(Tensor out, in.Reshaped(std::move(shape)));
  return One(std::move(out));
}

Outputs BroadcastArgs(const Call& call) {
  if (call.in(0).rank() != 1 || call.in(1).rank() != 1) return InvalidArgument("s0 and s1 must be vectors");
  ASSIGN_OR_RETURN(const Shape a, IntsOf(call.in(0), "s0"));
  ASSIGN_OR_RETURN(const Shape b, IntsOf(call.in(1), "s1"));
  ASSIGN_OR_RETURN(const Shape out, BroadcastShape(a, b));
  const Shape vector = {static_cast<int64_t>(out.size())};
  if (call.in(0).type() == DType::kInt64) return One(Tensor::Of<int64_t>(vector, out));
  return One(Tensor::Of<int32_t>(vector, {out.begin(), out.end()}));
}

constexpr Kernel kKernels[] = {
    {"Assert", Assert, 1, kAnyType, nullptr, false},
    {"BroadcastArgs", BroadcastArgs, 2},
    {"ExpandDims", ExpandDims, 2},
    {"Identity", Identity, 1},
    {"IdentityN", Identity, 1},
    {"NoOp", NoOp, 0},
    {"PlaceholderWithDefault", First, 1},
    {"PreventGradient", First, 1},
    {"Rank", Rank, 1},
    {"Reshape", Reshape, 2},
    {"Shape", ShapeOf, 1},
    {"ShapeN", ShapeN, 1},
    {"Size", Size, 1},
    {"Snapshot", First, 1},
    {"Squeeze", Squeeze, 1},
    {"StopGradient", First, 1},
};

}  // namespace

std::span<const Kernel> ShapeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
