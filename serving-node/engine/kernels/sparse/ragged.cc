// Ops on ragged tensors. A ragged tensor consists of its values and of the row splits of each ragged dimension.
#include <algorithm>
#include <cmath>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

using Splits = std::vector<int64_t>;

// Reads and checks the row splits of each ragged dimension, the outermost first. The last of the innermost splits must
// be `values`, the number of values.
Result<std::vector<Splits>> NestedSplits(std::span<const Tensor> tensors, int64_t values) {
  std::vector<Splits> nested;
  for (const auto& tensor : tensors) {
    ASSIGN_OR_RETURN(Splits splits, AllIntsOf(tensor, "row splits"));
    if (tensor.rank() != 1) return InvalidArgument("row splits must be a vector");
    nested.push_back(std::move(splits));
  }
  for (size_t i = 0; i < nested.size(); ++i) {
    const int64_t rows = i + 1 < nested.size() ? static_cast<int64_t>(nested[i + 1].size()) - 1 : values;
    RETURN_IF_ERROR(CheckSplits(nested[i], rows));
  }
  return nested;
}

// How many numbers a range has that begins at `start`, has steps of `delta` and ends before `limit`.
template <typename T>
Result<int64_t> RangeSize(T start, T limit, T delta) {
  if (delta == T{0}) return InvalidArgument("Requires delta != 0");
  if ((delta > 0) == (limit < start) || limit == start) return 0;
  const auto too_large = [&](auto count) {
    return InvalidArgument("a range of {} numbers is too large: start {}, limit {}, delta {}", count, start, limit,
                           delta);
  };
  if constexpr (std::is_integral_v<T>) {
    const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                        : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t width = sizeof(T) == 4 ? distance & UINT32_MAX : distance;
    const uint64_t count = (width - 1) / (sizeof(T) == 4 ? step & UINT32_MAX : step) + 1;
    if (count > tensor::kTensorBytesMax) return too_large(count);
    return static_cast<int64_t>(count);
  } else {
    const double count = std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / delta));
    if (!(count <= static_cast<double>(tensor::kTensorBytesMax))) return too_large(count);
    return static_cast<int64_t>(count);
  }
}

// The number of ranges that the op makes, one per row. A scalar input applies to every row.
Result<int64_t> RowsOfRanges(const Call& call) {
  int64_t rows = -1;
  for (const auto& input : call.inputs.first(3)) {
    if (input.rank() > 1 || input.type() != call.in(0).type())
      return InvalidArgument("starts, limits and deltas must be scalars or vectors of one type");
    if (input.rank() == 0) continue;
    if (rows >= 0 && rows != input.elements())
      return InvalidArgument("starts, limits and deltas must have the same shape");
    rows = input.elements();
  }
  return std::max<int64_t>(rows, rows < 0 ? 1 : 0);
}

template <typename T>
Outputs Ranges(const Call& call, int64_t rows) {
  const auto at = [&](size_t input, int64_t row) {
    return Raw<T>(call.in(input))[call.in(input).rank() == 0 ? 0 : row];
  };
  Splits splits = {0};
  for (int64_t row = 0; row < rows; ++row) {
    ASSIGN_OR_RETURN(const int64_t size, RangeSize<T>(at(0, row), at(1, row), at(2, row)));
    splits.push_back(splits.back() + size);
    RETURN_IF_ERROR(call.HasRoomFor(call.in(0).type(), {splits.back()}));
  }
  const DType splits_type = call.attributes().Type("Tsplits", DType::kInt64);
  if (splits_type == DType::kInt32 && splits.back() > INT32_MAX)
    return InvalidArgument("{} values are too many for row splits of int32", splits.back());
  ASSIGN_OR_RETURN(Tensor values, Tensor::Make(call.in(0).type(), {splits.back()}));
  using Step = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  T* to = Raw<T>(values);
  for (int64_t row = 0; row < rows; ++row) {
    auto value = static_cast<Step>(at(0, row));
    for (int64_t i = splits[static_cast<size_t>(row)]; i < splits[static_cast<size_t>(row) + 1]; ++i) {
      *to++ = static_cast<T>(value);
      value += static_cast<Step>(at(2, row));
    }
  }
  ASSIGN_OR_RETURN(Tensor row_splits, IntTensor(splits_type, {rows + 1}, splits));
  return std::vector<Tensor>{row_splits, values};
}

