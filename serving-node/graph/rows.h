// Whether the rows of a batch have nothing to do with each other, so that a run of many can be several of a few.
#pragma once

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::graph {

// A row: what a value has at one place of its first axis.
struct RowCounts {
  int64_t many = 0;
  int64_t few = 0;  // 0 < few < many.
};

// Whether every output of the graph has as many rows as what is fed has, and each follows from the same row of what is
// fed and from nothing else of it, neither other rows nor their count. `many`, `few`: what is known where so many rows
// are fed. A scalar that is fed belongs to all rows. False where it cannot be told: it is known of the common ops
// alone.
bool IsByRows(const Graph& graph, const Types& many, const Types& few, const RowCounts& counts);

}  // namespace longshore::graph
