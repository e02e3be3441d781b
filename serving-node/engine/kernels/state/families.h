// The families of kernels for variables and tables. Each function returns the kernels that its own .cc file defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::state {

std::span<const Kernel> TableFileKernels();
std::span<const Kernel> TableKernels();
std::span<const Kernel> VariableKernels();

}  // namespace longshore::engine::kernels::state
