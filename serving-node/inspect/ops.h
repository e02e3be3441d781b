// Lists the supported ops: the command `longshore model ops`.
#pragma once

#include <string>

namespace longshore::inspect {

// The content of docs/ops.md.
std::string OpsAsMarkdown();
// One line for each op.
std::string OpsAsText();

}  // namespace longshore::inspect
