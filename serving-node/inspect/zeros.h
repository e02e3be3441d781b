// Inputs of nothing but zeros and empty texts, to see what a run takes.
#pragma once

#include "serving-node/engine/engine.h"

namespace longshore::inspect {

// One row: every size that is open is 1, every rank that is open 1. Inputs that have a default are left out.
// Unimplemented for inputs that are no plain tensors.
Result<engine::TensorMap> RowOfZeros(const tensorflow::SignatureDef& signature);

}  // namespace longshore::inspect
