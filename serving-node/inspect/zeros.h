// Inputs of nothing but zeros and empty texts, to see what a run takes.
#pragma once

#include "serving-node/engine/engine.h"

namespace longshore::inspect {

// The first dimension of `rows` where it is open, every other size that is open 1, every rank that is open 1. Inputs
// that have a default are left out. Unimplemented for inputs that are no plain tensors.
Result<engine::TensorMap> RowsOfZeros(const tensorflow::SignatureDef& signature, int64_t rows);

}  // namespace longshore::inspect
