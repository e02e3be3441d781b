// Maps values to the ranges by which they are quantised: each slice along an axis has its own range, or all values
// share one range.
#pragma once

#include <algorithm>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::neural {

// Each range applies to `shared` consecutive values. After the values of the last range, those of the first range
// follow again.
struct RangeLayout {
  int64_t ranges = 1;
  int64_t shared = 1;  // How many consecutive values share a range: at least 1.

  size_t RangeOf(int64_t value) const { return static_cast<size_t>(value / shared % ranges); }
};

// The layout of the ranges of input 0. Each slice along the attribute `axis` has its own range; if `axis` is -1, the
// default, the whole tensor has one range.
inline Result<RangeLayout> RangeLayoutOf(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t axis = call.attributes().Int("axis", -1);
  if (axis == -1) return RangeLayout{1, std::max<int64_t>(in.elements(), 1)};
  if (axis < 0 || axis >= in.rank())
    return InvalidArgument("axis {} is out of range for the shape {}", axis, ToString(in.shape()));
  const auto at = static_cast<size_t>(axis);
  // The product is not computed for an empty tensor, because the product of its other sizes may overflow.
  return RangeLayout{in.shape()[at], in.elements() == 0 ? 1 : Product(in.shape(), at + 1, in.shape().size())};
}

}  // namespace longshore::engine::kernels::neural
