#include "serving-node/engine/engine.h"

#include <algorithm>
#include <future>

namespace longshore::engine {
namespace {

// A profile reserves memory for several nodes at once: at least kGrowthMin and at most kGrowthMax more than it has.
// This memory counts against the limit of the profile.
constexpr size_t kGrowthMin = 16;
constexpr size_t kGrowthMax = 16384;

}  // namespace

size_t Bytes(const TensorMap& tensors) {
  size_t bytes = 0;
  for (const auto& [_, tensor] : tensors) {
    bytes += tensor.bytes();
    if (tensor.type() != tensor::DType::kString) continue;
    for (const std::string& text : tensor.values<std::string>()) bytes += sizeof(text) + text.size();
  }
  return bytes;
}

std::string TypeText(const tensor::Tensor& tensor) {
  return fmt::format("{} {}", DTypeName(tensor.type()), tensor::ToString(tensor.shape()));
}

size_t TextBytes(const std::string& text) {
  return text.capacity() <= std::string().capacity() ? 0 : text.capacity() + 1;
}

std::string ToString(const NonFinite& found) {
  if (found.op == "Placeholder")
    return fmt::format("output \"{}\", from the request's input \"{}\"", found.output, found.node);
  return fmt::format("output \"{}\", made by node \"{}\" (op {})", found.output, found.node, found.op);
}

bool RunProfile::TakeRoom(size_t bytes) {
  const auto taken = static_cast<int64_t>(bytes);
  return room_bytes == nullptr || room_bytes->fetch_sub(taken, std::memory_order_relaxed) >= taken;
}

void RunProfile::Note(NodeRun node) {
  const bool grows = nodes.size() == nodes.capacity();
  const size_t more = grows ? std::clamp(nodes.capacity() / 2, kGrowthMin, kGrowthMax) : 0;
  const size_t texts =
      TextBytes(node.node) + TextBytes(node.op) + TextBytes(node.then) + TextBytes(node.how) + TextBytes(node.output);
  if (!TakeRoom(more * sizeof(node) + texts)) {
    left_out += 1;
    return;
  }
  if (grows) nodes.reserve(nodes.capacity() + more);
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
