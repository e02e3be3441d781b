// The classification extension: the highest values of an output instead of the output.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// Returns a string tensor with the `classes` highest values of each row, the highest first, as "VALUE:INDEX". The
// first dimension of a tensor of rank 2 or more counts the rows; other tensors are one row.
//
//   HighestClasses("y", [[0.5, 2.0], [1.0, -1.0]], 1)  ->  [["2.000000:1"], ["1.000000:0"]]
//
// Values have the form of Triton's answers (std::to_string). Of equal values, the one with the lower index comes first;
// NaN comes last. InvalidArgument for a type without an order. Requires: classes > 0.
Result<tensor::Tensor> HighestClasses(std::string_view output, const tensor::Tensor& values, int64_t classes);

}  // namespace longshore::frontend::oip::codec
