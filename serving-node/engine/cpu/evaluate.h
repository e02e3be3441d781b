// Values ahead of a run, by the reference kernels.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

// Of ops that always give the same for the same, and hold no state. `resources` must outlive it.
graph::Evaluate EvaluateByKernels(reference::kernels::Resources& resources);

}  // namespace longshore::engine::cpu
