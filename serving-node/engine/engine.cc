#include "serving-node/engine/engine.h"

#include <future>

namespace longshore::engine {

std::string ToString(const NonFinite& found) {
  if (found.op == "Placeholder")
    return fmt::format("output \"{}\", from the request's \"{}\"", found.output, found.node);
  return fmt::format("output \"{}\", made by node \"{}\" (op {})", found.output, found.node, found.op);
}

Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request) {
  std::promise<Result<TensorMap>> promise;
  auto future = promise.get_future();
  request.thread = Thread::kCallers;
  model.Run(std::move(request), [&promise](Result<TensorMap> result) { promise.set_value(std::move(result)); });
  return future.get();
}

}  // namespace longshore::engine
