#include "serving-node/engine/engine.h"

#include <future>

namespace longshore::engine {

size_t Bytes(const TensorMap& tensors) {
  size_t bytes = 0;
  for (const auto& [_, tensor] : tensors) {
    bytes += tensor.bytes();
    if (tensor.type() != tensor::DType::kString) continue;
    for (const std::string& text : tensor.values<std::string>()) bytes += sizeof(text) + text.size();
  }
  return bytes;
}

std::string ToString(const NonFinite& found) {
  if (found.op == "Placeholder")
    return fmt::format("output \"{}\", from the request's \"{}\"", found.output, found.node);
  return fmt::format("output \"{}\", made by node \"{}\" (op {})", found.output, found.node, found.op);
}

void RunProfile::Note(NodeRun node) {
  const size_t texts = node.node.size() + node.op.size() + node.then.size() + node.how.size() + node.output.size();
  const auto bytes = static_cast<int64_t>(sizeof(node) + texts);
  if (room_bytes != nullptr && room_bytes->fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
    left_out += 1;
    return;
  }
  nodes.push_back(std::move(node));
}

Result<TensorMap> RunAndWait(LoadedModel& model, RunRequest request) {
  std::promise<Result<RunResult>> promise;
  auto future = promise.get_future();
  request.thread = Thread::kCallers;
  model.Run(std::move(request), [&promise](Result<RunResult> result) { promise.set_value(std::move(result)); });
  ASSIGN_OR_RETURN(RunResult result, future.get());
  return std::move(result.outputs);
}

}  // namespace longshore::engine
