// Values ahead of a run, by the reference kernels.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

// Of ops that always give the same for the same, hold no state, and make no more than `bytes_max`. `resources` must
// outlive it.
graph::Evaluate EvaluateByKernels(reference::kernels::Resources& resources, size_t bytes_max);

}  // namespace longshore::engine::cpu
