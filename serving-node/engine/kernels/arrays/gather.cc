// Lookups by index: gathering, one-hot rows, and the largest values of a row.
#include <algorithm>
#include <numeric>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::arrays {
namespace {

Result<std::vector<int64_t>> IndicesOf(const Tensor& indices, int64_t limit) {
  ASSIGN_OR_RETURN(const Tensor flat, indices.Reshaped({indices.elements()}));
  ASSIGN_OR_RETURN(auto values, IntsOf(flat, "indices", tensor::kTensorBytesMax));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= limit)
      return InvalidArgument("indices[{}] = {} is not in [0, {})", i, values[i], limit);
  }
  return values;
}

// params [batch..., outer..., limit, inner...] and indices [batch..., n...] give [batch..., outer..., n..., inner...].
Outputs Gather(const Call& call, const Tensor& params, int64_t given_axis, int64_t batch_dims) {
  const Tensor& indices = call.in(1);
  ASSIGN_OR_RETURN(const int axis, AxisOf(given_axis, params.rank()));
  if (batch_dims < 0) batch_dims += indices.rank();
  if (batch_dims < 0 || batch_dims > indices.rank() || batch_dims > axis)
    return InvalidArgument("batch_dims {} must not be negative, above axis {} or above {}, the rank of indices",
                           batch_dims, axis, indices.rank());
  const auto at = static_cast<size_t>(axis);
  const auto batch = static_cast<size_t>(batch_dims);
  const Shape& shape = params.shape();
  if (!std::equal(shape.begin(), shape.begin() + batch_dims, indices.shape().begin())) {
    return InvalidArgument("params {} and indices {} differ in their batch dimensions", ToString(shape),
                           ToString(indices.shape()));
  }
  ASSIGN_OR_RETURN(const auto values, IndicesOf(indices, shape[at]));
  const int64_t batches = Product(shape, 0, batch);
  const int64_t outer = Product(shape, batch, at);
  const int64_t inner = Product(shape, at + 1, shape.size());
  const int64_t count = Product(indices.shape(), batch, indices.shape().size());
  Shape out_shape(shape.begin(), shape.begin() + axis);
  out_shape.insert(out_shape.end(), indices.shape().begin() + batch_dims, indices.shape().end());
  out_shape.insert(out_shape.end(), shape.begin() + axis + 1, shape.end());
  RETURN_IF_ERROR(call.HasRoomFor(params.type(), out_shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(params, out_shape));
  return ForMoves(params.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = Raw<T>(out);
    for (int64_t row = 0; row < batches * outer; ++row) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = values[static_cast<size_t>(row / outer * count + i)];
        to = std::copy_n(Raw<T>(params) + (row * shape[at] + index) * inner, inner, to);
      }
    }
    return One(out);
  });
}

Outputs GatherV2(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.in(2), "axis"));
  return Gather(call, call.in(0), axis, call.attributes().Int("batch_dims", 0));
}

Outputs GatherV1(const Call& call) { return Gather(call, call.in(0), 0, 0); }

Outputs ResourceGather(const Call& call) {
  const auto* variable = ResourceOf<Variable>(call.in(0));
  if (variable == nullptr) return InvalidArgument("the first input is not a variable");
  return Gather(call, variable->Get(), 0, call.attributes().Int("batch_dims", 0));
}

// An index outside [0, depth) gives a row that has only off_value.
Outputs OneHot(const Call& call) {
  const Tensor& indices = call.in(0);
  ASSIGN_OR_RETURN(const int64_t depth, IntOf(call.in(1), "depth"));
  if (call.in(2).elements() != 1 || call.in(3).elements() != 1 || call.in(2).type() != call.in(3).type())
    return InvalidArgument("on_value and off_value must be scalars of one type");
  ASSIGN_OR_RETURN(const int axis, AxisOf(call.attributes().Int("axis", -1), indices.rank() + 1));
  ASSIGN_OR_RETURN(const Tensor flat, indices.Reshaped({indices.elements()}));
  ASSIGN_OR_RETURN(const auto values, IntsOf(flat, "indices", tensor::kTensorBytesMax));
  Shape shape = indices.shape();
  const int64_t inner = Product(shape, static_cast<size_t>(axis), shape.size());
  shape.insert(shape.begin() + axis, depth);
  RETURN_IF_ERROR(call.HasRoomFor(call.in(2).type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(2), shape));
  return ForMoves(out.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), *Raw<T>(call.in(3)));
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || values[i] >= depth) continue;
      const int64_t row = static_cast<int64_t>(i) / inner;
      Raw<T>(out)[(row * depth + values[i]) * inner + static_cast<int64_t>(i) % inner] = *Raw<T>(call.in(2));
    }
    return One(out);
  });
}

// The k largest values of each row and their indices. If values are equal, the one with the lower index comes first.
Outputs TopK(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const int64_t k, IntOf(call.in(1), "k"));
  if (in.rank() < 1 || k < 0 || k > in.shape().back())
    return InvalidArgument("k = {} is out of range for the shape {}", k, ToString(in.shape()));
  const int64_t row = in.shape().back();
  const int64_t rows = Product(in.shape(), 0, in.shape().size() - 1);
  Shape shape = in.shape();
  shape.back() = k;
  if (in.elements() > 0) RETURN_IF_ERROR(call.HasRoomFor(DType::kInt32, {row}));
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt32, shape));
  ASSIGN_OR_RETURN(Tensor values, MakeLike(in, shape));
  return ForNumbers(in.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    if (values.elements() == 0) return std::vector<Tensor>{values, indices};
    std::vector<int32_t> order(static_cast<size_t>(row));
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = Raw<T>(in) + r * row;
      std::iota(order.begin(), order.end(), 0);
      // NaN is ordered below all numbers, so that this is a strict weak ordering.
      const auto above = [from](int32_t a, int32_t b) {
        return from[a] > from[b] || (from[a] == from[a] && from[b] != from[b]);
      };
      std::stable_sort(order.begin(), order.end(), above);
      for (int64_t i = 0; i < k; ++i) {
        indices.mutable_values<int32_t>()[static_cast<size_t>(r * k + i)] = order[static_cast<size_t>(i)];
        Raw<T>(values)[r * k + i] = from[order[static_cast<size_t>(i)]];
      }
    }
    return std::vector<Tensor>{values, indices};
  });
}

constexpr Kernel kKernels[] = {
    {.op = "Gather", .compute = GatherV1, .inputs_min = 2},
    {.op = "GatherV2", .compute = GatherV2, .inputs_min = 3},
    {.op = "OneHot", .compute = OneHot, .inputs_min = 4},
    {.op = "ResourceGather", .compute = ResourceGather, .inputs_min = 2, .reads_variable = true},
    {.op = "TopKV2", .compute = TopK, .inputs_min = 2, .types = kNumbers},
};

}  // namespace

std::span<const Kernel> GatherKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays
