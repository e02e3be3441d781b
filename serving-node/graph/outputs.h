// The outputs of ops: their names, and how many tensors each name covers.
//
// The names are TensorFlow's: graph_test.cc compares them with tests/golden/graph/outputs.json, and
// tests/judge/outputs_test.py compares that file with TensorFlow.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "serving-node/graph/graph.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::graph {

// The position of the first tensor of a named output: 2 for FusedBatchNormV3's "batch_variance". It may depend on the
// attributes: ParseExample's "dense_values" come after the indices, values and shapes of all sparse features. nullopt:
// the op has no such output. For an op that is not listed in outputs.cc the result is 0 for every name, because such an
// op is assumed to have one output.
std::optional<int> OutputOffset(const std::string& op, const Attributes& attributes, const std::string& output_name);

// The element type of the tensor at position `output`, from the attributes of the op; nullopt if the op is not one of
// those whose outputs models feed, such as Placeholder, Identity, Cast and ParseExample.
std::optional<tensor::DType> OutputType(const std::string& op, const Attributes& attributes, int output);

// Returns InvalidArgument if a node reads an output that does not exist. The message names the reader and the node that
// it reads. Requires: every op has a kernel; the outputs of other ops are not known.
Status CheckOutputs(const Graph& graph);

}  // namespace longshore::graph
