// What a process sees after an error on the device, and while a kernel does not end.
//
//   errors illegal         an illegal address, then calls, cudaDeviceReset, and calls again
//   errors calls           which calls wait while a kernel runs in another stream
//   errors hang SECONDS    a kernel that runs for this time; prints a line when it has begun
//   errors first           the time until the first kernel of a process has finished
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/gpu/capture_probe.h"
#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

struct Call {
  const char* name;
  std::function<cudaError_t()> make;
};

void WriteCalls(const char* when, const std::vector<Call>& calls) {
  Fact fact(when);
  for (const Call& call : calls) {
    const double began = NowUs();
    const std::string result = Short(call.make());
    fact.With(call.name, result + ", " + std::to_string(static_cast<int64_t>(NowUs() - began)) + " us");
  }
}

std::vector<Call> CallsAfterError(cudaStream_t stream, cudaEvent_t event, cudaGraphExec_t exec, void* memory) {
  return {
      {"cudaPeekAtLastError", [] { return cudaPeekAtLastError(); }},
      {"cudaEventQuery", [=] { return cudaEventQuery(event); }},
      {"cudaStreamQuery", [=] { return cudaStreamQuery(stream); }},
      {"cudaStreamSynchronize", [=] { return cudaStreamSynchronize(stream); }},
      {"cudaGetLastError", [] { return cudaGetLastError(); }},
      {"cudaGetLastError again", [] { return cudaGetLastError(); }},
      {"launch of a kernel", [=] { return LaunchTiny(static_cast<int*>(memory), stream); }},
      {"cudaGraphLaunch", [=] { return cudaGraphLaunch(exec, stream); }},
      {"cudaMemsetAsync", [=] { return cudaMemsetAsync(memory, 0, 4, stream); }},
      {"cudaMalloc",
       [] {
         void* made = nullptr;
         return cudaMalloc(&made, 4);
       }},
      {"cudaMallocHost",
       [] {
         void* made = nullptr;
         return cudaMallocHost(&made, 4);
       }},
      {"cudaMemGetInfo",
       [] {
         size_t free_bytes = 0, total = 0;
         return cudaMemGetInfo(&free_bytes, &total);
       }},
      {"cudaStreamCreate",
       [] {
         cudaStream_t made = nullptr;
         return cudaStreamCreate(&made);
       }},
      {"cudaFree", [=] { return cudaFree(memory); }},
      {"cudaGraphExecDestroy", [=] { return cudaGraphExecDestroy(exec); }},
      {"cudaEventDestroy", [=] { return cudaEventDestroy(event); }},
      {"cudaStreamDestroy", [=] { return cudaStreamDestroy(stream); }},
  };
}

void IllegalAddress() {
  Stream stream = MakeStream();
  Event event = MakeEvent();
  DeviceMemory memory = MakeDeviceMemory(1 << 20);
  GraphExec exec =
      Instantiate(Capture(stream.get(), [&] { Check(LaunchTiny(static_cast<int*>(memory.get()), stream.get())); }));
  Check(cudaDeviceSynchronize());
  const double began = NowUs();
  const cudaError_t launch = LaunchWriteToAddressZero(stream.get());
  const cudaError_t record = cudaEventRecord(event.get(), stream.get());
  cudaError_t seen = cudaErrorNotReady;
  while (seen == cudaErrorNotReady && NowUs() - began < 5e6) seen = cudaEventQuery(event.get());
  Fact("illegal address")
      .With("launch", Short(launch))
      .With("event_record", Short(record))
      .With("event_query", Short(seen))
      .With("seen_after_us", Rounded(NowUs() - began));
  WriteCalls("calls after an illegal address",
             CallsAfterError(stream.release(), event.release(), exec.release(), memory.release()));
  WriteCalls("cudaDeviceReset and calls after it", {{"cudaDeviceReset", [] { return cudaDeviceReset(); }},
                                                    {"cudaGetLastError", [] { return cudaGetLastError(); }},
                                                    {"cudaSetDevice", [] { return cudaSetDevice(0); }},
                                                    {"cudaMalloc",
                                                     [] {
                                                       void* made = nullptr;
                                                       return cudaMalloc(&made, 4);
                                                     }},
                                                    {"cudaDeviceReset again", [] { return cudaDeviceReset(); }},
                                                    {"cudaMalloc again", [] {
                                                       void* made = nullptr;
                                                       return cudaMalloc(&made, 4);
                                                     }}});
}

