// Distributes the rows of a tensor over several tensors, and merges them again.
#include <algorithm>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/sparse/families.h"
#include "serving-node/engine/kernels/sparse/segments.h"

namespace longshore::engine::kernels::sparse {
namespace {

bool IsPrefix(const Shape& prefix, const Shape& shape) {
  return prefix.size() <= shape.size() && std::equal(prefix.begin(), prefix.end(), shape.begin());
}

void CopyRow(const Tensor& from, int64_t from_row, int64_t width, int64_t to_row, Tensor* to) {
  if (from.type() == DType::kString) {
    std::copy_n(Raw<std::string>(from) + from_row * width, width, Raw<std::string>(*to) + to_row * width);
    return;
  }
  const auto bytes = width * static_cast<int64_t>(tensor::ElementBytes(from.type()));
  std::copy_n(from.data() + from_row * bytes, bytes, to->mutable_data() + to_row * bytes);
}

Result<std::vector<int64_t>> CountRows(const std::vector<int64_t>& parts, int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0 || parts[i] >= count)
      return InvalidArgument("partitions[{}] = {} is not in [0, {})", i, parts[i], count);
    ++rows[static_cast<size_t>(parts[i])];
  }
  return rows;
}

Outputs DynamicPartition(const Call& call) {
  const Tensor& data = call.in(0);
  ASSIGN_OR_RETURN(const auto parts, AllIntsOf(call.in(1), "partitions"));
  if (!IsPrefix(call.in(1).shape(), data.shape())) {
    return InvalidArgument("the shape of partitions {} is not a prefix of the shape of data {}",
                           ToString(call.in(1).shape()), ToString(data.shape()));
  }
  ASSIGN_OR_RETURN(const auto rows, CountRows(parts, call.attributes().Int("num_partitions", 1)));
  std::vector<Tensor> outputs;
  for (const int64_t count : rows) {
    ASSIGN_OR_RETURN(Tensor out, MakeLike(data, segments::RowsLike(data, call.in(1).shape().size(), count)));
    outputs.push_back(std::move(out));
  }
  const int64_t width = Product(data.shape(), call.in(1).shape().size(), data.shape().size());
  std::vector<int64_t> at(rows.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto part = static_cast<size_t>(parts[i]);
    CopyRow(data, static_cast<int64_t>(i), width, at[part]++, &outputs[part]);
  }
  return outputs;
}

Status CheckPartitions(const graph::Node& node) {
  const int64_t count = node.attributes.Int("num_partitions", 0);
  if (count < 1 || count > 1'000'000) return Unimplemented("{} with num_partitions {}", node.op, count);
  return {};
}

// The inputs of DynamicStitch: n tensors of indices and n tensors of data. Row j of data[i] becomes row indices[i][j]
// of the result. If an index occurs several times, its last row is used.
struct Stitch {
  std::vector<std::vector<int64_t>> indices;
  Shape row;
  int64_t rows = 0;
};

Result<Stitch> StitchOf(const Call& call) {
  Stitch stitch;
  const size_t count = call.inputs.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const Tensor& data = call.in(count + i);
    const Shape& prefix = call.in(i).shape();
    ASSIGN_OR_RETURN(auto indices, AllIntsOf(call.in(i), "indices"));
    if (!IsPrefix(prefix, data.shape()) || data.type() != call.in(count).type())
      return InvalidArgument("the shape of data {} does not begin with the shape of indices {}, or its type differs",
                             ToString(data.shape()), ToString(prefix));
    const Shape row(data.shape().begin() + static_cast<std::ptrdiff_t>(prefix.size()), data.shape().end());
    if (i > 0 && row != stitch.row)
      return InvalidArgument("rows have different shapes: {} and {}", ToString(stitch.row), ToString(row));
    stitch.row = row;
    for (const int64_t index : indices) {
      if (index < 0 || index == INT64_MAX)
        return InvalidArgument("indices[{}] has the value {}, which is out of range", i, index);
      stitch.rows = std::max(stitch.rows, index + 1);
    }
    stitch.indices.push_back(std::move(indices));
  }
  return stitch;
}

// Rows of the result whose number is not among the indices are zero.
Outputs DynamicStitch(const Call& call) {
  if (call.inputs.size() % 2 != 0)
    return InvalidArgument("{} inputs: the numbers of indices and of data differ", call.inputs.size());
  ASSIGN_OR_RETURN(const Stitch stitch, StitchOf(call));
  const size_t count = stitch.indices.size();
  Shape shape = stitch.row;
  shape.insert(shape.begin(), stitch.rows);
  RETURN_IF_ERROR(call.HasRoomFor(call.in(count).type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(count), shape));
  if (out.type() != DType::kString) std::fill_n(out.mutable_data(), out.bytes(), std::byte{0});
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < stitch.indices[i].size(); ++k)
      CopyRow(call.in(count + i), static_cast<int64_t>(k), Product(shape, 1, shape.size()), stitch.indices[i][k], &out);
  }
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "DynamicPartition", .compute = DynamicPartition, .inputs_min = 2, .check = CheckPartitions},
    {.op = "DynamicStitch", .compute = DynamicStitch, .inputs_min = 2},
    {.op = "ParallelDynamicStitch", .compute = DynamicStitch, .inputs_min = 2},
};

}  // namespace

std::span<const Kernel> PartitionKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::sparse
