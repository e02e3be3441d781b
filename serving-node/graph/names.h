// How nodes name what they read.
#pragma once

#include <string>
#include <string_view>

namespace longshore::graph {

// In a graph: "node" (output 0), "node:2", "^node" (control). In a function: "argument", "node:output_name:2", "^node".
struct Reference {
  std::string node;
  std::string output_name;  // Only within functions.
  int index = 0;
  bool control = false;
};

// An index that is no number counts as an output's name.
Reference ParseReference(std::string_view text);

// The one text of all that mean the same: "x:0" for "x".
std::string ToString(const Reference& reference);

// The ops of TensorFlow 1 on references are those on values: "Switch" for "RefSwitch".
std::string_view WithoutRef(std::string_view op);

}  // namespace longshore::graph
