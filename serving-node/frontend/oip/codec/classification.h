// The classification extension: the answer has only the highest values of an output, and their indexes.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// Returns how many classes HighestClasses will return: at most `classes` for each row. Requires: classes > 0.
int64_t ClassCount(const tensor::Tensor& values, int64_t classes);

// Returns a string tensor with the `classes` highest values of each row. An element is "VALUE:INDEX", and the highest
// value is the first one of its row. The first dimension of a tensor of rank 2 or more counts the rows; a tensor of
// rank 0 or 1 is one row.
//
//   HighestClasses("y", [[0.5, 2.0], [1.0, -1.0]], 1)  ->  [["2.000000:1"], ["1.000000:0"]]
//
// Numbers are written as in Triton's answers (std::to_string). If two values are equal, the one with the lower index
// comes first. NaN is lower than all numbers. InvalidArgument for BYTES, BOOL, FP16 and BF16. Requires: classes > 0.
Result<tensor::Tensor> HighestClasses(std::string_view output, const tensor::Tensor& values, int64_t classes);

}  // namespace longshore::frontend::oip::codec
