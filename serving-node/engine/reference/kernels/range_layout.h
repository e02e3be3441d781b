// How values lie that are quantised by ranges of their own along an axis, or all by one range.
#pragma once

#include <algorithm>

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// So many values after each other share a range; after the last range comes the first again.
struct RangeLayout {
  int64_t ranges = 1;
  int64_t shared = 1;  // At least 1.

  size_t RangeOf(int64_t value) const { return static_cast<size_t>(value / shared % ranges); }
};

// Of input 0 by the attribute `axis`; -1, which it is where the model does not say it, is none.
inline Result<RangeLayout> RangeLayoutOf(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t axis = call.attributes().Int("axis", -1);
  if (axis == -1) return RangeLayout{1, std::max<int64_t>(in.elements(), 1)};
  if (axis < 0 || axis >= in.rank()) return InvalidArgument("axis {} lies outside of {}", axis, ToString(in.shape()));
  const auto at = static_cast<size_t>(axis);
  // Where there are no values the sizes may have no product.
  return RangeLayout{in.shape()[at], in.elements() == 0 ? 1 : Product(in.shape(), at + 1, in.shape().size())};
}

}  // namespace longshore::engine::reference::kernels
