// Makes inputs of zeros and empty strings, to measure a run.
#pragma once

#include "serving-node/engine/engine.h"

namespace longshore::inspect {

// Returns inputs of zeros. If the first dimension has an unknown size, it becomes `rows`; other unknown sizes become 1,
// and an unknown rank becomes 1. Leaves out inputs with a default value. Unimplemented for sparse and composite inputs.
Result<engine::TensorMap> RowsOfZeros(const tensorflow::SignatureDef& signature, int64_t rows);

}  // namespace longshore::inspect
