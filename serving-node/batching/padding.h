// Pads rows of different sizes to one size (pad_variable_length_inputs). Pure.
#pragma once

#include <vector>

#include "serving-node/tensor/tensor.h"

namespace longshore::batching {

// Returns the shape of a row that is large enough for the rows of all parts: the largest size per dimension. Requires:
// all parts have the same rank, which is at least 1.
tensor::Shape LargestRow(const std::vector<const tensor::Tensor*>& parts);

// Copies the rows of `from` into `to`, starting at row at_row. Where rows of `to` are larger, the rest is filled with
// the first element of `from`, as TensorFlow Serving does. Requires: the same type; either rows of the same size, or
// rows of `to` that are at least as large and a `from` that is not empty.
void CopyRows(const tensor::Tensor& from, int64_t at_row, tensor::Tensor* to);

}  // namespace longshore::batching
