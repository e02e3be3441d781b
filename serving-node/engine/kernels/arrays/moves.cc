// Kernels that move elements: they transpose, pad and repeat.
#include <algorithm>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/strided.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::arrays {
namespace {

Outputs Transpose(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto order, IntsOf(call.in(1), "perm"));
  const auto strides = Strides(in.shape());
  std::vector<bool> seen(order.size());
  Shape shape;
  std::vector<int64_t> moved;
  if (order.size() != in.shape().size())
    return InvalidArgument("perm {} must be a vector of size {}", ToString(order), in.rank());
  for (const int64_t given : order) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(given, in.rank()));
    const auto at = static_cast<size_t>(axis);
    if (seen[at]) return InvalidArgument("perm {} has an axis twice, and another one is missing", ToString(order));
    seen[at] = true;
    shape.push_back(in.shape()[at]);
    moved.push_back(strides[at]);
  }
  return One(StridedCopy(in, 0, shape, moved));
}

Outputs BroadcastTo(const Call& call) {
  if (call.in(1).rank() != 1) return InvalidArgument("shape must be a vector, not {}", ToString(call.in(1).shape()));
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(1), "shape"));
  ASSIGN_OR_RETURN(const Shape both, BroadcastShape(call.in(0).shape(), shape));
  if (both != shape)
    return InvalidArgument("{} does not broadcast to {}", ToString(call.in(0).shape()), ToString(shape));
  RETURN_IF_ERROR(call.HasRoomFor(call.in(0).type(), shape));
  return One(StridedCopy(call.in(0), 0, shape, BroadcastStrides(call.in(0).shape(), shape)));
}

// Views each axis as two axes, of which the first has the stride 0 and so repeats the second.
Outputs Tile(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto multiples, IntsOf(call.in(1), "multiples"));
  if (multiples.size() != in.shape().size())
    return InvalidArgument("multiples {} do not fit rank {}", ToString(multiples), in.rank());
  const auto strides = Strides(in.shape());
  Shape shape, split;
  std::vector<int64_t> split_strides;
  for (size_t i = 0; i < multiples.size(); ++i) {
    int64_t size = 0;
    if (multiples[i] < 0 || __builtin_mul_overflow(in.shape()[i], multiples[i], &size))
      return InvalidArgument("multiples {} are negative or too large", ToString(multiples));
    shape.push_back(size);
    split.insert(split.end(), {multiples[i], in.shape()[i]});
    split_strides.insert(split_strides.end(), {0, strides[i]});
  }
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(const Tensor tiled, StridedCopy(in, 0, split, split_strides));
  return One(tiled.Reshaped(shape));
}

Outputs Padded(const Call& call, const Tensor* value) {
  const Tensor& in = call.in(0);
  const Tensor& paddings = call.in(1);
  ASSIGN_OR_RETURN(const Tensor flat, paddings.Reshaped({paddings.elements()}));
  ASSIGN_OR_RETURN(const auto pads, IntsOf(flat, "paddings", 2 * tensor::kRankMax));
  if (pads.size() != 2 * in.shape().size())
    return InvalidArgument("paddings of shape {} do not fit rank {}", ToString(paddings.shape()), in.rank());
  if (value != nullptr && (value->type() != in.type() || value->elements() != 1))
    return InvalidArgument("constant_values must be one {}", DTypeName(in.type()));
  Shape shape = in.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool too_large = pads[2 * i] > static_cast<int64_t>(tensor::kTensorBytesMax) ||
                           pads[2 * i + 1] > static_cast<int64_t>(tensor::kTensorBytesMax);
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0 || too_large)
      return InvalidArgument("paddings {} are negative or too large", ToString(pads));
    shape[i] += pads[2 * i] + pads[2 * i + 1];
  }
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  RETURN_IF_ERROR(ForMoves(in.type(), [&](auto tag) {
                    using T = typename decltype(tag)::type;
                    std::fill_n(Raw<T>(out), out.elements(), value == nullptr ? T{} : *Raw<T>(*value));
                    return Outputs{};
                  }).map([](const auto&) {}));
  const auto strides = Strides(shape);
  int64_t first = 0;
  for (size_t i = 0; i < shape.size(); ++i) first += pads[2 * i] * strides[i];
  RETURN_IF_ERROR(CopyInto(in, first, strides, &out));
  return One(std::move(out));
}

Outputs Pad(const Call& call) { return Padded(call, nullptr); }
Outputs PadV2(const Call& call) { return Padded(call, &call.in(2)); }

constexpr Kernel kKernels[] = {
    {"BroadcastTo", BroadcastTo, 2}, {"Pad", Pad, 2}, {"PadV2", PadV2, 3}, {"Tile", Tile, 2},
    {"Transpose", Transpose, 2},
};

}  // namespace

std::span<const Kernel> MoveKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
