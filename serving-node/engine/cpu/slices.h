// A run of many rows as several runs of a few, whose values stay in the processor's caches.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "serving-node/graph/graph.h"
#include "serving-node/graph/types.h"

namespace longshore::engine::cpu {

struct Slices {
  int64_t rows = 0;  // Of a run.
  int64_t each = 0;  // Rows of a slice, of which there are whole ones only.

  friend bool operator==(const Slices&, const Slices&) = default;
};

// As many rows at once as let no step read and make more than `bytes`, or one. nullopt where slices would not pay: no
// step does so of all rows, or no such number divides them well, or the weights, which each slice reads anew, are more
// than what its steps make. `graph`: as the passes left it, with what is known of it. Whether the rows can be told
// apart is another question.
std::optional<Slices> SlicesThatPay(const graph::Graph& graph, const graph::Types& types, int64_t bytes);

// Of one row each, whatever that costs; nullopt where there is no second row.
std::optional<Slices> SlicesOfOne(const graph::Graph& graph, const graph::Types& types);

// What is fed, with so many rows.
std::map<std::string, graph::Type> WithRows(std::map<std::string, graph::Type> fed, int64_t rows);

}  // namespace longshore::engine::cpu
