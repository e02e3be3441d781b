// The equations of Einsum.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longshore::graph {

// The labels of the axes of each operand and of the result. "abc,cd->abd" has the operands "abc" and "cd" and the
// result "abd".
struct EinsumLabels {
  std::vector<std::string> operands;
  std::string result;
};

// nullopt if the equation has no "->", or if a label is not a letter. So an equation with an ellipsis gives nullopt,
// too.
std::optional<EinsumLabels> ParseEinsum(std::string_view equation);

}  // namespace longshore::graph
