// The command `longshore model explain`: shows how the engine runs a signature.
#pragma once

#include <iosfwd>

#include "common/json/json.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Prints the plan for the inputs in `options` to `out`. Errors name the signature or the wrong input.
Status ExplainSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out);

std::string ToText(const engine::PlanView& view);
Json ToJson(const engine::PlanView& view);

}  // namespace longshore::inspect
