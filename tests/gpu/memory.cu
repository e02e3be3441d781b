// How many bytes of the device, and of the host, each object takes that an engine needs.
#include <cublasLt.h>
#include <cudnn.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

// NVML sees the memory of the whole device, also before this process has a context.
class DeviceUsage {
 public:
  DeviceUsage() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) throw std::runtime_error("libnvidia-ml.so.1 cannot be opened");
    Find(library, "nvmlDeviceGetMemoryInfo", read_);
    int (*init)() = nullptr;
    int (*find)(unsigned, void**) = nullptr;
    Find(library, "nvmlInit_v2", init);
    Find(library, "nvmlDeviceGetHandleByIndex_v2", find);
    if (init() != 0 || find(0, &device_) != 0) throw std::runtime_error("NVML does not answer");
  }
  int64_t UsedBytes() const {
    struct {
      unsigned long long total, free, used;
    } memory{};
    if (read_(device_, &memory) != 0) throw std::runtime_error("nvmlDeviceGetMemoryInfo failed");
    return static_cast<int64_t>(memory.used);
  }

 private:
  template <class F>
  static void Find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (function == nullptr) throw std::runtime_error(std::string(name) + " is missing");
  }
  int (*read_)(void*, void*) = nullptr;
  void* device_ = nullptr;
};

int64_t HostBytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kibibytes = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "VmRSS: %ld", &kibibytes) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return int64_t{kibibytes} * 1024;
}

// Measures one step after another. Before the context exists, only NVML can be asked.
class Meter {
 public:
  template <class F>
  void Step(const char* name, const F& step) {
    const int64_t used = usage_.UsedBytes(), host = HostBytes();
    const double began = NowUs();
    step();
    const double us = NowUs() - began;
    Fact(name)
        .With("device_bytes", usage_.UsedBytes() - used)
        .With("host_bytes", HostBytes() - host)
        .With("us", Rounded(us));
  }

 private:
  DeviceUsage usage_;
};

void CheckBlas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasLtGetStatusString(status));
}

// A product of two 1024 x 1024 matrices with the algorithm that the library proposes first.
void Multiply(cublasLtHandle_t handle, void* memory, size_t workspace_bytes, cudaStream_t stream) {
  constexpr int kSize = 1024;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  CheckBlas(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CheckBlas(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, kSize, kSize, kSize));
  CheckBlas(cublasLtMatmulPreferenceCreate(&preference));
  CheckBlas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                                                 sizeof workspace_bytes));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  CheckBlas(
      cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference, 1, &found, &count));
  auto* a = static_cast<float*>(memory);
  float* b = a + kSize * kSize;
  float* c = b + kSize * kSize;
  const float one = 1, zero = 0;
  CheckBlas(cublasLtMatmul(handle, operation, &one, a, layout, b, layout, &zero, c, layout, c, layout, &found.algo,
                           c + kSize * kSize, workspace_bytes, stream));
  Check(cudaStreamSynchronize(stream));
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
}

GraphExec TinyGraph(int kernels, int* word, cudaStream_t stream) {
  const Graph graph = Capture(stream, [&] {
    for (int i = 0; i < kernels; ++i) Check(LaunchTiny(word, stream));
  });
  GraphExec exec = Instantiate(graph);
  Check(cudaGraphUpload(exec.get(), stream));
  Check(cudaStreamSynchronize(stream));
  return exec;
}

void MeasureRuntime(Meter& meter, Stream& stream, DeviceMemory& memory) {
  meter.Step("cuda context", [] { Check(cudaFree(nullptr)); });
  meter.Step("first stream", [&] { stream = MakeStream(); });
  std::vector<Stream> streams;
  meter.Step("32 more streams", [&] {
    for (int i = 0; i < 32; ++i) streams.push_back(MakeStream());
  });
  meter.Step("destroy 32 streams", [&] { streams.clear(); });
  meter.Step("an allocation of 1 byte", [&] { memory = MakeDeviceMemory(1); });
  meter.Step("an allocation of 64 MiB", [&] { memory = MakeDeviceMemory(64 << 20); });
  PinnedMemory pinned;
  meter.Step("64 MiB of pinned host memory", [&] { pinned = MakePinnedMemory(64 << 20); });
  meter.Step("first kernel of the program", [&] {
    Check(LaunchTiny(static_cast<int*>(memory.get()), stream.get()));
    Check(cudaStreamSynchronize(stream.get()));
  });
}

void MeasureGraphs(Meter& meter, int* word, cudaStream_t stream) {
  std::vector<GraphExec> graphs;
  meter.Step("first graph of 100 kernels", [&] { graphs.push_back(TinyGraph(100, word, stream)); });
  meter.Step("20 more graphs of 100 kernels", [&] {
    for (int i = 0; i < 20; ++i) graphs.push_back(TinyGraph(100, word, stream));
  });
  meter.Step("20 graphs of 500 kernels", [&] {
    for (int i = 0; i < 20; ++i) graphs.push_back(TinyGraph(500, word, stream));
  });
  meter.Step("destroy 41 graphs", [&] { graphs.clear(); });
  meter.Step("20 graphs of 500 kernels again", [&] {
    for (int i = 0; i < 20; ++i) graphs.push_back(TinyGraph(500, word, stream));
  });
}

void MeasureLibraries(Meter& meter, void* memory, cudaStream_t stream) {
  cublasLtHandle_t blas = nullptr;
  meter.Step("first handle of cuBLASLt", [&] { CheckBlas(cublasLtCreate(&blas)); });
  meter.Step("first product of cuBLASLt", [&] { Multiply(blas, memory, 1 << 20, stream); });
  meter.Step("second product of cuBLASLt", [&] { Multiply(blas, memory, 1 << 20, stream); });
  cudnnHandle_t dnn = nullptr, second = nullptr;
  const auto create = [](cudnnHandle_t* handle) {
    if (cudnnCreate(handle) != CUDNN_STATUS_SUCCESS) throw std::runtime_error("cudnnCreate failed");
  };
  meter.Step("first handle of cuDNN", [&] { create(&dnn); });
  meter.Step("second handle of cuDNN", [&] { create(&second); });
  meter.Step("destroy the handles", [&] {
    cudnnDestroy(second);
    cudnnDestroy(dnn);
    cublasLtDestroy(blas);
  });
}

void Measure() {
  Meter meter;
  Stream stream;
  DeviceMemory memory;
  MeasureRuntime(meter, stream, memory);
  Try("graphs", [&] { MeasureGraphs(meter, static_cast<int*>(memory.get()), stream.get()); });
  Try("libraries", [&] { MeasureLibraries(meter, memory.get(), stream.get()); });
  size_t free_bytes = 0, total_bytes = 0;
  Check(cudaMemGetInfo(&free_bytes, &total_bytes));
  Fact("memory at the end").With("free_bytes", free_bytes).With("total_bytes", total_bytes);
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }
