// Joins the requests of a batch into one run, and splits the outputs of the run. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving-node/batching/task.h"

namespace longshore::batching {

struct Batchable {
  std::string key;  // Equal for requests that may run together.
  int64_t rows = 0;
};

// Returns nullopt if the request must run alone: an input is a scalar, is in device memory or has no rows; the inputs
// differ in dimension 0; the signature is unknown or has no such output; or a signature that the request runs
// (serving-node/engine/together.h) fixes dimension 0 of an input or of a requested output. With `pad`, rows may run
// together if their sizes differ only in dimensions that the signature leaves free.
std::optional<Batchable> FindBatchable(const engine::Signatures& signatures, const engine::RunRequest& request,
                                       bool pad);

int64_t RowsOf(std::span<const Task> tasks);

// Returns the number of rows that a batch of `rows` rows runs with: the next allowed size, or `rows` if no allowed size
// is large enough.
int64_t PaddedRows(int64_t rows, const std::vector<int>& allowed_batch_sizes);
// Returns the bytes of a batch after it is padded to PaddedRows, if its `rows` rows have `bytes` bytes before.
int64_t PaddedBytes(int64_t rows, int64_t bytes, const std::vector<int>& allowed_batch_sizes);

// Returns the request with `rows` rows: its rows are repeated in order or, if it has more, its first rows are taken.
// Returns ResourceExhausted if there is not enough memory, or if the repeated rows would need more than 64 MiB.
// Requires: FindBatchable accepts the request, and rows > 0.
Result<engine::RunRequest> WithRows(engine::RunRequest request, int64_t rows);

// Joins the rows of all tasks, in order, into one request. Each row is padded to the size of the largest (padding.h),
// and the first row is repeated until there are rows_padded rows. The tasks keep their inputs, but a batch of one task
// that needs no padding gives them away. Requires: tasks of one key. Returns ResourceExhausted if there is not enough
// memory, or if nearly all of the result would be padding.
Result<engine::RunRequest> Join(Batch& batch, int64_t rows_padded);

// Returns the outputs of each task, as views of the memory of `outputs`; nullopt if an output does not have rows_padded
// rows.
std::optional<std::vector<engine::TensorMap>> Split(engine::TensorMap outputs, const Batch& batch, int64_t rows_padded);

}  // namespace longshore::batching