Outputs RaggedRange(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t rows, RowsOfRanges(call));
  switch (call.in(0).type()) {
    case DType::kInt32: return Ranges<int32_t>(call, rows);
    case DType::kInt64: return Ranges<int64_t>(call, rows);
    case DType::kFloat: return Ranges<float>(call, rows);
    case DType::kDouble: return Ranges<double>(call, rows);
    default: return WrongType(call.in(0).type());
  }
}

// The state of RaggedGather, which goes from the outermost ragged dimension to the values.
struct Taken {
  std::vector<std::pair<int64_t, int64_t>> ranges;  // The gathered rows [begin, end) of the current dimension.
  std::vector<Splits> splits;
};

// Each dimension of the indices except the first becomes a ragged dimension, whose rows have equal lengths. Adds the
// splits of these dimensions. Checks the memory, because a client can ask for any number of empty rows.
Status AddEvenSplits(const Call& call, const Shape& indices, Taken* taken) {
  int64_t rows = 1, all_splits = 0;
  for (size_t axis = 0; axis + 1 < indices.size(); ++axis) {
    rows *= indices[axis];
    all_splits += rows + 1;
    RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {all_splits}));
    Splits splits;
    splits.reserve(static_cast<size_t>(rows) + 1);
    for (int64_t i = 0; i <= rows; ++i) splits.push_back(i * indices[axis + 1]);
    taken->splits.push_back(std::move(splits));
  }
  return {};
}

Status TakeLevel(const Call& call, const Splits& params, Taken* taken) {
  Splits splits = {0};
  for (auto& [begin, end] : taken->ranges) {
    RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {static_cast<int64_t>(splits.size()) + end - begin}));
    for (int64_t row = begin; row < end; ++row) {
      const auto at = static_cast<size_t>(row);
      splits.push_back(splits.back() + params[at + 1] - params[at]);
    }
    begin = params[static_cast<size_t>(begin)];
    end = params[static_cast<size_t>(end)];
  }
  taken->splits.push_back(std::move(splits));
  return {};
}

Result<Tensor> TakeValues(const Call& call, const Tensor& values, const Taken& taken) {
  Shape shape = values.shape();
  const int64_t width = Product(shape, 1, shape.size());
  shape[0] = 0;
  for (const auto& [begin, end] : taken.ranges) shape[0] += end - begin;
  RETURN_IF_ERROR(call.HasRoomFor(values.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(values, shape));
  const auto made = ForMoves(values.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    T* to = Raw<T>(out);
    for (const auto& [begin, end] : taken.ranges)
      to = std::copy_n(Raw<T>(values) + begin * width, (end - begin) * width, to);
    return One(out);
  });
  if (!made) return tl::make_unexpected(made.error());
  return out;
}

// The inputs are the splits of each ragged dimension, the values, and the indices.
Outputs RaggedGather(const Call& call) {
  const size_t ranks = call.inputs.size() - 2;
  const Tensor& values = call.in(ranks);
  const Tensor& indices = call.in(ranks + 1);
  if (ranks == 0 || values.rank() < 1 || indices.rank() < 1)
    return InvalidArgument("values {} and indices {} must each have a dimension, and there must be row splits",
                           ToString(values.shape()), ToString(indices.shape()));
  ASSIGN_OR_RETURN(const auto nested, NestedSplits(call.inputs.first(ranks), values.dim(0)));
  ASSIGN_OR_RETURN(const auto at, AllIntsOf(indices, "indices"));
  Taken taken;
  RETURN_IF_ERROR(AddEvenSplits(call, indices.shape(), &taken));
  const auto rows = static_cast<int64_t>(nested[0].size()) - 1;
  for (const int64_t index : at) {
    if (index < 0 || index >= rows)
      return InvalidArgument("indices has the value {}, which is not in [0, {})", index, rows);
    taken.ranges.emplace_back(index, index + 1);
  }
  for (const auto& splits : nested) RETURN_IF_ERROR(TakeLevel(call, splits, &taken));
  std::vector<Tensor> outputs;
  for (const auto& splits : taken.splits) {
    ASSIGN_OR_RETURN(Tensor made, IntTensor(call.in(0).type(), {static_cast<int64_t>(splits.size())}, splits));
    outputs.push_back(std::move(made));
  }
  ASSIGN_OR_RETURN(Tensor gathered, TakeValues(call, values, taken));
  outputs.push_back(std::move(gathered));
  return outputs;
}

