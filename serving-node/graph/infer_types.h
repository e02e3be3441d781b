// Type inference.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving-node/graph/types.h"

namespace longshore::graph {

// Computes the outputs of one node for given inputs; nullopt if the op cannot or must not be computed ahead of a run.
using Evaluate =
    std::function<std::optional<std::vector<tensor::Tensor>>(const Node& node, std::span<const tensor::Tensor> inputs)>;

// Infers the types of all nodes. `fed`: the types of the fed tensors, by the names in Graph::fed. `bodies`: those of
// the main graph; they determine the types of If, Case and While. Never fails: a mismatch leaves the type unknown, and
// the run reports the error.
Types InferTypes(const Graph& graph, std::span<const Graph> bodies, const std::map<std::string, Type>& fed,
                 const Evaluate& evaluate);

}  // namespace longshore::graph
