// The families of kernels for the shape and the order of elements. Each function returns the kernels of its own file.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::arrays {

std::span<const Kernel> BlockKernels();
std::span<const Kernel> FillKernels();
std::span<const Kernel> FlipKernels();
std::span<const Kernel> GatherKernels();
std::span<const Kernel> JoinKernels();
std::span<const Kernel> MoveKernels();
std::span<const Kernel> ScatterKernels();
std::span<const Kernel> ShapeKernels();
std::span<const Kernel> SliceKernels();

}  // namespace longshore::engine::kernels::arrays
