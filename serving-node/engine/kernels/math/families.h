// The families of kernels for numbers, matrices and reductions. Each function returns the kernels that its own .cc file
// defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::math {

std::span<const Kernel> BinaryKernels();
std::span<const Kernel> CastKernels();
std::span<const Kernel> CumulativeKernels();
std::span<const Kernel> DiagonalKernels();
std::span<const Kernel> EinsumKernels();
std::span<const Kernel> FunctionKernels();
std::span<const Kernel> LogicKernels();
std::span<const Kernel> MatMulKernels();
std::span<const Kernel> MatrixKernels();
std::span<const Kernel> ReduceKernels();
std::span<const Kernel> UnaryKernels();
std::span<const Kernel> VectorKernels();

}  // namespace longshore::engine::kernels::math
