// Evaluates nodes ahead of a run with the reference kernels.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/graph/infer_types.h"

namespace longshore::engine::cpu {

// The returned function evaluates only ops that are deterministic and stateless. It returns nullopt for other ops and
// for results of more than `bytes_max` bytes. `resources` must outlive it.
graph::Evaluate EvaluateByKernels(kernels::Resources& resources, size_t bytes_max);

}  // namespace longshore::engine::cpu
