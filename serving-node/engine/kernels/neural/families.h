// The families of kernels for neural networks: convolutions, pools, recurrent cells and quantised numbers. Each
// function returns the kernels that its own .cc file defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::neural {

std::span<const Kernel> ConvolutionKernels();
std::span<const Kernel> NormalizeKernels();
std::span<const Kernel> PoolKernels();
std::span<const Kernel> QuantizeKernels();
std::span<const Kernel> QuantizedKernels();
std::span<const Kernel> RecurrentKernels();
std::span<const Kernel> TransposedConvolutionKernels();
std::span<const Kernel> VolumeKernels();

}  // namespace longshore::engine::kernels::neural
