// An Executable that runs a Plan with the reference kernels.
#pragma once

#include <memory>

#include "serving-node/engine/interpreter/executable.h"
#include "serving-node/engine/interpreter/plan.h"

namespace longshore::engine::interpreter {

// `limits`: the limits of each run.
std::unique_ptr<Executable> RunPlan(Plan plan, const kernels::RunLimits& limits);

}  // namespace longshore::engine::interpreter
