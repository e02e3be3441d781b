// Row rules: for each op, whether it computes each row of a batch by itself. rows.h applies them.
#pragma once

#include <vector>

#include "serving-node/graph/op.h"

namespace longshore::graph {

// How a value depends on the rows of the batch.
enum class RowKind {
  kSame,     // The same whatever is fed: weights.
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

// Input 0 has rows, all others are the same for all rows.
bool ByRowOfFirst(const NodeRows& of);
// Every input is the same for all rows, or has rows and the rank of the output: element-wise ops.
bool ByRowOfAll(const NodeRows& of);
// ByRowOfAll for products of matrices, of which the first axis must not be one.
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
