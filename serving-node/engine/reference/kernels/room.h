// The run's memory where an op holds more than one tensor at a time.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

// The call with the room that is left beside such a tensor of numbers. ResourceExhausted when there is none for it.
inline Result<Call> Beside(const Call& call, DType type, const Shape& shape) {
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  Call rest = call;
  rest.room_bytes -= static_cast<size_t>(*tensor::ElementCount(shape)) * tensor::ElementBytes(type);
  return rest;
}

}  // namespace longshore::engine::reference::kernels
