#include "serving-node/graph/einsum_equation.h"

#include <algorithm>
#include <cctype>

namespace longshore::graph {
namespace {

bool AreLetters(std::string_view labels) {
  return std::ranges::all_of(labels, [](unsigned char label) { return std::isalpha(label) != 0; });
}

}  // namespace

std::optional<EinsumLabels> ParseEinsum(std::string_view equation) {
  constexpr std::string_view kArrow = "->";
  const size_t arrow = equation.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  EinsumLabels labels{.operands = {}, .result = std::string(equation.substr(arrow + kArrow.size()))};
  std::string_view left = equation.substr(0, arrow);
  for (size_t comma; (comma = left.find(',')) != std::string_view::npos; left.remove_prefix(comma + 1)) {
    labels.operands.emplace_back(left.substr(0, comma));
  }
  labels.operands.emplace_back(left);
  return AreLetters(labels.result) && std::ranges::all_of(labels.operands, AreLetters) ? std::optional(labels)
                                                                                       : std::nullopt;
}

}  // namespace longshore::graph
