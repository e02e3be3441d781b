#include "tests/gpu/capture_probe.h"

#include <thread>

namespace longshore::gpu {
namespace {

// Instantiates and replays the graph.
cudaError_t Replay(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t made = nullptr;
  cudaError_t error = cudaGraphInstantiate(&made, graph, 0);
  const GraphExec exec(made);
  if (error == cudaSuccess) error = cudaGraphLaunch(made, stream);
  return error == cudaSuccess ? cudaStreamSynchronize(stream) : error;
}

std::string Call(const Probe& probe) {
  if (!probe.on_other_thread) return probe.call();
  std::string result;
  std::jthread([&] { result = probe.call(); }).join();
  return result;
}

}  // namespace

std::string Short(cudaError_t error) {
  if (error == cudaSuccess) return "ok";
  const std::string name = cudaGetErrorName(error), start = "cudaError";
  return name.starts_with(start) ? name.substr(start.size()) : name;
}

std::string TryInCapture(const Probe& probe, cudaStreamCaptureMode mode, cudaStream_t stream, int* word) {
  Check(cudaStreamBeginCapture(stream, mode));
  Check(LaunchTiny(word, stream));
  const std::string called = Call(probe);
  cudaGetLastError();
  const cudaError_t launched = LaunchTiny(word, stream);
  cudaGetLastError();
  cudaGraph_t made = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &made);
  const Graph graph(made);
  const cudaError_t replayed = ended == cudaSuccess ? Replay(made, stream) : cudaSuccess;
  cudaGetLastError();
  std::string text = called;
  if (launched == cudaErrorStreamCaptureInvalidated && ended == launched) return text + "; invalid";
  if (launched != cudaSuccess) text += "; next launch " + Short(launched);
  if (ended != cudaSuccess) text += "; end " + Short(ended);
  if (replayed != cudaSuccess) text += "; replay " + Short(replayed);
  return text;
}

}  // namespace longshore::gpu
