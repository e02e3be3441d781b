// The product of a sparse and a dense matrix.
#include <algorithm>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

// The position of a value in the sparse matrix, or in the transposed matrix if the op multiplies by that.
struct Place {
  int64_t row = 0, column = 0;
};

Result<std::vector<Place>> PlacesOf(const Call& call, const Shape& shape, bool transposed) {
  const Tensor& indices = call.in(0);
  ASSIGN_OR_RETURN(const auto numbers, AllIntsOf(indices, "a_indices"));
  if (indices.rank() != 2 || indices.dim(1) != 2 || call.in(1).rank() != 1 || call.in(1).elements() != indices.dim(0)) {
    return InvalidArgument("a_indices {} and a_values {} do not fit together", ToString(indices.shape()),
                           ToString(call.in(1).shape()));
  }
  std::vector<Place> places;
  for (size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i] < 0 || numbers[i] >= shape[0] || numbers[i + 1] < 0 || numbers[i + 1] >= shape[1])
      return InvalidArgument("a_indices[{}] is out of bounds of {}", i / 2, ToString(shape));
    places.push_back(transposed ? Place{numbers[i + 1], numbers[i]} : Place{numbers[i], numbers[i + 1]});
  }
  return places;
}

Outputs SparseTensorDenseMatMul(const Call& call) {
  const Tensor& b = call.in(3);
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(2), "a_shape"));
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0 || b.rank() != 2 || b.type() != call.in(1).type())
    return InvalidArgument("a of shape {} and b of shape {} must be matrices of one type", ToString(shape),
                           ToString(b.shape()));
  const bool a_transposed = call.attributes().Bool("adjoint_a", false),
             b_transposed = call.attributes().Bool("adjoint_b", false);
  if (shape[a_transposed ? 0 : 1] != b.dim(b_transposed ? 1 : 0))
    return InvalidArgument("a of shape {} and b of shape {} differ in their inner sizes", ToString(shape),
                           ToString(b.shape()));
  ASSIGN_OR_RETURN(const auto places, PlacesOf(call, shape, a_transposed));
  const int64_t rows = shape[a_transposed ? 1 : 0], columns = b.dim(b_transposed ? 0 : 1);
  RETURN_IF_ERROR(call.HasRoomFor(b.type(), {rows, columns}));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(b, {rows, columns}));
  return ForNumbers(b.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    for (size_t i = 0; i < places.size(); ++i) {
      const auto value = static_cast<Wide>(Raw<T>(call.in(1))[i]);
      for (int64_t k = 0; k < columns; ++k) {
        const int64_t from = b_transposed ? k * b.dim(1) + places[i].column : places[i].column * columns + k;
        T& sum = Raw<T>(out)[places[i].row * columns + k];
        sum = static_cast<T>(static_cast<Wide>(sum) + value * static_cast<Wide>(Raw<T>(b)[from]));
      }
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {.op = "SparseTensorDenseMatMul",
     .compute = SparseTensorDenseMatMul,
     .inputs_min = 4,
     .types = kFloats | Only(DType::kInt32)},
};

}  // namespace

std::span<const Kernel> SparseProductKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
