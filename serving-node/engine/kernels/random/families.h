// The families of kernels for random numbers. Each function returns the kernels that its own .cc file defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::random {

std::span<const Kernel> RandomKernels();
std::span<const Kernel> StatelessRandomKernels();

}  // namespace longshore::engine::kernels::random
