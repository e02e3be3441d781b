// The same float32 computations on the device and on the host: how many results differ, and by how much.
//
// An error is the distance from a computation in float64: |result - exact| / |exact|, both as vectors.
//
// The program is built twice: nvcc fuses a product and a sum into one rounding (fma) unless -fmad=false is given.
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "tests/gpu/device.h"
#include "tests/gpu/row_kernels.h"

#ifndef GPU_FMA
#error "build with -DGPU_FMA=1, or with -DGPU_FMA=0 -fmad=false"
#endif

namespace longshore::gpu {
namespace {

constexpr int kCount = 1 << 20;
constexpr int kColumns = 1024;

struct Exp {
  __host__ __device__ static float Of(float x) { return expf(x); }
  static double Exact(double x) { return std::exp(x); }
};
struct Log {
  __host__ __device__ static float Of(float x) { return logf(fabsf(x) + 0.001f); }
  static double Exact(double x) { return std::log(std::abs(x) + 0.001f); }
};
struct Tanh {
  __host__ __device__ static float Of(float x) { return tanhf(x); }
  static double Exact(double x) { return std::tanh(x); }
};
struct Erf {
  __host__ __device__ static float Of(float x) { return erff(x); }
  static double Exact(double x) { return std::erf(x); }
};
struct Sigmoid {
  __host__ __device__ static float Of(float x) { return 1.0f / (1.0f + expf(-x)); }
  static double Exact(double x) { return 1.0 / (1.0 + std::exp(-x)); }
};
struct InverseRoot {
  __host__ __device__ static float Of(float x) { return 1.0f / sqrtf(fabsf(x) + 0.001f); }
  static double Exact(double x) { return 1.0 / std::sqrt(std::abs(x) + 0.001f); }
};
struct Polynomial {
  __host__ __device__ static float Of(float x) { return ((0.1f * x + 0.2f) * x + 0.3f) * x + 0.4f; }
  static double Exact(double x) { return ((0.1f * x + 0.2f) * x + 0.3f) * x + 0.4f; }
};
struct Gelu {
  __host__ __device__ static float Of(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
  static double Exact(double x) { return 0.5 * x * (1.0 + std::erf(x * 0.70710678118654752)); }
};

template <class Op>
__global__ void Map(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = Op::Of(in[i]);
}

// The place of a number in the order of all numbers of its type, so that neighbours differ by 1.
template <class Bits, class T>
int64_t Place(T value) {
  const auto bits = std::bit_cast<Bits>(value);
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  return bits & kSign ? -static_cast<int64_t>(bits & ~kSign) : static_cast<int64_t>(bits);
}

template <class T>
int64_t Distance(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    return std::abs(Place<uint32_t>(a) - Place<uint32_t>(b));
  } else {
    return std::abs(Place<uint16_t>(a) - Place<uint16_t>(b));
  }
}

template <class T>
std::vector<T> RandomNumbers() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<T> numbers;
  for (int i = 0; i < kCount; ++i) numbers.push_back(FromFloat<T>(normal(random)));
  return numbers;
}

// Copies the numbers to the device, runs `launch(in, out, stream)` and copies its result back.
template <class T, class Launch>
std::vector<T> OnDevice(const std::vector<T>& in, const Launch& launch) {
  const Stream stream = MakeStream();
  const size_t bytes = in.size() * sizeof(T);
  const DeviceMemory from = MakeDeviceMemory(bytes), to = MakeDeviceMemory(bytes);
  Check(cudaMemcpyAsync(from.get(), in.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
  launch(static_cast<const T*>(from.get()), static_cast<T*>(to.get()), stream.get());
  Check(cudaGetLastError());
  std::vector<T> out(in.size());
  Check(cudaMemcpyAsync(out.data(), to.get(), bytes, cudaMemcpyDeviceToHost, stream.get()));
  Check(cudaStreamSynchronize(stream.get()));
  return out;
}

const Table& Results() {
  static const Table table("device against host",
                           {"computation", "type", "fma", "of 1048576 differ", "most units in the last place",
                            "largest difference", "error of the device", "error of the host"});
  return table;
}

template <class T>
void Compare(const char* name, const char* type, const std::vector<T>& device, const std::vector<T>& host,
             const std::vector<double>& exact) {
  int64_t differ = 0, most = 0;
  double largest = 0, device_error = 0, host_error = 0, size = 0;
  for (size_t i = 0; i < device.size(); ++i) {
    const double on_device = ToFloat(device[i]), on_host = ToFloat(host[i]);
    const int64_t distance = Distance(device[i], host[i]);
    differ += distance != 0;
    most = std::max(most, distance);
    largest = std::max(largest, std::abs(on_device - on_host));
    device_error += (on_device - exact[i]) * (on_device - exact[i]);
    host_error += (on_host - exact[i]) * (on_host - exact[i]);
    size += exact[i] * exact[i];
  }
  Results().Add({name, type, GPU_FMA != 0, differ, most, Rounded(largest), Rounded(std::sqrt(device_error / size)),
                 Rounded(std::sqrt(host_error / size))});
}

template <class Op>
void CompareFunction(const char* name) {
  const std::vector<float> in = RandomNumbers<float>();
  std::vector<float> host;
  std::vector<double> exact;
  for (const float x : in) {
    host.push_back(Op::Of(x));
    exact.push_back(Op::Exact(x));
  }
  const auto launch = [](const float* from, float* to, cudaStream_t stream) {
    Map<Op><<<kCount / 256, 256, 0, stream>>>(from, to);
  };
  Compare(name, "float32", OnDevice(in, launch), host, exact);
}

template <class T>
std::vector<double> ExactSoftmax(const std::vector<T>& in) {
  std::vector<double> exact(in.size());
  for (size_t row = 0; row < in.size(); row += kColumns) {
    double sum = 0;
    for (size_t i = row; i < row + kColumns; ++i) sum += exact[i] = std::exp(static_cast<double>(ToFloat(in[i])));
    for (size_t i = row; i < row + kColumns; ++i) exact[i] /= sum;
  }
  return exact;
}

template <class T>
std::vector<double> ExactLayerNorm(const std::vector<T>& in) {
  std::vector<double> exact(in.size());
  for (size_t row = 0; row < in.size(); row += kColumns) {
    double mean = 0, variance = 0;
    for (size_t i = row; i < row + kColumns; ++i) mean += static_cast<double>(ToFloat(in[i])) / kColumns;
    for (size_t i = row; i < row + kColumns; ++i) variance += std::pow(ToFloat(in[i]) - mean, 2) / kColumns;
    for (size_t i = row; i < row + kColumns; ++i) exact[i] = (ToFloat(in[i]) - mean) / std::sqrt(variance + 1e-5);
  }
  return exact;
}

template <class T>
void CompareRows(const char* type) {
  const std::vector<T> in = RandomNumbers<T>();
  std::vector<T> host(in.size());
  const auto on_host = [&](void (*compute)(const T*, T*, int)) {
    for (size_t row = 0; row < in.size(); row += kColumns) compute(&in[row], &host[row], kColumns);
  };
  const int rows = kCount / kColumns;
  on_host(SoftmaxOnHost<T>);
  Compare(
      "softmax of 1024", type,
      OnDevice(in, [&](const T* from, T* to,
                       cudaStream_t stream) { SoftmaxOnDevice<T><<<rows, kThreads, 0, stream>>>(from, to, kColumns); }),
      host, ExactSoftmax(in));
  on_host(LayerNormOnHost<T>);
  Compare("layer norm of 1024", type,
          OnDevice(in,
                   [&](const T* from, T* to, cudaStream_t stream) {
                     LayerNormOnDevice<T><<<rows, kThreads, 0, stream>>>(from, to, kColumns);
                   }),
          host, ExactLayerNorm(in));
}

void Measure() {
  CompareFunction<Exp>("exp");
  CompareFunction<Log>("log");
  CompareFunction<Tanh>("tanh");
  CompareFunction<Erf>("erf");
  CompareFunction<Sigmoid>("sigmoid");
  CompareFunction<InverseRoot>("1 / sqrt");
  CompareFunction<Polynomial>("polynomial of degree 3");
  CompareFunction<Gelu>("gelu");
  CompareRows<float>("float32");
  CompareRows<__half>("float16");
  CompareRows<__nv_bfloat16>("bfloat16");
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }
