// The families of kernels for strings and serialised examples. Each function returns the kernels that its own .cc file
// defines.
#pragma once

#include <span>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::text {

std::span<const Kernel> Base64Kernels();
std::span<const Kernel> CsvKernels();
std::span<const Kernel> ExampleKernels();
std::span<const Kernel> FormatKernels();
std::span<const Kernel> HashKernels();
std::span<const Kernel> RegexKernels();
std::span<const Kernel> RenderingKernels();
std::span<const Kernel> SplitKernels();
std::span<const Kernel> StringKernels();
std::span<const Kernel> TextJoinKernels();
std::span<const Kernel> UnicodeKernels();

}  // namespace longshore::engine::kernels::text
