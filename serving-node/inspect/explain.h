// How the engine runs a signature: what `longshore model explain` prints.
#pragma once

#include <iosfwd>

#include "common/json/json.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inspect/options.h"

namespace longshore::inspect {

// Errors name the signature or the input that does not fit.
Status ExplainSignature(engine::Engine& engine, const Path& version_dir, const Options& options, std::ostream& out);

std::string ToText(const engine::PlanView& view);
Json ToJson(const engine::PlanView& view);

}  // namespace longshore::inspect
