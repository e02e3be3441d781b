// Lists the supported ops: the command `longshore model ops`.
#pragma once

#include <string>

namespace longshore::inspect {

// Returns the text of docs/ops.md.
std::string OpsAsMarkdown();
// Returns one line for each op.
std::string OpsAsText();

}  // namespace longshore::inspect
