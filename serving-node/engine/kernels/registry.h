// The list of all supported ops.
#pragma once

#include <span>
#include <string_view>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Returns the kernel of the op; nullptr if the op is not supported.
const Kernel* FindKernel(std::string_view op);

// All kernels, sorted by the name of their op.
std::span<const Kernel> AllKernels();

}  // namespace longshore::engine::kernels
