// Ops on sparse tensors. A sparse tensor consists of a matrix with the index of each value as a row, the values, and
// the dense shape.
#include <algorithm>
#include <numeric>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

struct Sparse {
  std::vector<int64_t> indices;  // A row-major matrix [count, shape.size()].
  Shape shape;
  int64_t count = 0;

  std::span<const int64_t> at(int64_t i) const {
    return std::span(indices).subspan(static_cast<size_t>(i) * shape.size(), shape.size());
  }
};

// The row-major offset of an index in a dense tensor of the shape; -1 if the index is out of range.
int64_t OffsetOf(std::span<const int64_t> index, const Shape& shape) {
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape[i]) return -1;
    offset = offset * shape[i] + index[i];
  }
  return offset;
}

// Reads a sparse tensor without its values. InvalidArgument if the shape has too many elements, or if the indices do
// not have as many columns as the shape has sizes.
Result<Sparse> SparseOf(const Tensor& indices, const Tensor& shape) {
  Sparse sparse;
  ASSIGN_OR_RETURN(sparse.shape, IntsOf(shape, "the shape"));
  ASSIGN_OR_RETURN([[maybe_unused]] const int64_t elements, tensor::ElementCount(sparse.shape));
  ASSIGN_OR_RETURN(sparse.indices, AllIntsOf(indices, "indices"));
  sparse.count = indices.rank() == 0 ? 1 : indices.dim(0);
  const int64_t rank = indices.rank() == 2 ? indices.dim(1) : 1;
  if (indices.rank() > 2 || rank != static_cast<int64_t>(sparse.shape.size()))
    return InvalidArgument("indices {} do not fit a dense shape of {} dimensions", ToString(indices.shape()),
                           sparse.shape.size());
  return sparse;
}

Status CheckVectorOf(const Tensor& values, int64_t count) {
  if (values.rank() == 1 && values.elements() == count) return {};
  return InvalidArgument("values {} must be a vector of {} values, one for each index", ToString(values.shape()),
                         count);
}

Outputs SparseToDense(const Call& call) {
  ASSIGN_OR_RETURN(const Sparse sparse, SparseOf(call.in(0), call.in(1)));
  const Tensor& values = call.in(2);
  if (values.rank() > 0) RETURN_IF_ERROR(CheckVectorOf(values, sparse.count));
  if (call.in(3).rank() != 0 || call.in(3).type() != values.type())
    return InvalidArgument("default_value must be a scalar of {}", DTypeName(values.type()));
  RETURN_IF_ERROR(call.HasRoomFor(values.type(), sparse.shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(values, sparse.shape));
  const bool must_rise = call.attributes().Bool("validate_indices", true);
  return ForMoves(values.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), *Raw<T>(call.in(3)));
    int64_t before = -1;
    for (int64_t i = 0; i < sparse.count; ++i) {
      const int64_t offset = OffsetOf(sparse.at(i), sparse.shape);
      if (offset < 0) return InvalidArgument("indices[{}] is out of bounds of {}", i, ToString(sparse.shape));
      if (must_rise && offset <= before) return InvalidArgument("indices[{}] is repeated or out of order", i);
      Raw<T>(out)[offset] = Raw<T>(values)[values.rank() == 0 ? 0 : i];
      before = offset;
    }
    return One(out);
  });
}

// Returns the values with the indices in `order`, in this order, and `default_value` for each -1.
Outputs TakeValues(const Tensor& values, const Tensor& default_value, const std::vector<int64_t>& order) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(values, {static_cast<int64_t>(order.size())}));
  return ForMoves(values.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < order.size(); ++i)
      Raw<T>(out)[i] = order[i] < 0 ? *Raw<T>(default_value) : Raw<T>(values)[order[i]];
    return One(out);
  });
}

