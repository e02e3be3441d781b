// An Executable that runs a Plan with the reference kernels.
#pragma once

#include <memory>

#include "serving-node/engine/reference/executable.h"
#include "serving-node/engine/reference/plan.h"

namespace longshore::engine::reference {

// `limits`: the limits of each run.
std::unique_ptr<Executable> RunPlan(Plan plan, const kernels::RunLimits& limits);

}  // namespace longshore::engine::reference
