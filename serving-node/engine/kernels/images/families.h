// The families of kernels for images. Each function returns the kernels that its own .cc file defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::images {

std::span<const Kernel> CropKernels();
std::span<const Kernel> DecoderKernels();
std::span<const Kernel> ImageKernels();
std::span<const Kernel> ResizeKernels();
std::span<const Kernel> SuppressionKernels();

}  // namespace longshore::engine::kernels::images
