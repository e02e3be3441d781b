// Row independence: whether the rows of a batch do not influence each other, so that the engine may run a large batch
// as several smaller ones.
#pragma once

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph {

// Two batch sizes. A row is the part of a tensor at one index of its first axis.
struct RowCounts {
  int64_t many = 0;
  int64_t few = 0;  // 0 < few < many.
};

// Whether every output has a row for each row of the fed tensors, and this row depends on no other row nor on the
// number of rows. A fed scalar belongs to all rows. `many`, `few`: the types inferred for feeds of `counts.many` and
// `counts.few` rows. Only common ops are known: false if the graph has any other op, and whenever independence cannot
// be proved.
bool RowsAreIndependent(const Graph& graph, const Types& many, const Types& few, const RowCounts& counts);

}  // namespace longshore::graph
