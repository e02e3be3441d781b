// Formats a summary as text and as JSON.
#pragma once

#include <string>

#include "common/json/json.h"
#include "serving-node/inspect/summary.h"

namespace longshore::inspect {

std::string ToText(const Summary& summary);

// {"dir": ..., "variables": {"count", "bytes"}, "fingerprint": {...} or null, "graphs": [{"tags", "tensorflow_version",
// "nodes", "functions", "function_nodes", "assets", "signatures": {NAME: {"method", "inputs": {NAME: {"dtype", "shape",
// "tensor", "default"}}, "outputs"}}}]}. A shape is null if the rank is unknown; -1 is an unknown size. Only inputs
// with a default value have "default".
Json ToJson(const Summary& summary);

}  // namespace longshore::inspect