// Returns the indices of the values ordered by the values' rows, and -1 in the place of each row that has no values.
Result<std::vector<int64_t>> OrderByRow(const Sparse& sparse) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(sparse.shape[0]));
  for (int64_t i = 0; i < sparse.count; ++i) {
    const int64_t row = sparse.at(i)[0];
    if (row < 0 || row >= sparse.shape[0])
      return InvalidArgument("indices[{}, 0] is invalid: {} is not in [0, {})", i, row, sparse.shape[0]);
    rows[static_cast<size_t>(row)].push_back(i);
  }
  std::vector<int64_t> order;
  for (const auto& row : rows) {
    order.insert(order.end(), row.begin(), row.end());
    if (row.empty()) order.push_back(-1);
  }
  return order;
}

Outputs SparseFillEmptyRows(const Call& call) {
  ASSIGN_OR_RETURN(const Sparse sparse, SparseOf(call.in(0), call.in(2)));
  RETURN_IF_ERROR(CheckVectorOf(call.in(1), sparse.count));
  if (sparse.shape.empty() || call.in(0).rank() != 2)
    return InvalidArgument("dense_shape must have a dimension, and indices must be a matrix");
  if (call.in(3).rank() != 0 || call.in(3).type() != call.in(1).type())
    return InvalidArgument("default_value must be a scalar of {}", DTypeName(call.in(1).type()));
  const auto rank = static_cast<int64_t>(sparse.shape.size());
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {sparse.shape[0], rank + 4}));
  ASSIGN_OR_RETURN(const auto order, OrderByRow(sparse));
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, {static_cast<int64_t>(order.size()), rank}));
  ASSIGN_OR_RETURN(Tensor is_empty, Tensor::Make(DType::kBool, {sparse.shape[0]}));
  ASSIGN_OR_RETURN(Tensor reverse, Tensor::Make(DType::kInt64, {sparse.count}));
  std::fill_n(Raw<bool>(is_empty), sparse.shape[0], false);
  int64_t row = -1;
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t* to = Raw<int64_t>(indices) + static_cast<int64_t>(i) * rank;
    row = order[i] < 0 ? row + 1 : sparse.at(order[i])[0];
    std::fill_n(to, rank, 0);
    *to = row;
    if (order[i] < 0) {
      Raw<bool>(is_empty)[row] = true;
    } else {
      std::ranges::copy(sparse.at(order[i]), to);
      Raw<int64_t>(reverse)[order[i]] = static_cast<int64_t>(i);
    }
  }
  ASSIGN_OR_RETURN(const auto values, TakeValues(call.in(1), call.in(3), order));
  return std::vector<Tensor>{indices, values[0], is_empty, reverse};
}

// Returns the shape `to` of a reshaped tensor. If one of its sizes is -1, that size is computed from the others.
Result<Shape> NewShape(const Shape& from, Shape to) {
  ASSIGN_OR_RETURN(const int64_t elements, tensor::ElementCount(from));
  const auto inferred = std::ranges::find(to, -1);
  if (inferred != to.end()) *inferred = 1;
  ASSIGN_OR_RETURN(const int64_t others, tensor::ElementCount(to));
  if (inferred != to.end()) {
    if (others == 0 || elements % others != 0)
      return InvalidArgument("reshape cannot infer a size: {} elements do not fit {}", elements, ToString(to));
    *inferred = elements / others;
  } else if (others != elements) {
    return InvalidArgument("{} elements cannot be reshaped to {}", elements, ToString(to));
  }
  return to;
}

Outputs SparseReshape(const Call& call) {
  ASSIGN_OR_RETURN(const Sparse sparse, SparseOf(call.in(0), call.in(1)));
  ASSIGN_OR_RETURN(const Shape wanted, IntsOf(call.in(2), "new_shape"));
  if (call.in(0).rank() != 2 || call.in(2).rank() != 1)
    return InvalidArgument("indices must be a matrix, and new_shape a vector");
  ASSIGN_OR_RETURN(const Shape shape, NewShape(sparse.shape, wanted));
  const auto rank = static_cast<int64_t>(shape.size());
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {sparse.count, rank}));
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, {sparse.count, rank}));
  for (int64_t i = 0; i < sparse.count; ++i) {
    int64_t offset = OffsetOf(sparse.at(i), sparse.shape);
    if (offset < 0) return InvalidArgument("indices[{}] is out of bounds of {}", i, ToString(sparse.shape));
    for (int64_t axis = rank; axis-- > 0; offset /= shape[static_cast<size_t>(axis)])
      Raw<int64_t>(indices)[i * rank + axis] = offset % shape[static_cast<size_t>(axis)];
  }
  return std::vector<Tensor>{indices, Tensor::Of<int64_t>({rank}, shape)};
}

