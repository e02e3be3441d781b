// Half and bfloat16: computed in float and rounded, as TensorFlow does.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

bool HasShortFloats(std::span<const Tensor> inputs);

// What `compute` gives for the inputs as floats; its floats rounded to the short type of the first input that has one.
Outputs ComputeInFloat(const Call& call, Compute compute);

// A kernel for kShortFloats as well. What is not one of them goes on to the kernel as it is.
template <Compute kCompute>
Outputs AlsoShort(const Call& call) {
  return HasShortFloats(call.inputs) ? ComputeInFloat(call, kCompute) : kCompute(call);
}

// Exact the one way, rounded the other; `to` is one of kShortFloats.
Result<Tensor> FromShortFloat(const Tensor& in);
Result<Tensor> ToShortFloat(const Tensor& in, DType to);

}  // namespace longshore::engine::reference::kernels
