// Products of matrices or of batches of matrices.
#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/gemm.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

constexpr TypeSet kProducts = kFloats | Only(DType::kInt32) | Only(DType::kInt64);

template <typename F>
Outputs ForProducts(DType type, F f) {
  switch (type) {
    case DType::kInt32: return f(TypeTag<int32_t>{});
    case DType::kInt64: return f(TypeTag<int64_t>{});
    default: return ForFloats(type, f);
  }
}

// Returns the matrix, or if `transpose` its transpose, which is written into `buffer`.
template <typename T>
const T* TransposedIf(const T* matrix, int64_t rows, int64_t columns, bool transpose, std::vector<T>* buffer) {
  if (!transpose) return matrix;
  buffer->resize(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) (*buffer)[static_cast<size_t>(j * rows + i)] = matrix[i * columns + j];
  }
  return buffer->data();
}

struct Transposes {
  bool a = false;
  bool b = false;
};

Outputs Product(const Call& call, Transposes transpose) {
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (a.type() != b.type())
    return InvalidArgument("inputs of different types: {} and {}", DTypeName(a.type()), DTypeName(b.type()));
  if (a.rank() < 2 || b.rank() < 2)
    return InvalidArgument("inputs of shapes {} and {} are not matrices", ToString(a.shape()), ToString(b.shape()));
  const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
  const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
  const int64_t m = transpose.a ? a_columns : a_rows;
  const int64_t k = transpose.a ? a_rows : a_columns;
  const int64_t n = transpose.b ? b_rows : b_columns;
  if (k != (transpose.b ? b_columns : b_rows)) {
    return InvalidArgument("Matrix size-incompatible: In[0]: {}, In[1]: {}", ToString(a.shape()), ToString(b.shape()));
  }
  const Shape a_batch(a.shape().begin(), a.shape().end() - 2);
  const Shape b_batch(b.shape().begin(), b.shape().end() - 2);
  ASSIGN_OR_RETURN(Shape shape, BroadcastShape(a_batch, b_batch));
  const std::array strides = {BroadcastStrides(a_batch, shape), BroadcastStrides(b_batch, shape)};
  const Shape batch = shape;
  shape.insert(shape.end(), {m, n});
  RETURN_IF_ERROR(call.HasRoomFor(a.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(a, shape));
  return ForProducts(a.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> a_buffer, b_buffer;
    ForEachRow(batch, strides, [&](int64_t to, const std::array<int64_t, 2>& from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t a_at = from[0] + (batch.empty() ? 0 : i * strides[0].back());
        const int64_t b_at = from[1] + (batch.empty() ? 0 : i * strides[1].back());
        const T* left = TransposedIf(Raw<T>(a) + a_at * m * k, a_rows, a_columns, transpose.a, &a_buffer);
        const T* right = TransposedIf(Raw<T>(b) + b_at * k * n, b_rows, b_columns, transpose.b, &b_buffer);
        Gemm(left, right, Raw<T>(out) + (to + i) * m * n, m, k, n);
      }
    });
    return One(out);
  });
}

Outputs MatMul(const Call& call) {
  if (call.in(0).rank() != 2 || call.in(1).rank() != 2) {
    return InvalidArgument("inputs of shapes {} and {} are not both matrices", ToString(call.in(0).shape()),
                           ToString(call.in(1).shape()));
  }
  return Product(call, {call.attributes().Bool("transpose_a", false), call.attributes().Bool("transpose_b", false)});
}

Outputs BatchMatMul(const Call& call) {
  return Product(call, {call.attributes().Bool("adj_x", false), call.attributes().Bool("adj_y", false)});
}

// Unimplemented unless both inputs and the result have the same type and this type is supported.
Status CheckOneType(const graph::Node& node) {
  const DType type = node.attributes.Type("Ta");
  if ((Only(type) & (kProducts | Only(DType::kBfloat16))) == 0 || node.attributes.Type("Tb") != type ||
      node.attributes.Type("Tout") != type) {
    return Unimplemented("{} of {} and {} to {}", node.op, DTypeName(type), DTypeName(node.attributes.Type("Tb")),
                         DTypeName(node.attributes.Type("Tout")));
  }
  return {};
}

constexpr Kernel kKernels[] = {
    {"BatchMatMul", AlsoShort<BatchMatMul>, 2, kProducts | kShortFloats},
    {"BatchMatMulV2", AlsoShort<BatchMatMul>, 2, kProducts | kShortFloats},
    {"BatchMatMulV3", AlsoShort<BatchMatMul>, 2, kAnyType, CheckOneType},
    {"MatMul", AlsoShort<MatMul>, 2, kProducts | kShortFloats},
};

}  // namespace

std::span<const Kernel> MatMulKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math
