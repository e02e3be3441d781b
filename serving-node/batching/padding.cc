#include "serving-node/batching/padding.h"

#include <algorithm>
#include <cstring>

namespace longshore::batching {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

struct Span {
  int64_t from;  // Index of the first element in the source.
  int64_t to;    // Index of the first element in the destination.
  int64_t elements;
};

void Copy(const Tensor& from, const Span& span, Tensor* to) {
  if (from.type() == DType::kString) {
    const auto values = from.values<std::string>();
    std::copy_n(values.begin() + span.from, span.elements, to->mutable_values<std::string>().begin() + span.to);
    return;
  }
  const size_t bytes = ElementBytes(from.type());
  std::memcpy(to->mutable_data() + static_cast<size_t>(span.to) * bytes,
              from.data() + static_cast<size_t>(span.from) * bytes, static_cast<size_t>(span.elements) * bytes);
}

int64_t ElementsOf(const Shape& shape, size_t first_axis) {
  int64_t elements = 1;
  for (size_t axis = first_axis; axis < shape.size(); ++axis) elements *= shape[axis];
  return elements;
}

// Copies the block that starts at `at`: recursively along each axis, and along the last axis with one copy.
void CopyBlock(const Tensor& from, size_t axis, Span at, Tensor* to) {
  const auto size = from.shape()[axis];
  if (axis + 1 == from.shape().size()) return Copy(from, {at.from, at.to, size}, to);
  const int64_t from_step = ElementsOf(from.shape(), axis + 1);
  const int64_t to_step = ElementsOf(to->shape(), axis + 1);
  for (int64_t i = 0; i < size; ++i) {
    CopyBlock(from, axis + 1, {at.from + i * from_step, at.to + i * to_step, 0}, to);
  }
}

}  // namespace

Shape LargestRow(const std::vector<const Tensor*>& parts) {
  Shape row(parts.front()->shape().begin() + 1, parts.front()->shape().end());
  for (const Tensor* part : parts) {
    for (size_t axis = 0; axis < row.size(); ++axis) row[axis] = std::max(row[axis], part->shape()[axis + 1]);
  }
  return row;
}

void CopyRows(const Tensor& from, int64_t at_row, Tensor* to) {
  const int64_t row_elements = ElementsOf(to->shape(), 1);
  const int64_t begin = at_row * row_elements;
  const bool same = std::equal(from.shape().begin() + 1, from.shape().end(), to->shape().begin() + 1);
  if (same) {
    if (from.elements() > 0) Copy(from, {0, begin, from.elements()}, to);
    return;
  }
  for (int64_t i = 0; i < from.dim(0) * row_elements; ++i) Copy(from, {0, begin + i, 1}, to);
  CopyBlock(from, 0, {0, begin, 0}, to);
}

}  // namespace longshore::batching
