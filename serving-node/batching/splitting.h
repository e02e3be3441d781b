// A request of more rows than a batch holds: cut into tasks that run in several batches, and their answers put together
// again, which is what enable_large_batch_splitting asks for.
#pragma once

#include <functional>
#include <vector>

#include "serving-node/batching/lane.h"

namespace longshore::batching {

// Tasks of at most rows_max rows each, in the order of the rows, the done of `task` with the last of them. The answer's
// times are the longest of theirs, its batch is the largest; an error is that of the first that failed. Where the
// outputs turn out not to have the rows of the inputs, whole(task) runs it uncut instead. Requires: a batchable task of
// more than rows_max rows.
std::vector<Task> Cut(Task task, int64_t rows_max, std::function<void(Task)> whole);

}  // namespace longshore::batching
