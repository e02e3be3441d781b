// Slices: computes a run of many rows as several runs of a few rows each, whose values stay in the processor's caches.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

struct Slices {
  int64_t rows = 0;  // The number of rows of a run.
  int64_t each = 0;  // The number of rows of a slice; divides `rows`.

  friend bool operator==(const Slices&, const Slices&) = default;
};

// Returns the largest slices in which no step reads and writes more than `bytes`, with at least one row each. Returns
// nullopt if slices are not worth it: if the whole run already fits, if no suitable number divides the rows, or if the
// weights, which each slice reads again, are larger than the outputs of the steps of a slice. `graph` is the graph
// after the passes, with its types. Does not check that the rows are independent: see graph/rows.h.
std::optional<Slices> SlicesThatPay(const graph::Graph& graph, const graph::Types& types, int64_t bytes);

// Returns slices of one row each, whatever the cost; nullopt if the run has less than two rows, or if all rows are
// empty.
std::optional<Slices> SlicesOfOne(const graph::Graph& graph, const graph::Types& types);

// Returns `fed` with the number of rows of each tensor set to `rows`.
std::map<std::string, graph::Type> WithRows(std::map<std::string, graph::Type> fed, int64_t rows);

}  // namespace longshore::engine::cpu
