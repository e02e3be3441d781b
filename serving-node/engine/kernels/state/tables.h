// Functions that the ops on lookup tables share: rows of a table from and to tensors.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::state {

inline constexpr int64_t kTableRowsMax = 50'000'000;

// The table of the handle in the first input. InvalidArgument if it is not a handle of a table.
Result<Table*> TableOf(const Call& call);

// The key under which a table stores element `at` of `keys`: a string, or the bytes of a number. Requires: 0 <= at <
// elements.
std::string KeyOf(const Tensor& keys, int64_t at);

// Stores row `at` of `values` under the key of element `at` of `keys`. If the key exists already with another value, a
// mutable table replaces the value; otherwise that is an error. ResourceExhausted if the table belongs to the run and
// would exceed the run's memory. Requires: the types and shapes are the table's.
Status AddRow(const Call& call, const Tensor& keys, const Tensor& values, int64_t at, Table* table);

// FailedPrecondition if the table must not be filled any more; InvalidArgument if the types or shapes of keys and
// values do not match the table.
Status CheckRows(const Call& call, const Tensor& keys, const Tensor& values, const Table& table);

}  // namespace longshore::engine::kernels::state
