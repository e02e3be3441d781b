// How far results are from the same computation in float64, which plain kernels make for a sample of the outputs.
#pragma once

#include <cuda_runtime.h>

#include "tests/gpu/convolution_plans.h"
#include "tests/gpu/shapes.h"

namespace longshore::gpu {

// The distance from the reference: |output - reference| / |reference|, both as vectors of the sampled outputs; NaN if
// an output is NaN. The type of the request is float32. Waits for the stream.
double ConvolutionError(const Request& request, const Arguments& arguments, cudaStream_t stream);

struct ProductArguments {
  const float* left = nullptr;
  const float* right = nullptr;
  const float* output = nullptr;
};
double ProductError(const Product& product, const ProductArguments& arguments, cudaStream_t stream);

}  // namespace longshore::gpu