// Calls that a load, an unload or a look at the state makes while another stream runs.
std::vector<Call> CallsOfOthers(cudaStream_t idle, int* word, std::vector<DeviceMemory>& spare) {
  static cudaStream_t stream = nullptr;
  static cudaEvent_t event = nullptr;
  static void *memory = nullptr, *pinned = nullptr, *pooled = nullptr;
  static cudaGraphExec_t exec = nullptr;
  static std::vector<char> pageable(16 << 20, 1);
  return {
      {"cudaMalloc of 64 MiB", [] { return cudaMalloc(&memory, 64 << 20); }},
      {"cudaMemGetInfo",
       [] {
         size_t free_bytes = 0, total = 0;
         return cudaMemGetInfo(&free_bytes, &total);
       }},
      {"cudaFree of 64 MiB", [] { return cudaFree(memory); }},
      {"cudaMallocAsync", [=] { return cudaMallocAsync(&pooled, 64 << 20, idle); }},
      {"cudaFreeAsync", [=] { return cudaFreeAsync(pooled, idle); }},
      {"cudaMallocHost of 64 MiB", [] { return cudaMallocHost(&pinned, 64 << 20); }},
      {"cudaFreeHost", [] { return cudaFreeHost(pinned); }},
      {"cudaStreamCreate", [] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); }},
      {"cudaStreamDestroy", [] { return cudaStreamDestroy(stream); }},
      {"cudaEventCreate", [] { return cudaEventCreate(&event); }},
      {"cudaEventDestroy", [] { return cudaEventDestroy(event); }},
      {"cudaMemcpy of 16 MiB from pageable memory",
       [&spare] { return cudaMemcpy(spare[0].get(), pageable.data(), 16 << 20, cudaMemcpyHostToDevice); }},
      {"cudaMemcpyAsync of 16 MiB from pageable memory",
       [=, &spare] {
         return cudaMemcpyAsync(spare[0].get(), pageable.data(), 16 << 20, cudaMemcpyHostToDevice, idle);
       }},
      {"first launch of a kernel", [=] { return LaunchNeverUsed(0, word, idle); }},
      {"launch and wait in another stream",
       [=] {
         const cudaError_t error = LaunchTiny(word, idle);
         return error == cudaSuccess ? cudaStreamSynchronize(idle) : error;
       }},
      {"instantiate and upload a graph",
       [=] {
         exec = Instantiate(Capture(idle, [&] { Check(LaunchTiny(word, idle)); })).release();
         const cudaError_t error = cudaGraphUpload(exec, idle);
         return error == cudaSuccess ? cudaStreamSynchronize(idle) : error;
       }},
      {"cudaGraphExecDestroy", [] { return cudaGraphExecDestroy(exec); }},
      {"cudaFree of 256 MiB", [&spare] { return cudaFree(spare[1].release()); }},
      {"cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }},
  };
}

void CallsWhileAKernelRuns() {
  constexpr int64_t kKernelNs = 250'000'000;
  const Stream busy = MakeStream(), idle = MakeStream();
  const DeviceMemory word = MakeDeviceMemory(4);
  std::vector<DeviceMemory> spare;
  spare.push_back(MakeDeviceMemory(64 << 20));
  spare.push_back(MakeDeviceMemory(256 << 20));
  Check(LaunchTiny(static_cast<int*>(word.get()), idle.get()));
  Check(LaunchSpin(1000, 1, busy.get()));
  Check(cudaDeviceSynchronize());
  const Table table("calls while a kernel of 250 ms runs in another stream",
                    {"call", "result", "us", "waits for the kernel"});
  for (const Call& call : CallsOfOthers(idle.get(), static_cast<int*>(word.get()), spare)) {
    Check(LaunchSpin(kKernelNs, 1, busy.get()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const double began = NowUs();
    const cudaError_t error = call.make();
    const double us = NowUs() - began;
    const bool has_ended = cudaStreamQuery(busy.get()) == cudaSuccess;
    table.Add({call.name, Short(error), Rounded(us), has_ended});
    Check(cudaStreamSynchronize(busy.get()));
  }
}

// A watching program reads the first line, and then looks at the device or ends this process.
void Hang(int seconds) {
  const Stream stream = MakeStream();
  const Event event = MakeEvent();
  Check(LaunchSpin(1000, 1, stream.get()));
  Check(cudaDeviceSynchronize());
  Check(LaunchSpin(seconds * int64_t{1'000'000'000}, Multiprocessors(), stream.get()));
  Check(cudaEventRecord(event.get(), stream.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double began = NowUs();
  const std::string query = Short(cudaEventQuery(event.get())), stream_query = Short(cudaStreamQuery(stream.get()));
  Fact("a kernel that does not end")
      .With("event_query", query)
      .With("stream_query", stream_query)
      .With("both_queries_us", Rounded(NowUs() - began));
  const cudaError_t end = cudaStreamSynchronize(stream.get());
  Fact("the kernel has ended").With("synchronize", Short(end)).With("after_s", Rounded((NowUs() - began) / 1e6));
}

void FirstKernel() {
  Fact fact("a new process");
  const double began = NowUs();
  double before = began;
  const auto step = [&](const char* name, const std::function<void()>& make) {
    make();
    fact.With(name, Rounded(NowUs() - before));
    before = NowUs();
  };
  step("context_us", [] { Check(cudaFree(nullptr)); });
  DeviceMemory memory;
  Stream stream;
  step("stream_and_allocation_us", [&] {
    stream = MakeStream();
    memory = MakeDeviceMemory(1 << 20);
  });
  step("first_kernel_us", [&] {
    Check(LaunchTiny(static_cast<int*>(memory.get()), stream.get()));
    Check(cudaStreamSynchronize(stream.get()));
  });
  fact.With("all_us", Rounded(NowUs() - began));
}

}  // namespace
}  // namespace longshore::gpu

int main(int argc, char** argv) {
  using namespace longshore::gpu;
  return RunPart([&] {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "illegal") return IllegalAddress();
    if (what == "calls") return CallsWhileAKernelRuns();
    if (what == "hang" && argc > 2) return Hang(std::atoi(argv[2]));
    if (what == "first") return FirstKernel();
    throw std::runtime_error("usage: errors illegal|calls|hang SECONDS|first");
  });
}