Outputs SparseReorder(const Call& call) {
  ASSIGN_OR_RETURN(const Sparse sparse, SparseOf(call.in(0), call.in(2)));
  RETURN_IF_ERROR(CheckVectorOf(call.in(1), sparse.count));
  if (call.in(0).rank() != 2) return InvalidArgument("indices must be a matrix");
  std::vector<int64_t> order(static_cast<size_t>(sparse.count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return std::ranges::lexicographical_compare(sparse.at(a), sparse.at(b)); });
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, call.in(0).shape()));
  int64_t* to = Raw<int64_t>(indices);
  for (const int64_t i : order) {
    if (OffsetOf(sparse.at(i), sparse.shape) < 0)
      return InvalidArgument("indices[{}] is out of bounds of {}", i, ToString(sparse.shape));
    to = std::ranges::copy(sparse.at(i), to).out;
  }
  ASSIGN_OR_RETURN(const auto values, TakeValues(call.in(1), {}, order));
  return std::vector<Tensor>{indices, values[0]};
}

// Returns the values inside the block that begins at `start` and has the size `size`. Their indices are relative to
// `start`.
Outputs SparseSlice(const Call& call) {
  ASSIGN_OR_RETURN(const Sparse sparse, SparseOf(call.in(0), call.in(2)));
  RETURN_IF_ERROR(CheckVectorOf(call.in(1), sparse.count));
  ASSIGN_OR_RETURN(const auto start, IntsOf(call.in(3), "start"));
  ASSIGN_OR_RETURN(Shape size, IntsOf(call.in(4), "size"));
  if (call.in(0).rank() != 2 || start.size() != sparse.shape.size() || size.size() != sparse.shape.size())
    return InvalidArgument("start and size must have {} numbers", sparse.shape.size());
  for (size_t axis = 0; axis < size.size(); ++axis) {
    if (start[axis] < 0 || size[axis] < 0) return InvalidArgument("start and size must not be negative");
    size[axis] = std::clamp<int64_t>(sparse.shape[axis] - start[axis], 0, size[axis]);
  }
  std::vector<int64_t> kept, indices;
  for (int64_t i = 0; i < sparse.count; ++i) {
    std::vector<int64_t> index(sparse.at(i).begin(), sparse.at(i).end());
    if (OffsetOf(index, sparse.shape) < 0) return InvalidArgument("indices[{}] is out of bounds", i);
    for (size_t axis = 0; axis < index.size(); ++axis) index[axis] -= start[axis];
    if (OffsetOf(index, size) < 0) continue;
    kept.push_back(i);
    indices.insert(indices.end(), index.begin(), index.end());
  }
  ASSIGN_OR_RETURN(const auto values, TakeValues(call.in(1), {}, kept));
  const auto rank = static_cast<int64_t>(size.size());
  return std::vector<Tensor>{Tensor::Of<int64_t>({static_cast<int64_t>(kept.size()), rank}, indices), values[0],
                             Tensor::Of<int64_t>({rank}, size)};
}

// Sparse tensors to concatenate along a dimension. The op's inputs are first the indices of all tensors, then all
// values, then all shapes.
struct Parts {
  std::vector<Sparse> sparse;
  Shape shape;
  size_t axis = 0;
};

