// Which outputs the ops have: their names, and how many tensors each of them stands for.
//
// The names are TensorFlow's own: tests/golden/graph/outputs.json, which tests/judge/outputs_test.py compares with it.
#pragma once

#include <optional>
#include <string>

#include "serving-node/graph/graph.h"

namespace longshore::graph {

// The position of the first tensor of a named output: FusedBatchNormV3's "batch_variance" is its third. How many
// tensors a name stands for may depend on the attributes: ParseExample's "dense_values" come after as many indices,
// values and shapes as there are sparse features. nullopt: the op has no such output. 0 for every op that is not known
// to have other than one output, whatever the name.
std::optional<int> OutputOffset(const std::string& op, const Attributes& attributes, const std::string& output_name);

// InvalidArgument names a node, or an output of the graph, that reads what the node before it does not give. Requires:
// every op has a kernel, for of others it is not known how many outputs they have.
Status CheckOutputs(const Graph& graph);

}  // namespace longshore::graph
