// The command `longshore model ops`: lists the supported ops.
#pragma once

#include <string>

namespace longshore::inspect {

// Returns the text of docs/ops.md.
std::string OpsAsMarkdown();
// Returns one line for each op.
std::string OpsAsText();

}  // namespace longshore::inspect
