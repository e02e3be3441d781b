// Kernels for half and bfloat16: they compute in float and round the result, as TensorFlow does.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Whether the type of any input is in kShortFloats.
bool HasShortFloats(std::span<const Tensor> inputs);

// Converts the short floats of the inputs to float, calls `compute`, and rounds its float outputs to the type of the
// first input of kShortFloats.
Outputs ComputeInFloat(const Call& call, Compute compute);

// Extends a kernel to inputs of kShortFloats. Other inputs are passed on unchanged.
template <Compute kCompute>
Outputs AlsoShort(const Call& call) {
  return HasShortFloats(call.inputs) ? ComputeInFloat(call, kCompute) : kCompute(call);
}

// FromShortFloat converts to float exactly; ToShortFloat rounds floats to `to`, which is one of kShortFloats.
Result<Tensor> FromShortFloat(const Tensor& in);
Result<Tensor> ToShortFloat(const Tensor& in, DType to);

}  // namespace longshore::engine::kernels
