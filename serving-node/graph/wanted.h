// What a graph is built for: its inputs and outputs.
#pragma once

#include <string>
#include <vector>

namespace longshore::graph {

struct Wanted {
  std::vector<std::string> feeds;    // Tensors whose value the caller gives: "serving_default_x:0".
  std::vector<std::string> outputs;  // Tensors to compute: "StatefulPartitionedCall:0".
  std::vector<std::string> targets;  // Nodes to run for their effect: "init".
};

}  // namespace longshore::graph
