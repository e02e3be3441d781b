// Joining the requests of a batch into one run, and splitting its outputs. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

struct Batchable {
  std::string key;  // Equal for requests that may run together.
  int64_t rows = 0;
};

// nullopt when the request must run alone: an input is a scalar, the inputs differ in dimension 0 or have no row, lie
// on a device, or the signature fixes dimension 0 of an input or of an output that is asked for. With `pad`, rows whose
// sizes differ only where the signature leaves them free may run together.
std::optional<Batchable> FindBatchable(const tensorflow::SignatureDef& signature, const engine::RunRequest& request,
                                       bool pad);

int64_t RowsOf(std::span<const Task> tasks);

// The rows a batch runs with: the next allowed size; as many as there are when none is large enough.
int64_t PaddedRows(int64_t rows, const std::vector<int>& allowed_batch_sizes);
// And the bytes, where so many rows have so many.
int64_t PaddedBytes(int64_t rows, int64_t bytes, const std::vector<int>& allowed_batch_sizes);

// One request with the rows of all tasks, in order, all as large as the largest (padding.h), repeated from the first
// row up to rows_padded. The tasks keep their inputs. Requires: tasks of one key. ResourceExhausted when there is no
// memory for it, or nearly all of it would be padding.
Result<engine::RunRequest> Join(const Batch& batch, int64_t rows_padded);

// The outputs per task, sharing the memory of the whole; nullopt when an output does not have rows_padded rows.
std::optional<std::vector<engine::TensorMap>> Split(const engine::TensorMap& outputs, const Batch& batch,
                                                    int64_t rows_padded);

}  // namespace longshore::batching
