#include "serving-node/graph/names.h"

#include <fmt/format.h>

#include <charconv>

namespace longshore::graph {
namespace {

// Returns false and does not change `index` if the text is not a whole number >= 0.
bool ParseIndex(std::string_view text, int* index) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return false;
  *index = value;
  return true;
}

}  // namespace

Reference ParseReference(std::string_view text) {
  Reference reference;
  if (text.starts_with('^')) {
    reference.control = true;
    text.remove_prefix(1);
  }
  const size_t first = text.find(':');
  reference.node = text.substr(0, first);
  if (first == std::string_view::npos) return reference;
  std::string_view rest = text.substr(first + 1);
  if (ParseIndex(rest, &reference.index)) return reference;
  const size_t second = rest.find(':');
  reference.output_name = rest.substr(0, second);
  if (second != std::string_view::npos) ParseIndex(rest.substr(second + 1), &reference.index);
  return reference;
}

std::string ToString(const Reference& reference) {
  if (reference.control) return "^" + reference.node;
  const std::string node =
      reference.output_name.empty() ? reference.node : reference.node + ":" + reference.output_name;
  return fmt::format("{}:{}", node, reference.index);
}

std::string_view WithoutRef(std::string_view op) {
  for (const std::string_view known :
       {"RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity"})
    if (op == known) return op.substr(3);
  return op;
}

}  // namespace longshore::graph
