#include "serving-node/engine/kernels/base/strided.h"

#include <algorithm>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels {

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Result<Tensor> StridedCopy(const Tensor& in, int64_t first, const Shape& shape, const std::vector<int64_t>& strides) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const int64_t inner = shape.empty() ? 0 : strides.back();
  const auto copied = ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachRow(shape, std::array{strides}, [&](int64_t to, const std::array<int64_t, 1>& from, int64_t count) {
      const T* source = Raw<T>(in) + first + from[0];
      if (inner == 1) {
        std::copy_n(source, count, Raw<T>(out) + to);
        return;
      }
      for (int64_t i = 0; i < count; ++i) Raw<T>(out)[to + i] = source[i * inner];
    });
    return Outputs{};
  });
  if (!copied) return tl::make_unexpected(copied.error());
  return out;
}

Status CopyInto(const Tensor& in, int64_t first, const std::vector<int64_t>& strides, Tensor* out) {
  const auto copied = ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t inner = in.rank() == 0 ? 0 : strides.back();
    ForEachRow(in.shape(), std::array{strides}, [&](int64_t from, const std::array<int64_t, 1>& to, int64_t count) {
      T* target = Raw<T>(*out) + first + to[0];
      for (int64_t i = 0; i < count; ++i) target[i * inner] = Raw<T>(in)[from + i];
    });
    return Outputs{};
  });
  if (!copied) return tl::make_unexpected(copied.error());
  return {};
}

}  // namespace longshore::engine::kernels
