#include "serving-node/batching/background.h"

#include <future>
#include <utility>

namespace longshore::batching {

Result<RunOutcome> RunInBackground(Queue& queue, engine::RunRequest request, std::chrono::milliseconds patience) {
  std::promise<Result<RunOutcome>> promise;
  queue.Submit(std::move(request), {.deadline = std::chrono::steady_clock::now() + patience, .background = true},
               [&promise](Result<RunOutcome> outcome) { promise.set_value(std::move(outcome)); });
  return promise.get_future().get();
}

}  // namespace longshore::batching
