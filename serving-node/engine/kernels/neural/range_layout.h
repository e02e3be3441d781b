// Maps values to the ranges that quantise them: each slice along an axis has its own range, or one range serves all.
#pragma once

#include <algorithm>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::neural {

// `shared` consecutive values share a range; after the last range the first one follows again.
struct RangeLayout {
  int64_t ranges = 1;
  int64_t shared = 1;  // At least 1.

  size_t RangeOf(int64_t value) const { return static_cast<size_t>(value / shared % ranges); }
};

// The layout of input 0 by the attribute `axis`. -1, the default, means one range for the whole tensor.
inline Result<RangeLayout> RangeLayoutOf(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t axis = call.attributes().Int("axis", -1);
  if (axis == -1) return RangeLayout{1, std::max<int64_t>(in.elements(), 1)};
  if (axis < 0 || axis >= in.rank())
    return InvalidArgument("axis {} is out of range for the shape {}", axis, ToString(in.shape()));
  const auto at = static_cast<size_t>(axis);
  // For an empty tensor the product of the other sizes may overflow.
  return RangeLayout{in.shape()[at], in.elements() == 0 ? 1 : Product(in.shape(), at + 1, in.shape().size())};
}

}  // namespace longshore::engine::kernels::neural
