// Which calls are legal while a stream is being captured, in each of the three modes, and what becomes of the capture.
#include <stdexcept>
#include <vector>

#include "tests/gpu/capture_probe.h"
#include "tests/gpu/convolution_plans.h"
#include "tests/gpu/product_calls.h"

namespace longshore::gpu {
namespace {

// What the probes use, made before the captures.
struct Things {
  Stream stream = MakeStream(), other_stream = MakeStream();
  Event event = MakeEvent(), event_before = MakeEvent();
  DeviceMemory memory = MakeDeviceMemory(64 << 20);
  std::vector<DeviceMemory> to_free;
  PinnedMemory pinned = MakePinnedMemory(1 << 20);
  std::vector<char> pageable = std::vector<char>(1 << 20);
  GraphExec exec;
  cublasLtHandle_t blas = nullptr;
  Target dnn = Target::CurrentDevice();
  int unused_kernel = 0;  // Which of the kernels that have never been launched is next.

  Things() {
    for (int i = 0; i < 3; ++i) to_free.push_back(MakeDeviceMemory(1 << 20));
    CheckBlas(cublasLtCreate(&blas));
    Check(cudaEventRecord(event_before.get(), stream.get()));
    exec = Instantiate(Capture(other_stream.get(), [&] { Check(LaunchTiny(word(), other_stream.get())); }));
    CheckDnn(cudnnSetStream(dnn.handle(), stream.get()));
    Check(LaunchTiny(word(), stream.get()));
    Check(cudaDeviceSynchronize());
  }
  int* word() const { return static_cast<int*>(memory.get()); }
  float* floats(int mebibytes) const { return static_cast<float*>(memory.get()) + (mebibytes << 18); }
};

Probe Runtime(const std::string& name, const std::function<cudaError_t()>& call) {
  return {name, [call] { return Short(call()); }};
}

Probe OnOtherThread(const std::string& name, const std::function<cudaError_t()>& call) {
  return {name + ", another thread", [call] { return Short(call()); }, true};
}

cudaError_t AllocateAndFree() {
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, 1 << 20);
  return error == cudaSuccess ? cudaFree(memory) : error;
}

cudaError_t ForkAndJoin(const Things& things) {
  cudaError_t error = cudaEventRecord(things.event.get(), things.stream.get());
  if (error == cudaSuccess) error = cudaStreamWaitEvent(things.other_stream.get(), things.event.get(), 0);
  if (error == cudaSuccess) error = LaunchTiny(things.word() + 1, things.other_stream.get());
  if (error == cudaSuccess) error = cudaEventRecord(things.event.get(), things.other_stream.get());
  return error == cudaSuccess ? cudaStreamWaitEvent(things.stream.get(), things.event.get(), 0) : error;
}

std::vector<Probe> MemoryProbes(Things& t) {
  cudaStream_t stream = t.stream.get();
  return {
      Runtime("cudaMemcpyAsync from pinned memory",
              [=, &t] { return cudaMemcpyAsync(t.word(), t.pinned.get(), 1 << 20, cudaMemcpyHostToDevice, stream); }),
      Runtime("cudaMemcpyAsync to pinned memory",
              [=, &t] { return cudaMemcpyAsync(t.pinned.get(), t.word(), 1 << 20, cudaMemcpyDeviceToHost, stream); }),
      Runtime(
          "cudaMemcpyAsync from pageable memory",
          [=, &t] { return cudaMemcpyAsync(t.word(), t.pageable.data(), 1 << 20, cudaMemcpyHostToDevice, stream); }),
      Runtime("cudaMemcpy", [&t] { return cudaMemcpy(t.word(), t.pinned.get(), 1 << 20, cudaMemcpyHostToDevice); }),
      Runtime("cudaMemsetAsync", [=, &t] { return cudaMemsetAsync(t.word(), 0, 1 << 20, stream); }),
      Runtime("cudaMalloc and cudaFree", AllocateAndFree),
      Runtime("cudaFree",
              [&t] {
                void* memory = t.to_free.back().release();
                t.to_free.pop_back();
                return cudaFree(memory);
              }),
      Runtime("cudaMallocAsync",
              [=] {
                void* memory = nullptr;
                return cudaMallocAsync(&memory, 1 << 20, stream);
              }),
      Runtime("cudaMallocHost",
              [] {
                void* memory = nullptr;
                const cudaError_t error = cudaMallocHost(&memory, 1 << 20);
                cudaFreeHost(memory);
                return error;
              }),
      Runtime("cudaMemGetInfo",
              [] {
                size_t free_bytes = 0, total_bytes = 0;
                return cudaMemGetInfo(&free_bytes, &total_bytes);
              }),
      OnOtherThread("cudaMalloc and cudaFree", AllocateAndFree),
      OnOtherThread(
          "cudaMemcpy",
          [&t] { return cudaMemcpy(t.word() + (1 << 18), t.pageable.data(), 1 << 20, cudaMemcpyHostToDevice); }),
  };
}

std::vector<Probe> OrderProbes(Things& t) {
  cudaStream_t stream = t.stream.get(), other = t.other_stream.get();
  return {
      Runtime("cudaStreamSynchronize of the stream", [=] { return cudaStreamSynchronize(stream); }),
      Runtime("cudaStreamSynchronize of another stream", [=] { return cudaStreamSynchronize(other); }),
      Runtime("cudaStreamQuery of the stream", [=] { return cudaStreamQuery(stream); }),
      Runtime("cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }),
      Runtime("cudaEventRecord", [=, &t] { return cudaEventRecord(t.event.get(), stream); }),
      Runtime("cudaEventRecord, then cudaEventQuery",
              [=, &t] {
                cudaEventRecord(t.event.get(), stream);
                return cudaEventQuery(t.event.get());
              }),
      Runtime("cudaEventQuery of an event of before", [&t] { return cudaEventQuery(t.event_before.get()); }),
      Runtime("cudaEventSynchronize of an event of before",
              [&t] { return cudaEventSynchronize(t.event_before.get()); }),
      Runtime("fork to another stream and join", [&t] { return ForkAndJoin(t); }),
      Runtime("cudaLaunchHostFunc",
              [=] {
                return cudaLaunchHostFunc(
                    stream, [](void*) {}, nullptr);
              }),
      Runtime("first launch of a kernel",
              [&t] { return LaunchNeverUsed(t.unused_kernel++, t.word(), t.stream.get()); }),
      Runtime("cudaStreamCreate",
              [] {
                cudaStream_t made = nullptr;
                return cudaStreamCreate(&made);
              }),
      Runtime("cudaEventCreate",
              [] {
                cudaEvent_t made = nullptr;
                return cudaEventCreate(&made);
              }),
      Runtime("cudaGraphLaunch into the stream", [=, &t] { return cudaGraphLaunch(t.exec.get(), stream); }),
      Runtime("cudaGraphLaunch into another stream", [=, &t] { return cudaGraphLaunch(t.exec.get(), other); }),
      OnOtherThread("cudaStreamSynchronize of another stream", [=] { return cudaStreamSynchronize(other); }),
      OnOtherThread("cudaDeviceSynchronize", [] { return cudaDeviceSynchronize(); }),
      OnOtherThread("cudaGraphLaunch into another stream", [=, &t] { return cudaGraphLaunch(t.exec.get(), other); }),
  };
}

// A call of a library that works outside of a capture, with the calls that prepare it.
std::vector<Probe> ProductProbes(const Things& t) {
  const auto call = std::make_shared<ProductCall>(Product{.rows = 64, .inner = 768, .columns = 768, .models = ""},
                                                  Precision::kFloat32, CUBLASLT_EPILOGUE_DEFAULT);
  const cublasLtMatmulAlgo_t algorithm = call->Algorithms(t.blas, 1, 1 << 20).at(0).algo;
  const Matrices matrices{.left = t.floats(1),
                          .right = t.floats(8),
                          .output = t.floats(16),
                          .workspace = t.floats(24),
                          .workspace_bytes = 1 << 20};
  call->Run(t.blas, algorithm, matrices, t.stream.get());
  Check(cudaStreamSynchronize(t.stream.get()));
  const auto text = [](cublasStatus_t status) {
    return std::string(status == CUBLAS_STATUS_SUCCESS ? "ok" : cublasLtGetStatusName(status));
  };
  return {
      {"cublasLtMatmul with a fixed algorithm",
       [=, &t] { return text(call->TryRun(t.blas, algorithm, matrices, t.stream.get())); }},
      {"cublasLtMatmulAlgoGetHeuristic",
       [=, &t] { return std::string(call->Algorithms(t.blas, 1, 1 << 20).size() == 1 ? "ok" : "nothing found"); }},
      {"cublasLtCreate",
       [=] {
         cublasLtHandle_t handle = nullptr;
         return text(cublasLtCreate(&handle));
       }},
  };
}

std::vector<Probe> ConvolutionProbes(const Things& t) {
  const Request request{.shape = {.image = 28,
                                  .channels = 128,
                                  .filters = 128,
                                  .kernel = 3,
                                  .stride = 1,
                                  .pad_before = 1,
                                  .pad_after = 1,
                                  .models = ""}};
  const auto graph = std::make_shared<ConvolutionGraph>(request, t.dnn);
  auto plans = std::make_shared<std::vector<Plan>>(graph->Plans(t.dnn));
  std::erase_if(*plans, [](const Plan& plan) { return !plan.IsFloat32(); });
  const auto pack = std::make_shared<Descriptor>(
      Bind({.input = t.floats(1), .filter = t.floats(8), .output = t.floats(16), .workspace = t.floats(24)}));
  const auto execute = [pack, graph, &t](const Plan& plan) {
    const cudnnStatus_t status = cudnnBackendExecute(t.dnn.handle(), plan.executable->raw(), pack->raw());
    return std::string(status == CUDNN_STATUS_SUCCESS ? "ok" : cudnnGetErrorString(status));
  };
  std::vector<Probe> probes;
  const auto build = [plans, &t] {
    Plan& plan = plans->back();
    ConvolutionGraph::Build(plan, t.dnn);
    return std::string(plan.executable != nullptr ? "ok" : plan.why_not.substr(0, 60));
  };
  probes.push_back({"finalize a plan of cuDNN", build});
  probes.push_back({"cudnnCreate", [] {
                      cudnnHandle_t handle = nullptr;
                      const cudnnStatus_t status = cudnnCreate(&handle);
                      return std::string(status == CUDNN_STATUS_SUCCESS ? "ok" : cudnnGetErrorString(status));
                    }});
  for (size_t i = 0; i < plans->size() && i < 4; ++i) {
    Plan& plan = (*plans)[i];
    ConvolutionGraph::Build(plan, t.dnn);
    if (plan.executable == nullptr || plan.workspace_bytes > (32 << 20)) continue;
    probes.push_back({"cudnnBackendExecute, executed in the first capture for the first time, engine " + plan.Name(),
                      [=] { return execute((*plans)[i]); }});
  }
  return probes;
}

void Measure() {
  Things things;
  const Table table("calls in a capture", {"call", "global", "thread local", "relaxed"});
  const auto run = [&](const std::vector<Probe>& probes) {
    for (const Probe& probe : probes) {
      const auto in = [&](cudaStreamCaptureMode mode) {
        return TryInCapture(probe, mode, things.stream.get(), things.word());
      };
      const std::string global = in(cudaStreamCaptureModeGlobal), local = in(cudaStreamCaptureModeThreadLocal);
      table.Add({probe.name, global, local, in(cudaStreamCaptureModeRelaxed)});
    }
  };
  run(MemoryProbes(things));
  run(OrderProbes(things));
  Try("products in a capture", [&] { run(ProductProbes(things)); });
  Try("convolutions in a capture", [&] { run(ConvolutionProbes(things)); });
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }
