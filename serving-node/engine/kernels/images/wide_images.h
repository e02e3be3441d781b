// Support for DT_HALF and DT_BFLOAT16 images in ops whose results are DT_FLOAT for every type of image.
#pragma once

#include "serving-node/engine/kernels/base/room.h"
#include "serving-node/engine/kernels/base/short_floats.h"

namespace longshore::engine::kernels::images {

// Extends a kernel to images of a type in kShortFloats. The image is the first input.
template <Compute kCompute>
Outputs AlsoShortImages(const Call& call) {
  if (!HasShortFloats(call.inputs.first(1))) return kCompute(call);
  ASSIGN_OR_RETURN(const Call rest, ReserveRoom(call, DType::kFloat, call.in(0).shape()));
  std::vector<Tensor> wide(call.inputs.begin(), call.inputs.end());
  ASSIGN_OR_RETURN(wide[0], FromShortFloat(call.in(0)));
  return kCompute(rest.With(wide));
}

}  // namespace longshore::engine::kernels::images
