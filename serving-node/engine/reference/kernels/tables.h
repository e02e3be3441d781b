// What ops on lookup tables share: rows of a table from and to tensors.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels {

inline constexpr int64_t kTableRowsMax = 50'000'000;

// The table whose handle is the first input.
Result<Table*> TableOf(const Call& call);

// What a table has for element `at` of the keys: a string, or the bytes of a number. Requires: 0 <= at < elements.
std::string KeyOf(const Tensor& keys, int64_t at);

// Row `row` of the values under the key of element `at`. What the table has for the key already stays when it is the
// same, is replaced in a mutable table, and else is an error. ResourceExhausted when the table is the run's and grows
// beyond its memory. Requires: the types and shapes are the table's.
Status AddRow(const Call& call, const Tensor& keys, const Tensor& values, int64_t at, Table* table);

// FailedPrecondition when the table may not be filled any more; InvalidArgument when keys and values are not the
// table's.
Status CheckRows(const Call& call, const Tensor& keys, const Tensor& values, const Table& table);

}  // namespace longshore::engine::reference::kernels
