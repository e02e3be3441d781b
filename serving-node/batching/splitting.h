// Splits a request with more rows than a batch holds into tasks that run in several batches, and joins their answers
// (enable_large_batch_splitting).
#pragma once

#include <functional>
#include <vector>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

// Returns tasks of at most rows_max rows each, in row order. When all of them are answered, `task` is answered with the
// joined outputs, and with the longest times and the largest batch size of these tasks; or with the error of the first
// of them that failed. If the outputs do not have one row per input row, whole(task) is called instead, to run the
// request as a whole. Requires: a batchable task of more than rows_max rows.
std::vector<Task> Cut(Task task, int64_t rows_max, std::function<void(Task)> whole);

}  // namespace longshore::batching
