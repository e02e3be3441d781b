// References: the notation in which a node names its inputs.
#pragma once

#include <string>
#include <string_view>

namespace longshore::graph {

// In a graph: "node" (output 0), "node:2", "^node" (control). In a function: "argument", "node:output_name:2", "^node".
struct Reference {
  std::string node;
  std::string output_name;  // Empty outside of functions.
  int index = 0;
  bool control = false;
};

// Never fails: the text after the first colon is taken as an output name if it is not a number.
Reference ParseReference(std::string_view text);

// The canonical text: "x:0" for both "x" and "x:0".
std::string ToString(const Reference& reference);

// TensorFlow 1 has variants of some ops for tensors that are references to variables. Returns the op without "Ref" for
// such a variant ("Switch" for "RefSwitch"), and any other op unchanged.
std::string_view WithoutRef(std::string_view op);

}  // namespace longshore::graph
