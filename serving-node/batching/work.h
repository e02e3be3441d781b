// A queue as the scheduler sees it, and the runs and refusals that the scheduler decides under its locks. It starts the
// runs and answers the requests later, without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "serving-node/batching/forecast.h"
#include "serving-node/batching/run_watch.h"
#include "serving-node/batching/share.h"

namespace longshore::batching {

struct QueueState : Waiter, std::enable_shared_from_this<QueueState> {
  QueueState(std::shared_ptr<engine::LoadedModel> loaded, const Options& wanted, std::shared_ptr<Share> its_share,
             std::shared_ptr<RunWatch> its_watch)
      : Waiter(wanted, std::move(its_share)), model(std::move(loaded)), options(wanted), watch(std::move(its_watch)) {}

  // Reset when the queue is drained: a thread of the engine must not be the last owner of its model.
  std::shared_ptr<engine::LoadedModel> model;
  const Options options;
  const std::shared_ptr<RunWatch> watch;
  // Guarded by the lock of the share:
  std::set<std::string> unbatchable;  // Signatures whose outputs did not have one row per input row.
  Forecast forecast;
  // Requests whose done callback has not returned, runs being started, and calls of Submit. Changed without a lock.
  // Drain waits until it is 0; then the queue may be destroyed.
  std::atomic<int64_t> in_use = 0;
};
using StatePtr = std::shared_ptr<QueueState>;

// A run that holds a slot.
struct Run {
  StatePtr queue;
  Batch batch;
  TimePoint started;
  TimePoint filled;  // When the batch stopped waiting for more requests.
  int64_t rows_padded = 0;
  int64_t bytes = 0;    // Size of the padded inputs.
  Duration charged{0};  // Time charged to the queue's share when the run began.
  Duration least{0};    // How long the run keeps its slot at least.
  bool background = false;
  std::shared_ptr<WatchedRun> watched = nullptr;  // Null: the run is not recorded.
};
using RunPtr = std::shared_ptr<Run>;

// A request that has left its queue without running and is not answered yet.
struct Dropped {
  StatePtr queue;
  Task task;
  TimePoint at;  // When it left.
  bool cancelled() const { return task.terms.cancelled.stop_requested(); }
};

struct Work {
  RunPtr at_once = nullptr;  // A run that starts without waiting for a turn; may be null.
  std::vector<RunPtr> runs{};
  std::vector<Dropped> dropped{};
  bool empty() const { return at_once == nullptr && runs.empty() && dropped.empty(); }
};

}  // namespace longshore::batching
