// Functions that the ops on lookup tables share. They convert rows of a table to tensors and back.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::state {

inline constexpr int64_t kTableRowsMax = 50'000'000;

// Returns the table whose handle is the first input. InvalidArgument if the input is not the handle of a table.
Result<Table*> TableOf(const Call& call);

// Returns the key under which a table stores element `at` of `keys`: the string, or the bytes of the number. Requires
// that `at` is the index of an element.
std::string KeyOf(const Tensor& keys, int64_t at);

// Stores row `at` of `values` under the key in element `at` of `keys`. If the key already has another value, the value
// is replaced in a mutable table; in other tables that is an error. ResourceExhausted if the table belongs to the run
// and would exceed the run's memory. Requires that keys and values have the table's types and shapes.
Status AddRow(const Call& call, const Tensor& keys, const Tensor& values, int64_t at, Table* table);

// Returns FailedPrecondition if the table must not be filled any more, and InvalidArgument if the types or shapes of
// keys and values do not match the table.
Status CheckRows(const Call& call, const Tensor& keys, const Tensor& values, const Table& table);

}  // namespace longshore::engine::kernels::state
