// Finds NaN and Inf in tensors.
#pragma once

#include "serving-node/tensor/tensor.h"

namespace longshore::tensor {

// True if a tensor of any float type has a NaN or Inf; false for all other types. Reads all elements in a vectorised
// loop.
bool HasNonFinite(const Tensor& values);

}  // namespace longshore::tensor
