// The families of kernels for branches, loops and lists of tensors. Each function returns the kernels of its own file.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::control {

std::span<const Kernel> ControlKernels();
std::span<const Kernel> TensorArrayKernels();
std::span<const Kernel> TensorListKernels();

}  // namespace longshore::engine::kernels::control
