// Slices: a run of many rows as several runs of a few rows, whose values stay in the processor's caches.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

struct Slices {
  int64_t rows = 0;  // The rows of a run.
  int64_t each = 0;  // The rows of a slice; divides `rows`.

  friend bool operator==(const Slices&, const Slices&) = default;
};

// The largest slices in which no step reads and writes more than `bytes`, at least one row. nullopt if slices are not
// worth it: the whole run already fits, or no suitable number divides the rows, or the weights, which each slice reads
// again, are larger than the outputs of its steps. `graph` is the graph after the passes, with its types. Does not
// check that the rows are independent: see graph/rows.h.
std::optional<Slices> SlicesThatPay(const graph::Graph& graph, const graph::Types& types, int64_t bytes);

// Slices of one row each, whatever the cost; nullopt if the run has less than two rows, or if all rows are empty.
std::optional<Slices> SlicesOfOne(const graph::Graph& graph, const graph::Types& types);

// The fed types with another number of rows.
std::map<std::string, graph::Type> WithRows(std::map<std::string, graph::Type> fed, int64_t rows);

}  // namespace longshore::engine::cpu
