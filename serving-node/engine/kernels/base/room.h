// Memory limits for ops that hold more than one large tensor at a time.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Reserves memory for a tensor of numbers: returns a copy of the call with that much less room. Returns
// ResourceExhausted if the tensor does not fit.
inline Result<Call> ReserveRoom(const Call& call, DType type, const Shape& shape) {
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  Call rest = call;
  rest.room_bytes -= static_cast<size_t>(*tensor::ElementCount(shape)) * tensor::ElementBytes(type);
  return rest;
}

// Returns ResourceExhausted if, according to Call::HasRoomFor, the run has no memory for a table of `rows` rows of
// `row_bytes` each.
inline Status HasRoomForTable(const Call& call, int64_t rows, size_t row_bytes) {
  return call.HasRoomFor(DType::kUint8, {rows, static_cast<int64_t>(row_bytes)});
}

}  // namespace longshore::engine::kernels
