// Evaluates nodes ahead of a run with the reference kernels.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/graph/infer_types.h"

namespace longshore::engine::cpu {

// Evaluates only ops that are deterministic and stateless, and returns nullopt for others and for results above
// `bytes_max`. `resources` must outlive the returned function.
graph::Evaluate EvaluateByKernels(kernels::Resources& resources, size_t bytes_max);

}  // namespace longshore::engine::cpu
