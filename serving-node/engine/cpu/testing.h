// Helpers of the tests: nodes of graphs in the text format of GraphDef, and a comparison of results.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

// A node whose attribute T is DT_FLOAT.
inline std::string Node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& attributes = "") {
  std::string text = fmt::format("node {{ name: \"{}\" op: \"{}\" ", name, op);
  for (const std::string& input : inputs) text += fmt::format("input: \"{}\" ", input);
  return text + "attr { key: \"T\" value { type: DT_FLOAT } } " + attributes + "}\n";
}

inline std::string Fed(const std::string& name, const std::string& type = "DT_FLOAT") {
  return Node(name, "Placeholder", {}, fmt::format("attr {{ key: \"dtype\" value {{ type: {} }} }}", type));
}

// A constant: a scalar float.
inline std::string FloatConst(const std::string& name, const std::string& value) {
  return fmt::format(R"(node {{ name: "{}" op: "Const" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }}
    attr {{ key: "value" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {} }} }} }} }})",
                     name, value);
}

// Whether the shapes are equal, and all numbers up to the tolerance, which is relative for numbers above 1.
inline bool IsNear(const tensor::Tensor& a, const tensor::Tensor& b, float tolerance = 1e-4F) {
  if (a.shape() != b.shape()) return false;
  const auto near = [tolerance](float x, float y) {
    if (std::isnan(y)) return std::isnan(x);
    return x == y || std::fabs(x - y) <= tolerance * std::max(1.0F, std::fabs(y));
  };
  return std::ranges::equal(a.values<float>(), b.values<float>(), near);
}

}  // namespace longshore::engine::cpu
