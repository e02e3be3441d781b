// Images of half and bfloat16, for ops whose results are floats whatever their images are.
#pragma once

#include "serving-node/engine/reference/kernels/room.h"
#include "serving-node/engine/reference/kernels/short_floats.h"

namespace longshore::engine::reference::kernels {

// A kernel for images of kShortFloats as well, its first input.
template <Compute kCompute>
Outputs AlsoShortImages(const Call& call) {
  if (!HasShortFloats(call.inputs.first(1))) return kCompute(call);
  ASSIGN_OR_RETURN(const Call beside, Beside(call, DType::kFloat, call.in(0).shape()));
  std::vector<Tensor> wide(call.inputs.begin(), call.inputs.end());
  ASSIGN_OR_RETURN(wide[0], FromShortFloat(call.in(0)));
  return kCompute(beside.With(wide));
}

}  // namespace longshore::engine::reference::kernels
