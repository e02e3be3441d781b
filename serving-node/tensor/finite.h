// NaN and Inf.
#pragma once

#include "serving-node/tensor/tensor.h"

namespace longshore::tensor {

// True when a float tensor of any width holds NaN or Inf. A pass over the bytes that compilers turn into vector code.
bool HasNonFinite(const Tensor& values);

}  // namespace longshore::tensor
