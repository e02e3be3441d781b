// Converts ragged tensors to dense ones, which are padded with a default value.
#include <algorithm>

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/sparse/families.h"

namespace longshore::engine::kernels::sparse {
namespace {

// The row partitions of a ragged tensor: its number of rows, and for each ragged dimension the number of the row to
// which each of the dimension's values belongs.
struct Partitions {
  int64_t rows = 0;
  std::vector<std::vector<int64_t>> parents;
};

// Converts row splits into the number of the row to which each value belongs.
Result<std::vector<int64_t>> ParentsOfSplits(const Call& call, const std::vector<int64_t>& splits) {
  if (splits.empty()) return InvalidArgument("the row splits of a partition must not be empty");
  RETURN_IF_ERROR(CheckSplits(splits, splits.back()));
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {splits.back()}));
  std::vector<int64_t> parents;
  for (size_t row = 0; row + 1 < splits.size(); ++row)
    parents.insert(parents.end(), static_cast<size_t>(splits[row + 1] - splits[row]), static_cast<int64_t>(row));
  return parents;
}

// InvalidArgument unless the row ids never decrease and are in [0, rows). A row id is the number of the row to which a
// value belongs.
Status CheckRowIds(const std::vector<int64_t>& ids, int64_t rows) {
  if (ids.empty() || (std::ranges::is_sorted(ids) && ids.front() >= 0 && ids.back() < rows)) return {};
  return InvalidArgument("row ids must never decrease and be in [0, {})", rows);
}

Status AddPartition(const Call& call, const std::string& kind, const Tensor& tensor, Partitions* partitions) {
  ASSIGN_OR_RETURN(const auto numbers, AllIntsOf(tensor, "a row partition"));
  if (kind == "FIRST_DIM_SIZE") {
    if (tensor.rank() != 0 || numbers[0] < 0) return InvalidArgument("FIRST_DIM_SIZE must be one size of at least 0");
    partitions->rows = numbers[0];
    return call.HasRoomFor(DType::kInt64, {numbers[0]});
  }
  if (tensor.rank() != 1) return InvalidArgument("a row partition must be a vector");
  const bool is_first = partitions->parents.empty();
  const auto rows = is_first ? partitions->rows : static_cast<int64_t>(partitions->parents.back().size());
  if (kind == "VALUE_ROWIDS") {
    RETURN_IF_ERROR(CheckRowIds(numbers, rows));
    partitions->parents.push_back(numbers);
    return {};
  }
  if (kind != "ROW_SPLITS") return InvalidArgument("unknown row partition type {}", kind);
  ASSIGN_OR_RETURN(auto parents, ParentsOfSplits(call, numbers));
  const auto given = static_cast<int64_t>(numbers.size()) - 1;
  if (!is_first && given != rows) return InvalidArgument("the splits have {} rows instead of {}", given, rows);
  if (is_first) partitions->rows = given;
  partitions->parents.push_back(std::move(parents));
  return {};
}

Result<Partitions> PartitionsOf(const Call& call) {
  const auto* kinds = call.attributes().Find("row_partition_types");
  const auto tensors = call.inputs.subspan(3);
  if (kinds == nullptr || kinds->list().s_size() != static_cast<int>(tensors.size()) || tensors.empty())
    return InvalidArgument("{} row partitions do not match row_partition_types", tensors.size());
  Partitions partitions;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& kind = kinds->list().s(static_cast<int>(i));
    const bool can_be = (kind == "FIRST_DIM_SIZE") == (i == 0 && kinds->list().s(0) != "ROW_SPLITS");
    if (!can_be) return InvalidArgument("row partition {} must not be of type {}", i, kind);
    RETURN_IF_ERROR(AddPartition(call, kind, tensors[i], &partitions));
  }
  if (partitions.parents.empty()) return InvalidArgument("there must be a ragged dimension");
  return partitions;
}

