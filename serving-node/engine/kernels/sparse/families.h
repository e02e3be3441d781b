// The families of kernels for sparse, ragged and segmented tensors. Each function returns the kernels that its own .cc
// file defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::sparse {

std::span<const Kernel> CountKernels();
std::span<const Kernel> PartitionKernels();
std::span<const Kernel> RaggedDenseKernels();
std::span<const Kernel> RaggedKernels();
std::span<const Kernel> SegmentKernels();
std::span<const Kernel> SetKernels();
std::span<const Kernel> SparseKernels();
std::span<const Kernel> SparseProductKernels();
std::span<const Kernel> SparseSegmentKernels();

}  // namespace longshore::engine::kernels::sparse
