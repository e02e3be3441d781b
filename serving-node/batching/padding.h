// Rows of several sizes made one size: what pad_variable_length_inputs asks for. Pure.
#pragma once

#include <vector>

#include "serving-node/tensor/tensor.h"

namespace longshore::batching {

// The shape of one row that holds the rows of all of them: per dimension the largest size. Requires: one rank >= 1.
tensor::Shape LargestRow(const std::vector<const tensor::Tensor*>& parts);

// Copies the rows of `from` to the rows of `to` from at_row on. Where these are larger, the rest of them is the first
// element of `from`, as TensorFlow Serving fills it; nothing is cut. Requires: one type, rows of `to` at least as
// large, and an element in `from`, or rows of one size.
void CopyRows(const tensor::Tensor& from, int64_t at_row, tensor::Tensor* to);

}  // namespace longshore::batching