int64_t LongestRun(const std::vector<int64_t>& parents) {
  int64_t longest = 0, run = 0;
  for (size_t i = 0; i < parents.size(); ++i) {
    run = i > 0 && parents[i] == parents[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

// Returns the shape `wanted`, with the smallest size that holds the values in place of each -1. A scalar -1 stands for
// -1 in all dimensions.
Result<Shape> DenseShape(const Tensor& wanted, const Partitions& partitions, const Tensor& values) {
  Shape shape = {partitions.rows};
  for (const auto& parents : partitions.parents) shape.push_back(LongestRun(parents));
  shape.insert(shape.end(), values.shape().begin() + 1, values.shape().end());
  ASSIGN_OR_RETURN(const auto sizes, IntsOf(wanted, "shape"));
  if (wanted.rank() == 0) {
    if (sizes[0] != -1) return InvalidArgument("a scalar shape must be -1, not {}", sizes[0]);
    return shape;
  }
  if (sizes.size() != shape.size()) return InvalidArgument("shape has rank {}, not {}", sizes.size(), shape.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) return InvalidArgument("shape has the size {}, which is below -1", sizes[i]);
    if (sizes[i] == -1) continue;
    if (i > partitions.parents.size() && sizes[i] != shape[i])
      return InvalidArgument("the wanted shape {} is incompatible with values of shape {}", ToString(sizes),
                             ToString(values.shape()));
    shape[i] = sizes[i];
  }
  return shape;
}

// Returns for each value the row of the dense tensor where it is written; -1 if the value is cut off. The rows are
// those of a matrix into which all dimensions up to the innermost ragged one are flattened.
std::vector<int64_t> RowsOf(const Partitions& partitions, const Shape& shape) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < partitions.rows; ++i) rows.push_back(i < shape[0] ? i : -1);
  for (size_t level = 0; level < partitions.parents.size(); ++level) {
    const auto& parents = partitions.parents[level];
    std::vector<int64_t> next;
    int64_t place = 0;
    for (size_t i = 0; i < parents.size(); ++i) {
      place = i > 0 && parents[i] == parents[i - 1] ? place + 1 : 0;
      const int64_t row = rows[static_cast<size_t>(parents[i])];
      next.push_back(row < 0 || place >= shape[level + 1] ? -1 : row * shape[level + 1] + place);
    }
    rows = std::move(next);
  }
  return rows;
}

// Each element of the innermost ragged dimension is a tensor of the shape `element`, to which `default_value` is
// broadcast. Returns for each number of such a tensor the index of its default in `default_value`.
Result<std::vector<int64_t>> DefaultOffsets(const Tensor& default_value, const Shape& element) {
  ASSIGN_OR_RETURN(const Shape both, BroadcastShape(default_value.shape(), element));
  if (both != element)
    return InvalidArgument("default_value of shape {} does not broadcast to elements of shape {}",
                           ToString(default_value.shape()), ToString(element));
  std::vector<int64_t> offsets;
  const std::array strides = {BroadcastStrides(default_value.shape(), element)};
  const int64_t step = element.empty() ? 0 : strides[0].back();
  ForEachRow(element, strides, [&](int64_t, const std::array<int64_t, 1>& from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) offsets.push_back(from[0] + i * step);
  });
  return offsets;
}

// The inputs are the shape, the values, the default value, and the row partitions.
Outputs RaggedTensorToTensor(const Call& call) {
  const Tensor& values = call.in(1);
  const Tensor& default_value = call.in(2);
  if (values.rank() < 1 || default_value.type() != values.type())
    return InvalidArgument("values {}{} must not be a scalar and must have the type of default_value, {}",
                           DTypeName(values.type()), ToString(values.shape()), DTypeName(default_value.type()));
  ASSIGN_OR_RETURN(const Partitions partitions, PartitionsOf(call));
  // Values after those of the last row belong to no row and are ignored.
  if (static_cast<int64_t>(partitions.parents.back().size()) > values.dim(0))
    return InvalidArgument("the row partitions describe {} values, but the tensor has only {}",
                           partitions.parents.back().size(), values.dim(0));
  ASSIGN_OR_RETURN(const Shape shape, DenseShape(call.in(0), partitions, values));
  RETURN_IF_ERROR(call.HasRoomFor(values.type(), shape));
  const Shape element(values.shape().begin() + 1, values.shape().end());
  ASSIGN_OR_RETURN(const auto defaults, DefaultOffsets(default_value, element));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(values, shape));
  if (out.elements() == 0) return One(out);
  const auto rows = RowsOf(partitions, shape);
  const auto width = static_cast<int64_t>(defaults.size());
  return ForMoves(values.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.elements(); ++i)
      Raw<T>(out)[i] = Raw<T>(default_value)[defaults[static_cast<size_t>(i % width)]];
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0)
        std::copy_n(Raw<T>(values) + static_cast<int64_t>(i) * width, width, Raw<T>(out) + rows[i] * width);
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {.op = "RaggedTensorToTensor", .compute = RaggedTensorToTensor, .inputs_min = 4},
};

}  // namespace

std::span<const Kernel> RaggedDenseKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
