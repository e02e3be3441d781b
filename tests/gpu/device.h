// What the measuring programs do with a device: own memory, streams, events and graphs, and time work.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>

#include "tests/gpu/facts.h"

namespace longshore::gpu {

// Throws if the call failed. The message has the error's name and the line of the call.
void Check(cudaError_t error, std::source_location where = std::source_location::current());

struct StreamDeleter {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
struct EventDeleter {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
struct GraphDeleter {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct GraphExecDeleter {
  void operator()(cudaGraphExec_t exec) const { cudaGraphExecDestroy(exec); }
};
struct DeviceMemoryDeleter {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct PinnedMemoryDeleter {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;
using Event = std::unique_ptr<CUevent_st, EventDeleter>;
using Graph = std::unique_ptr<CUgraph_st, GraphDeleter>;
using GraphExec = std::unique_ptr<CUgraphExec_st, GraphExecDeleter>;
using DeviceMemory = std::unique_ptr<void, DeviceMemoryDeleter>;
using PinnedMemory = std::unique_ptr<void, PinnedMemoryDeleter>;

// The number of multiprocessors of the device.
int Multiprocessors();

Stream MakeStream(int priority = 0);
Event MakeEvent(unsigned flags = cudaEventDefault);
DeviceMemory MakeDeviceMemory(size_t bytes);
PinnedMemory MakePinnedMemory(size_t bytes);

// Records what `work` puts into the stream. Throws, and ends the capture, if the work or the capture fails.
Graph Capture(cudaStream_t stream, const std::function<void()>& work);
GraphExec Instantiate(const Graph& graph);

// Calls `step` `count` times and returns how long each call took on the host.
Samples HostTimes(int count, const std::function<void()>& step);

// The time that `work` takes on the device, between two events. `work` puts its kernels into the stream.
Samples DeviceTimes(cudaStream_t stream, int count, const std::function<void()>& work);

// The time of one of `repeats` executions of `work` that are one graph, so that the host's share is small. There is one
// replay before the samples.
Samples GraphTimes(cudaStream_t stream, int repeats, int count, const std::function<void()>& work);

// How many executions make a replay long enough to time it well, if one takes `us`.
int RepeatsFor(double us);

// Kernels, put into the stream. They return the error of the launch.
cudaError_t LaunchTiny(int* word, cudaStream_t stream);                        // One thread adds 1 to the word.
cudaError_t LaunchSpin(int64_t nanoseconds, int blocks, cudaStream_t stream);  // 128 threads per block wait.
cudaError_t LaunchSpinThenFlag(int64_t nanoseconds, volatile int* flag, cudaStream_t stream);  // Sets the flag to 1.
cudaError_t LaunchCopyWords(const int* from, int* to, int words, cudaStream_t stream);
// Kernel `which` of three that nothing else launches, so that the first launch loads it. Requires: 0 <= which < 3.
cudaError_t LaunchNeverUsed(int which, int* word, cudaStream_t stream);
cudaError_t LaunchWriteToAddressZero(cudaStream_t stream);  // Fails: an illegal address.

// Fills with reproducible numbers in [-1, 1).
void FillFloats(float* values, size_t count, uint32_t seed, cudaStream_t stream);
void FillBfloat16s(void* values, size_t count, uint32_t seed, cudaStream_t stream);

// The number of 32-bit words that differ. Waits for the stream.
size_t CountDifferences(const void* a, const void* b, size_t words, cudaStream_t stream);

// A number that changes if a word changes or moves. Waits for the stream.
uint64_t Checksum(const void* values, size_t words, cudaStream_t stream);

}  // namespace longshore::gpu
