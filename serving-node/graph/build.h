// Converts a GraphDef into a Graph.
#pragma once

#include "common/base/error.h"
#include "serving-node/graph/graph.h"
#include "serving-node/graph/wanted.h"
#include "tensorflow/graph.pb.h"

namespace longshore::graph {

// Takes the part of a GraphDef that the wanted outputs need. Inlines function calls, turns TensorFlow 1's reference
// variables into resource variables (VariableV2 -> VarHandleOp and ReadVariableOp, Assign -> AssignVariableOp), its
// Switch and Merge into If, its Enter ... Exit into While, and prunes the rest.
//
// Errors: DataLoss if a name is unknown, a call has the wrong number of arguments, or the graph has a cycle;
// Unimplemented for functions that call themselves outside of a branch, functions nested deeper than kFunctionDepthMax,
// and TensorFlow 1 control flow in a form that TensorFlow does not write; ResourceExhausted above kNodesMax, kEdgesMax,
// kCallsMax or kAttributeBytesMax.
Result<Graph> Build(const tensorflow::GraphDef& def, const Wanted& wanted);

}  // namespace longshore::graph
