#include "serving-node/engine/engine.h"

#include <future>

namespace longshore::engine {

Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request) {
  std::promise<Result<TensorMap>> promise;
  auto future = promise.get_future();
  request.thread = Thread::kCallers;
  model.Run(std::move(request), [&promise](Result<TensorMap> result) { promise.set_value(std::move(result)); });
  return future.get();
}

}  // namespace longshore::engine
