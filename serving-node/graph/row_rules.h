// Row rules: for each op, whether it computes each row of a batch by itself. rows.h applies them.
#pragma once

#include <vector>

#include "serving-node/graph/op.h"

namespace longshore::graph {

// How a value depends on the rows of the batch.
enum class RowKind {
  kSame,     // The same for all fed values: weights.
  kRows,     // One row per row of the batch.
  kCounted,  // Depends on nothing but the number of rows: a shape.
  kOther,    // Anything else.
};

// A value that a node reads, with its type in the larger batch. Its shape is known.
struct RowInput {
  RowKind kind = RowKind::kOther;
  const Type& type;
};

// A node as a row rule sees it. A rule need not check the number of rows.
struct NodeRows {
  const Node& node;
  std::vector<RowInput> inputs;
  const Type& output;  // The first output.
};

// Whether input 0 has rows and all other inputs are the same for all rows.
bool ByRowOfFirst(const NodeRows& of);
// For element-wise ops: whether every input is the same for all rows, or has rows and the rank of the output.
bool ByRowOfAll(const NodeRows& of);
// For products of matrices: ByRowOfAll, if the first axis is not one of the two axes of the matrices.
bool ByRowOfMatrices(const NodeRows& of);

bool ByRowOfConcat(const NodeRows& of);
bool ByRowOfEinsum(const NodeRows& of);
bool ByRowOfGather(const NodeRows& of);
bool ByRowOfMatMul(const NodeRows& of);
bool ByRowOfReduction(const NodeRows& of);
bool ByRowOfReshape(const NodeRows& of);
bool ByRowOfSoftmax(const NodeRows& of);
bool ByRowOfStridedSlice(const NodeRows& of);
bool ByRowOfTranspose(const NodeRows& of);

}  // namespace longshore::graph
