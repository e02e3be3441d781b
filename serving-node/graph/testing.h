// For tests: a graph with a loop.
#pragma once

#include "serving-node/graph/graph.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

// while (a < b) a = a + b, with a = x and b a constant. `returned`: the argument that a step returns as b.
inline Graph LoopOf(int returned) {
  const auto node = [](const std::string& name, const std::string& op, std::vector<Edge> inputs = {}) {
    Node made{.name = name, .op = op, .inputs = std::move(inputs)};
    tensorflow::AttrValue type;
    type.set_type(tensorflow::DT_FLOAT);
    made.attributes.Set("T", type);
    return made;
  };
  const auto body = [&](const std::string& op) {
    return Graph{.nodes = {node("a", "Placeholder"), node("b", "Placeholder"), node(op, op, {{0, 0}, {1, 0}})},
                 .fed = {},
                 .outputs = {{2, 0}},
                 .arguments = {0, 1},
                 .bodies = {}};
  };
  Graph whole{.nodes = {node("x", "Placeholder"), node("c", "Const"), node("y", "While", {{0, 0}, {1, 0}})},
              .fed = {{"x", 0}},
              .outputs = {{2, 0}},
              .arguments = {},
              .bodies = {body("Less"), body("AddV2")}};
  whole.nodes[1].values = {tensor::Tensor::Of<float>({3}, {1, 2, 3})};
  whole.nodes[2].bodies = {0, 1};
  whole.bodies[1].outputs.push_back({returned, 0});
  return whole;
}

}  // namespace longshore::graph
