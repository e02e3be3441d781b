#include "serving-node/engine/kernels/base/broadcast.h"

#include <algorithm>

namespace longshore::engine::kernels {

Result<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return InvalidArgument("incompatible shapes: {} and {}", ToString(a), ToString(b));
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<int64_t> BroadcastStrides(const Shape& shape, const Shape& out) {
  std::vector<int64_t> strides(out.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape[shape.size() - 1 - i];
    strides[out.size() - 1 - i] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

}  // namespace longshore::engine::kernels
