#include "tests/gpu/device.h"

#include <algorithm>
#include <stdexcept>

namespace longshore::gpu {

void Check(cudaError_t error, std::source_location where) {
  if (error == cudaSuccess) return;
  const std::string file(where.file_name());
  throw std::runtime_error(std::string(cudaGetErrorName(error)) + " at " + file.substr(file.rfind('/') + 1) + ":" +
                           std::to_string(where.line()));
}

int Multiprocessors() {
  int count = 0;
  Check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

Stream MakeStream(int priority) {
  cudaStream_t stream = nullptr;
  Check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return Stream(stream);
}

Event MakeEvent(unsigned flags) {
  cudaEvent_t event = nullptr;
  Check(cudaEventCreateWithFlags(&event, flags));
  return Event(event);
}

DeviceMemory MakeDeviceMemory(size_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes));
  return DeviceMemory(memory);
}

PinnedMemory MakePinnedMemory(size_t bytes) {
  void* memory = nullptr;
  Check(cudaMallocHost(&memory, bytes));
  return PinnedMemory(memory);
}

Graph Capture(cudaStream_t stream, const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    Graph unused(graph);
    cudaGetLastError();
    throw;
  }
  Check(cudaStreamEndCapture(stream, &graph));
  return Graph(graph);
}

GraphExec Instantiate(const Graph& graph) {
  cudaGraphExec_t exec = nullptr;
  Check(cudaGraphInstantiate(&exec, graph.get(), 0));
  return GraphExec(exec);
}

Samples HostTimes(int count, const std::function<void()>& step) {
  Samples times;
  for (int i = 0; i < count; ++i) {
    const double began = NowUs();
    step();
    times.push_back(NowUs() - began);
  }
  return times;
}

Samples DeviceTimes(cudaStream_t stream, int count, const std::function<void()>& work) {
  const Event begin = MakeEvent(), end = MakeEvent();
  Samples times;
  for (int i = 0; i < count; ++i) {
    Check(cudaEventRecord(begin.get(), stream));
    work();
    Check(cudaEventRecord(end.get(), stream));
    Check(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    times.push_back(milliseconds * 1e3);
  }
  return times;
}

Samples GraphTimes(cudaStream_t stream, int repeats, int count, const std::function<void()>& work) {
  const Graph graph = Capture(stream, [&] {
    for (int i = 0; i < repeats; ++i) work();
  });
  const GraphExec exec = Instantiate(graph);
  Check(cudaGraphLaunch(exec.get(), stream));
  Check(cudaStreamSynchronize(stream));
  Samples times = DeviceTimes(stream, count, [&] { Check(cudaGraphLaunch(exec.get(), stream)); });
  for (double& time : times) time /= repeats;
  return times;
}

int RepeatsFor(double us) {
  constexpr double kReplayUs = 200;
  constexpr int kRepeatsMax = 20;
  return std::clamp(static_cast<int>(kReplayUs / std::max(us, 0.1)), 1, kRepeatsMax);
}

}  // namespace longshore::gpu