int64_t LongestRow(const Splits& splits) {
  int64_t longest = 0;
  for (size_t i = 0; i + 1 < splits.size(); ++i) longest = std::max(longest, splits[i + 1] - splits[i]);
  return longest;
}

// Returns for each value its row and its position in the row.
std::vector<std::pair<int64_t, int64_t>> PlacesOf(const Splits& splits) {
  std::vector<std::pair<int64_t, int64_t>> places;
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    for (int64_t i = splits[row]; i < splits[row + 1]; ++i) places.emplace_back(row, i - splits[row]);
  }
  return places;
}

// The sparse tensor has an entry for each number of the values, which may have inner dimensions.
Outputs RaggedTensorToSparse(const Call& call) {
  const size_t ranks = call.inputs.size() - 1;
  const Tensor& values = call.in(ranks);
  if (ranks == 0 || values.rank() < 1)
    return InvalidArgument("there must be row splits, and the values must have a dimension");
  ASSIGN_OR_RETURN(const auto nested, NestedSplits(call.inputs.first(ranks), values.dim(0)));
  Shape shape = values.shape();
  shape.erase(shape.begin());
  const int64_t width = Product(shape, 0, shape.size());
  std::vector<std::vector<std::pair<int64_t, int64_t>>> places;
  for (size_t i = nested.size(); i-- > 0;) shape.insert(shape.begin(), LongestRow(nested[i]));
  shape.insert(shape.begin(), static_cast<int64_t>(nested[0].size()) - 1);
  const auto rank = static_cast<int64_t>(shape.size());
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {values.elements(), rank}));
  // Computes no places if `values` has no elements: nobody needs them, and there may be any number of empty rows.
  if (values.elements() > 0) {
    for (const auto& splits : nested) places.push_back(PlacesOf(splits));
  }
  ASSIGN_OR_RETURN(Tensor indices, Tensor::Make(DType::kInt64, {values.elements(), rank}));
  for (int64_t i = 0; i < values.elements(); ++i) {
    int64_t* to = Raw<int64_t>(indices) + i * rank;
    int64_t left = i % std::max<int64_t>(width, 1), row = i / std::max<int64_t>(width, 1);
    for (auto axis = static_cast<size_t>(rank); axis-- > ranks + 1; left /= shape[axis]) to[axis] = left % shape[axis];
    for (size_t level = ranks; level-- > 0;) {
      const auto& [parent, place] = places[level][static_cast<size_t>(row)];
      to[level + 1] = place;
      row = parent;
    }
    to[0] = row;
  }
  ASSIGN_OR_RETURN(Tensor flat, values.Reshaped({values.elements()}));
  return std::vector<Tensor>{indices, flat, Tensor::Of<int64_t>({rank}, shape)};
}

constexpr Kernel kKernels[] = {
    {.op = "RaggedGather", .compute = RaggedGather, .inputs_min = 3},
    {.op = "RaggedRange", .compute = RaggedRange, .inputs_min = 3},
    {.op = "RaggedTensorToSparse", .compute = RaggedTensorToSparse, .inputs_min = 2},
};

}  // namespace

std::span<const Kernel> RaggedKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