Result<Parts> PartsOf(const Call& call) {
  Parts parts;
  const size_t count = call.inputs.size() / 3;
  for (size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Sparse sparse, SparseOf(call.in(i), call.in(2 * count + i)));
    RETURN_IF_ERROR(CheckVectorOf(call.in(count + i), sparse.count));
    if (call.in(i).rank() != 2 || call.in(count + i).type() != call.in(count).type())
      return InvalidArgument("indices of input {} must be a matrix, not {}, and all values must have one type", i,
                             ToString(call.in(i).shape()));
    parts.sparse.push_back(std::move(sparse));
  }
  parts.shape = parts.sparse[0].shape;
  ASSIGN_OR_RETURN(const int axis,
                   AxisOf(call.attributes().Int("concat_dim", 0), static_cast<int>(parts.shape.size())));
  parts.axis = static_cast<size_t>(axis);
  parts.shape[parts.axis] = 0;
  for (const auto& part : parts.sparse) {
    Shape same = part.shape;
    if (same.size() != parts.shape.size())
      return InvalidArgument("inputs have different ranks: {} and {}", same.size(), parts.shape.size());
    parts.shape[parts.axis] += same[parts.axis];
    same[parts.axis] = parts.shape[parts.axis];
    if (same != parts.shape)
      return InvalidArgument("inputs have shapes that do not fit together: {} and {}", ToString(parts.shape),
                             ToString(part.shape));
  }
  ASSIGN_OR_RETURN([[maybe_unused]] const int64_t elements, tensor::ElementCount(parts.shape));
  return parts;
}

struct Found {
  std::vector<int64_t> index;
  size_t part = 0;
  int64_t at = 0;
};

Outputs SparseConcat(const Call& call) {
  if (call.inputs.size() % 3 != 0)
    return InvalidArgument("{} inputs are not a multiple of three: indices, values and shapes", call.inputs.size());
  ASSIGN_OR_RETURN(const Parts parts, PartsOf(call));
  std::vector<Found> all;
  int64_t shift = 0;
  for (size_t i = 0; i < parts.sparse.size(); ++i) {
    for (int64_t k = 0; k < parts.sparse[i].count; ++k) {
      const auto index = parts.sparse[i].at(k);
      all.push_back({.index = {index.begin(), index.end()}, .part = i, .at = k});
      all.back().index[parts.axis] += shift;
      if (OffsetOf(all.back().index, parts.shape) < 0)
        return InvalidArgument("indices[{}] of input {} is out of bounds", k, i);
    }
    shift += parts.sparse[i].shape[parts.axis];
  }
  std::ranges::stable_sort(all, {}, &Found::index);
  const auto count = static_cast<int64_t>(all.size()), rank = static_cast<int64_t>(parts.shape.size());
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, {count, rank}));
  ASSIGN_OR_RETURN(Tensor values, MakeLike(call.in(parts.sparse.size()), {count}));
  int64_t* to = Raw<int64_t>(indices);
  for (const auto& found : all) to = std::ranges::copy(found.index, to).out;
  const auto copied = ForMoves(values.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < all.size(); ++i)
      Raw<T>(values)[i] = Raw<T>(call.in(parts.sparse.size() + all[i].part))[all[i].at];
    return One(values);
  });
  if (!copied) return copied;
  return std::vector<Tensor>{indices, values, Tensor::Of<int64_t>({rank}, parts.shape)};
}

constexpr Kernel kKernels[] = {
    {.op = "SparseConcat", .compute = SparseConcat, .inputs_min = 3},
    {.op = "SparseFillEmptyRows", .compute = SparseFillEmptyRows, .inputs_min = 4},
    {.op = "SparseReorder", .compute = SparseReorder, .inputs_min = 3},
    {.op = "SparseReshape", .compute = SparseReshape, .inputs_min = 3},
    {.op = "SparseSlice", .compute = SparseSlice, .inputs_min = 5},
    {.op = "SparseToDense", .compute = SparseToDense, .inputs_min = 4},
};

}  // namespace

std::span<const Kernel> SparseKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
