// The ops that models may have.
#pragma once

#include <string>

namespace longshore::inspect {

// A page of docs/: docs/ops.md is what this says.
std::string OpsAsMarkdown();
// A line for each.
std::string OpsAsText();

}  // namespace longshore::inspect
