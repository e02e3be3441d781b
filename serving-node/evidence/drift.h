// Drift: how much the answers of a candidate differ from those of stable to the same input.
#pragma once

#include "serving-node/engine/engine.h"
#include "serving-node/evidence/recorder.h"

namespace longshore::evidence {

// Returns true if a floating-point output holds NaN or Inf. The check is one vectorized pass over the values.
bool HasNonFinite(const engine::TensorMap& outputs);

// Returns how much the outputs of `candidate` differ from those of `stable` (see PairDifference). If only one of them
// has an output, that counts as the largest difference. Reads each output once, and those that differ once more.
PairDifference Compare(const engine::TensorMap& candidate, const engine::TensorMap& stable);

}  // namespace longshore::evidence
